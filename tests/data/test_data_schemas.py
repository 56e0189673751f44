"""Schemas without data, options, the registry, and that each shipped adapter keeps its schema's promise."""

from __future__ import annotations

import builtins
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from energyc.language.diagnostics import UserError
from energyc.running.data import DATA, Call, Registry, check_batch, describe, find_adapter
from energyc.running.data.digits import Digits
from energyc.running.data.masked_images import MaskedImages

WITHOUT_PATH = {
    "digits": {"side": 12},
    "characters": {"context": 20},
    "masked_images": {"side": 12, "patch": 4, "masked": Fraction(1, 2)},
    "table": {"inputs": 10},
    "patterns": {},
    "cifar10": {"source": "digits"},
    "gaussian_process": {"kernel": "rbf", "inputs": 3, "points": 60},
    "manifolds": {"name": "swiss-roll", "points": 60},
    "graph_classes": {"nodes": 9, "inputs": 2},
    "graph_bags": {"graphs": 5, "nodes": 80, "edges": 160},
    "anomaly_graph": {"nodes": 120, "edges": 500},
}
OPTIONS = {**WITHOUT_PATH, "mnist": {"side": 28}}


@pytest.mark.parametrize("name", DATA.names())
def test_a_schema_opens_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a schema opened a file")

    monkeypatch.setattr(builtins, "open", refuse)
    schema = find_adapter(name).schema(OPTIONS[name])
    assert schema.fields
    assert all(size > 0 for size in schema.sizes.values())


@pytest.mark.parametrize("name", WITHOUT_PATH)
def test_batches_are_as_the_schema_says(name: str) -> None:
    adapter = find_adapter(name)
    dataset = adapter.open(OPTIONS[name], None, seed=1)
    assert dataset.schema == adapter.schema(OPTIONS[name])
    for part in ("train", "test"):
        split = dataset.split(part)
        last = len(split) - 1
        batch = split.batch(np.array([0, last, 0]), seed=3, epoch=2, augment=True)
        check_batch(name, dataset.schema, batch, 3)
        assert set(batch) == set(dataset.schema.fields)
        with pytest.raises(IndexError):
            split.batch(np.array([last + 1]))


@pytest.mark.parametrize("name", WITHOUT_PATH)
def test_a_sample_depends_on_seed_epoch_and_index_alone(name: str) -> None:
    split = find_adapter(name).open(OPTIONS[name], None).split("train")
    count = min(8, len(split))
    together = split.batch(np.arange(count), seed=5, epoch=1, augment=True)
    alone = [split.batch(np.array([index]), seed=5, epoch=1, augment=True) for index in reversed(range(count))]
    for field, values in together.items():
        np.testing.assert_array_equal(values, np.concatenate([batch[field] for batch in alone])[::-1])


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("name", WITHOUT_PATH)
def test_a_test_split_never_changes(name: str) -> None:
    first, second = (find_adapter(name).open(OPTIONS[name], None).split("test") for _ in range(2))
    indices = np.arange(min(6, len(first)))
    usual = first.batch(indices)
    other = second.batch(indices, seed=9, epoch=4, augment=True)
    for field, values in usual.items():
        np.testing.assert_array_equal(values, other[field])


def test_describe_is_one_line_with_counts_and_shapes() -> None:
    line = describe(find_adapter("digits").open({}, None))
    assert line == "scikit-learn's digits: 1,438 train, 359 test; image [64], label in 10"


@pytest.mark.parametrize(
    ("name", "options", "message", "help"),
    [
        ("digits", {"size": 8}, "digits: there is no option size", "did you mean side? digits takes side"),
        ("digits", {"side": "big"}, "digits: option side is big", "side is a whole number from 2 to 128"),
        ("digits", {"side": Fraction(17, 2)}, "digits: option side is 17/2", "side is a whole number from 2 to 128"),
        ("digits", {"side": 10**30}, f"digits: option side is {10**30}", "side is a whole number from 2 to 128"),
        ("digits", {"side": float("nan")}, "digits: option side is nan", "side is a whole number from 2 to 128"),
        ("cifar10", {"side": 8}, "cifar10: there is no option side", "cifar10 takes source"),
        ("characters", {}, "characters: option context is missing", "context is a whole number from 1 to 65536"),
        (
            "characters",
            {"context": 4, "alphabet": "asci"},
            "characters: option alphabet is asci",
            "alphabet is one of shakespeare, ascii; did you mean ascii?",
        ),
        (
            "masked_images",
            {"side": 32, "patch": 5},
            "masked_images: option patch is 5",
            "patch is a divisor of side = 32",
        ),
        (
            "masked_images",
            {"side": 32, "patch": 8, "masked": Fraction(3, 2)},
            "masked_images: option masked is 3/2",
            "masked is a number from 0 to 1, written 1/2 or 0.5",
        ),
        (
            "masked_images",
            {"side": 32, "patch": 8, "channels": 2},
            "masked_images: option channels is 2",
            "channels is 1 (grey) or 3 (colour)",
        ),
        (
            "patterns",
            {"size": 0},
            "patterns: option size is 0",
            "size is a whole number from 1 to 16384",
        ),
        (
            "gaussian_process",
            {"length": 0},
            "gaussian_process: option length is 0",
            "length is a number above 0",
        ),
        (
            "table",
            {"classes": 3, "targets": 2},
            "table: option targets is 2",
            "targets is 1 where there are classes",
        ),
    ],
)
def test_a_bad_option_is_named_with_what_it_may_be(name: str, options: dict, message: str, help: str) -> None:
    with pytest.raises(UserError) as raised:
        find_adapter(name).schema(options)
    assert (raised.value.message, raised.value.help, raised.value.code) == (message, help, "E0912")


def test_a_call_or_a_list_is_no_number() -> None:
    for value in (Call("periodic", {"length": 2}), [8]):
        with pytest.raises(UserError, match="option side is"):
            find_adapter("digits").schema({"side": value})


def test_an_unknown_adapter_asks_for_the_nearest() -> None:
    with pytest.raises(UserError) as raised:
        find_adapter("mask_images")
    assert raised.value.message == "there is no data adapter named mask_images"
    assert raised.value.help is not None
    assert raised.value.help.startswith("did you mean masked_images? Known: ")


def test_a_registry_takes_a_users_adapter_and_no_nonsense() -> None:
    registry = Registry([Digits()])
    mine = MaskedImages(name="mine")
    registry.register("mine", mine)
    assert registry.find("mine") is mine
    assert registry.names() == ("digits", "mine")
    assert "mine" not in DATA.names()
    with pytest.raises(UserError, match="cannot name a data adapter"):
        registry.register("my data", mine)
    with pytest.raises(UserError, match="has no method schema"):
        registry.register("other", object())  # type: ignore[arg-type]


def test_importing_the_adapters_imports_numpy_alone() -> None:
    heavy = "{'torch', 'sympy', 'sklearn', 'PIL', 'scipy', 'matplotlib', 'pandas'}"
    code = f"import sys, energyc.running.data; print(sorted({heavy} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == "[]"


def test_an_adapter_is_imported_when_a_spec_calls_it() -> None:
    code = "import sys, energyc.running.data as d; d.find_adapter('digits'); "
    code += "print('energyc.running.data.digits' in sys.modules, "
    code += "'energyc.running.data.masked_images' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("name", DATA.names())
def test_a_shipped_adapter_has_the_name_it_is_found_by(name: str) -> None:
    assert find_adapter(name).name == name
