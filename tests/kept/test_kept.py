"""What was compiled before is found again: the same, by all that it follows from, and only if it is what was kept."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from energyc import kept, pipeline
from energyc.files import SafePath, _folder_at, keep_in_cache, kept_in_cache
from energyc.kept import ENDING, as_data, from_data, known, told_apart
from energyc.language.network import Network
from energyc.pipeline import ALL, Choices, Compiled
from energyc.proofs.verdicts import in_notation
from energyc.resources import shipped
from energyc.surfaces.report.check import check_source
from energyc.surfaces.report.check_report import render_check

SPEC = """# A test.
network small
dim A = 3, B = 4
clamp x[A]
param W[A, B] ~ normal(1), b[B] = 0
state s[B] in [0, 1]
energy quadratic = 1/2 * sum[b](s[b]^2) - sum[b](s[b] * b[b])
energy pair = -sum[a,b](x[a] * W[a,b] * s[b])
cost c = 1/2 * sum[b](s[b]^2)
relax { steps = 20, step = 0.5, tolerance = 1e-6 }
preset large { A = 9 }
"""
#: Plain, of layers, with a family and a flow, of data, and one whose kinks move.
SPECS = ["hopfield", "thick", "et_graph", "edges", "group_lasso"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, in which results are kept."""
    monkeypatch.delenv("ENERGYC_FRESH")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "energyc"


@pytest.fixture
def proofs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The networks that are classified, by name."""
    classified, classes_of = [], in_notation.classes_of

    def noted(network: Network) -> Any:
        classified.append(network.name)
        return classes_of(network)

    monkeypatch.setattr(in_notation, "classes_of", noted)
    return classified


def names(cache: Path) -> set[str]:
    return {path.name for path in cache.glob(f"*{ENDING}")}


def compiled(text: str = SPEC, choices: Choices = Choices(), target: str = "torch", **given: Any) -> Compiled:
    return pipeline.emit(pipeline.resolve(pipeline.read(text), choices), choices=choices, target=target, **given)


# -------------------------------------------------------------------- the same


@pytest.mark.parametrize("spec", SPECS)
def test_what_is_found_is_what_was_made(spec: str, proofs: list[str]) -> None:
    def all_of_it() -> tuple[object, ...]:
        source = pipeline.read(shipped()[spec])
        report = check_source(source)
        texts = [pipeline.emit(pipeline.resolve(source), ALL, target=target) for target in ("torch", "cpp")]
        modules = [(m.printed, m.class_name, m.file_name, m.classes) for m in texts]
        return render_check(report), json.dumps(report.to_json()), *modules, texts[0].classes.certificates

    cold = all_of_it()
    made = len(proofs)
    warm = all_of_it()
    assert warm == cold
    assert len(proofs) == made + 1, "the certificates alone are written anew"


def test_a_found_module_is_not_written_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = compiled(target="cpp", rules=ALL)
    written = names(cache)
    monkeypatch.setattr(pipeline, "plan", lambda *_: pytest.fail("it is planned again"))
    warm = compiled(target="cpp", rules=ALL)
    assert warm.text == cold.text and warm.printed == cold.printed
    assert names(cache) == written and len(written) == 2


def test_a_name_of_the_file_alone_is_in_what_is_found(tmp_path: Path, proofs: list[str]) -> None:
    """A spec that is moved to another folder is the same."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "small.energy").write_text(SPEC)
        check_source(pipeline.read(tmp_path / folder / "small.energy"))
    assert proofs == ["small"]


# -------------------------------------------------------------------- what it follows from


@pytest.mark.parametrize(
    "other",
    [
        {"text": SPEC + "\n# more\n"},
        {"text": SPEC.replace("normal(1)", "normal(2)")},
        {"choices": Choices(preset="large")},
        {"choices": Choices(overrides={"A": 4})},
        {"choices": Choices(overrides={"relax.step": 0.25})},
        {"choices": Choices(overrides={"relax.step": Fraction(1, 4)})},
        {"target": "cpp"},
        {"rules": ["ep"]},
    ],
    ids=repr,
)
def test_another_request_is_another_entry(other: Mapping[str, Any], cache: Path) -> None:
    compiled()
    before = names(cache)
    fresh = compiled(**other)
    after = names(cache)
    assert len(after) > len(before)
    assert compiled(**other).text == fresh.text and names(cache) == after
    os.environ["ENERGYC_FRESH"] = "1"
    assert compiled(**other).text == fresh.text, "as without a cache"


@pytest.mark.parametrize("name", ["__version__", "_libraries", "_files"])
def test_another_compiler_makes_its_own(name: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another version, with other libraries, of another source."""
    compiled()
    before = names(cache)
    kept.compiler_identity.cache_clear()
    files = kept._files
    others: dict[str, Any] = {
        "__version__": "99.0",
        "_libraries": lambda: ["numpy-99.0.dist-info"],
        "_files": lambda root, ending="": [*files(root, ending)][1:],
    }
    monkeypatch.setattr(kept, name, others[name])
    try:
        compiled()
    finally:
        kept.compiler_identity.cache_clear()
    assert len(names(cache)) == 2 * len(before)


def test_a_source_that_was_written_after_the_start_keeps_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process may run what was there before."""
    kept.compiler_identity.cache_clear()
    monkeypatch.setattr(kept, "BEGAN", 0.0)
    try:
        assert kept.compiler_identity() == ""
        compiled()
    finally:
        kept.compiler_identity.cache_clear()
    assert not names(cache)


def test_a_network_in_which_something_was_replaced_is_not_found(proofs: list[str]) -> None:
    network = pipeline.resolve(pipeline.read(SPEC))
    pipeline.classify(network)
    other = replace(network, relax=replace(network.relax, steps=5))
    assert network.identity and other.identity == ""
    pipeline.classify(other)
    assert len(proofs) == 2


def test_the_schema_of_data_is_part_of_what_it_follows_from() -> None:
    from energyc.running.data import FieldSchema, Schema

    text = SPEC.replace("clamp x[A]", "data d = table(a = 1)\nclamp x[A] = d.x")
    found = [
        pipeline.resolve(
            pipeline.read(text), schemas=lambda *_, classes=sizes: Schema({"x": FieldSchema((3,))}, classes)
        )
        for sizes in ({}, {"y": 2})
    ]
    assert found[0].identity and found[0].identity != found[1].identity


# -------------------------------------------------------------------- what is not believed


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def _change(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"conservative"', b'"undecidedxxx"'))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _open_to_others(path: Path) -> None:
    path.chmod(0o666)


def _of_other_types(path: Path) -> None:
    keep_in_cache(SafePath(path.parent) / path.name, b'{"verdict": 1, "terms": [], "printed": 2, "class_name": []}')


@pytest.mark.parametrize("spoil", [_cut, _change, _empty, _open_to_others, _of_other_types])
def test_a_spoilt_entry_is_made_anew(spoil: Callable[[Path], None], cache: Path, proofs: list[str]) -> None:
    cold = compiled()
    content = {name: (cache / name).read_bytes() for name in names(cache)}
    for name in content:
        spoil(cache / name)
    warm = compiled()
    assert (warm.text, warm.classes) == (cold.text, cold.classes) and len(proofs) == 2
    assert {name: (cache / name).read_bytes() for name in names(cache)} == content
    assert all(kept_in_cache(SafePath(cache) / name) for name in content)


def test_a_link_is_not_followed_and_stays(cache: Path, tmp_path: Path, proofs: list[str]) -> None:
    cold = compiled()
    moved = {}
    for name in names(cache):
        moved[name] = tmp_path / f"moved-{name}"
        os.replace(cache / name, moved[name])
        (cache / name).symlink_to(moved[name])
    content = {name: path.read_bytes() for name, path in moved.items()}
    assert compiled().text == cold.text and len(proofs) == 2
    assert all((cache / name).is_symlink() and moved[name].read_bytes() == content[name] for name in moved)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_not_read(cache: Path, proofs: list[str]) -> None:
    compiled()
    for name in names(cache):
        os.chown(cache / name, 4321, -1)
    compiled()
    assert len(proofs) == 2


def test_a_cache_that_others_may_write_is_not_read(cache: Path, proofs: list[str]) -> None:
    """The verdicts in it could be anyone's."""
    cold = compiled()
    before = names(cache)
    cache.chmod(0o777)
    _folder_at.cache_clear()
    with pytest.warns(RuntimeWarning, match="nothing is kept for another process: others may write into"):
        warm = compiled()
    assert warm.text == cold.text and len(proofs) == 2 and names(cache) == before


def test_a_cache_on_a_full_disk_is_done_without(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("energyc.files._write_new", full)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled().text == compiled().text
    assert not names(cache)


def test_without_any_folder_a_spec_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> SafePath:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(kept, "cache_folder", none)
    assert compiled().text


def test_the_oldest_results_go(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    for k in range(5):
        known(dict[str, int], [f"number {k}"], lambda k=k: {"k": k})
        os.utime(*[max(cache.glob(f"*{ENDING}"), key=lambda path: path.stat().st_mtime_ns)], (k, k))
    values = [json.loads((cache / name).read_bytes().partition(b"\n")[2])["k"] for name in names(cache)]
    assert sorted(values) == [2, 3, 4]


# -------------------------------------------------------------------- plain data


@dataclass(frozen=True)
class Inner:
    names: tuple[str, ...] = ()
    number: float = 0.0


@dataclass(frozen=True)
class Outer:
    inner: Inner | None
    pairs: tuple[tuple[str, int], ...]
    by_name: Mapping[str, Inner]
    anything: Mapping[str, Any] = field(default_factory=dict)
    beside: object = field(default=None, compare=False)


def test_data_come_back_as_the_value_that_they_are_of() -> None:
    value = Outer(Inner(("a",), float("inf")), (("b", 1),), {"z": Inner(), "a": Inner(number=0.1)}, {"k": [1, 2.5]}, {})
    again = from_data(Outer, json.loads(json.dumps(as_data(value))))
    assert again == value and list(again.by_name) == ["z", "a"] and again.beside is None


@pytest.mark.parametrize("data", [{"inner": None}, {"inner": {"names": [1]}}, {"wrong": 1}, [], 3])
def test_data_of_another_type_are_refused(data: object) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)):
        from_data(Outer, data)


def test_what_does_not_come_back_the_same_is_not_kept(cache: Path) -> None:
    for value in ({"k": (1, 2)}, {"k": float("nan")}, {"k": np.int64(3)}, {"k": object()}):
        assert known(dict[str, Any], ["value"], lambda value=value: value) is value
    assert not names(cache)


def test_values_are_told_apart_by_their_types() -> None:
    values = [1, 1.0, True, "1", Fraction(1), [1], (1,), {"1": 1}, None, Inner(), {"a": 1, "b": 2}, {"b": 2, "a": 1}]
    assert len({told_apart(value) for value in values}) == len(values)
    assert told_apart(np.float64(0.1)) == told_apart(0.1), "as it is read back"
    assert told_apart(np.arange(3)) == told_apart([1, object()]) == ""
