"""``energyc.train`` on data that a program has, and the same data by name on the command line."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch

import energyc
from energyc.running.data import FieldSchema, Schema
from energyc.running.data.arrays import ArraySplit, SplitDataset
from energyc.running.data.registry import DATA, Registry
from energyc.running.folder.formats import RunInfo, parse
from tests.cli.run import energyc as command

SPEC = """
network own
dim I = 4, J = 5, K = 3
clamp x[I]
target label : K
param W[I, J] ~ glorot, V[J, K] ~ glorot
state s[J] in [0, 1], y[K] in [0, 1]
energy leak = 1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)
energy synapses = -sum[i,j](x[i] * W[i,j] * s[j]) - sum[j,k](s[j] * V[j,k] * y[k])
readout scores[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
metric accuracy = correct[k](y[k], label)
relax { step = 1/2, steps = 5 }
nudge { beta = 1/2, steps = 3 }
train { rule = centered-ep, optimizer = adam, lr = 0.01, batch = 8, steps = 6, eval_every = 3 }
"""
BOUND = SPEC.replace("clamp x[I]", "data waves = waves()\nclamp x[I] = waves.x").replace(
    "target label : K", "target label : K = waves.kind"
)
TABLE = SPEC.replace("clamp x[I]", "data t = table(name = iris, inputs = 4, classes = 3)\nclamp x[I] = t.x").replace(
    "target label : K", "target label : K = t.y"
)
OPTIONS: dict[str, Any] = {"quiet": True, "target": "torch"}


def arrays(count: int = 40, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {"x": random.random((count, 4)).astype(np.float32), "label": random.integers(0, 3, count)}


class Pairs(torch.utils.data.Dataset[Any]):
    """The same samples one by one."""

    def __init__(self, data: dict[str, Any], form: Any = tuple) -> None:
        self.data, self.form = data, form

    def __len__(self) -> int:
        return len(self.data["x"])

    def __getitem__(self, number: int) -> Any:
        x, label = torch.from_numpy(self.data["x"][number]), int(self.data["label"][number])
        return (x, label) if self.form is tuple else {"label": label, "x": x, "weight": 1.0}


class Waves:
    name = "waves"

    def schema(self, options: Any) -> Schema:
        return Schema({"x": FieldSchema((4,)), "kind": FieldSchema((), "integer", 3)}, {"inputs": 4})

    def open(self, options: Any, path: str | None, *, seed: int = 0) -> SplitDataset:
        data = arrays(50)
        parts = [
            ArraySplit({"x": data["x"][part], "kind": data["label"][part]}) for part in (slice(40), slice(40, None))
        ]
        return SplitDataset(self.schema(options), "waves", *parts)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder of its own, and no module left over from another test's."""
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def checkpoint(run: Any) -> dict[str, torch.Tensor]:
    return {name: param.detach() for name, param in energyc.load(run, dtype="float32").params.items()}


# -------------------------------------------------------------------- forms of data


@pytest.mark.slow
def test_the_same_samples_in_any_form_make_the_same_run() -> None:
    data, held = arrays(), arrays(12, seed=1)

    def parts() -> dict[str, Any]:
        return {"train": data, "test": held}

    tensors = {"x": torch.from_numpy(data["x"]), "label": torch.from_numpy(data["label"])}
    forms: list[tuple[Any, Any]] = [
        (data, held),
        (tensors, held),
        ({"x": pandas.DataFrame(data["x"]), "label": pandas.Series(data["label"])}, held),
        ((data["x"], data["label"]), (held["x"], held["label"])),
        (Pairs(data), Pairs(held)),
        (Pairs(data, dict), held),
        ([(x, int(k)) for x, k in zip(data["x"], data["label"], strict=True)], held),
        (torch.utils.data.TensorDataset(*tensors.values()), held),
        ({"x": data["x"].tolist(), "label": data["label"].astype(np.uint8)}, held),
        (parts, None),
        (parts(), None),
    ]
    runs = [energyc.train(SPEC, one, test=two, out=f"run-{k}", **OPTIONS) for k, (one, two) in enumerate(forms)]
    for run in runs:
        assert run.final == runs[0].final and run.steps == 6
        assert {k: v.tolist() for k, v in checkpoint(run).items()} == {
            k: v.tolist() for k, v in checkpoint(runs[0]).items()
        }
    assert runs[0].final["samples"] == 12


def rows(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Samples one by one, each a dict."""
    return [dict(zip(data, values, strict=True)) for values in zip(*data.values(), strict=True)]


@pytest.mark.slow
def test_data_by_other_names_are_mapped() -> None:
    """A dict, samples that are dicts, a part with test samples, an npz; a run that resumes knows the mapping."""
    data, held = arrays(), arrays(12, seed=1)
    other, other_held = ({"label": part["x"], "y": part["label"], "id": part["label"]} for part in (data, held))
    np.savez("other.npz", **other)
    names = {"x": "label", "label": "y"}
    expected = energyc.train(SPEC, data, test=held, out="expected", **OPTIONS)
    forms: list[tuple[Any, Any]] = [
        (other, other_held),
        (rows(other), rows(other_held)),
        ({"train": other, "test": other_held}, None),
    ]
    for k, (one, two) in enumerate(forms):
        run = energyc.train(SPEC, one, test=two, map=names, out=f"run-{k}", **OPTIONS)
        assert run.final == expected.final
        assert energyc.resume(run, one, test=two, steps=7, **{"quiet": True}).steps == 7
    whole = energyc.train(SPEC, data, out="whole", **OPTIONS)
    run = energyc.train(SPEC, "other.npz", map=names, out="npz", **OPTIONS)
    assert run.final == whole.final and any("not read: id" in note for note in run.notes)
    assert energyc.resume(run, steps=7, quiet=True).steps == 7


def test_some_inputs_from_data_by_name_and_others_bound_leave_no_name_unread() -> None:
    """A misspelt name would leave an input to the data of the spec."""
    with pytest.raises(energyc.UserError, match="the data have lable, which feeds nothing, and lack label"):
        energyc.train(TABLE, {"x": arrays()["x"], "lable": arrays()["label"]}, **OPTIONS)


@pytest.mark.slow
def test_a_fifth_is_held_out_and_said_so() -> None:
    run = energyc.train(SPEC, arrays(), **OPTIONS)
    assert run.final["samples"] == 8 and run.folder == Path("runs/own-1")
    assert any("a fixed random fifth" in note for note in run.notes)
    assert any("32 train, 8 test" in note and "40" not in note for note in run.notes)


def test_a_validation_part_decides_which_checkpoint_is_best() -> None:
    run = energyc.train(SPEC, arrays(), test=arrays(8, 1), validation=arrays(10, 2), **OPTIONS)
    assert run.validation["samples"] == 10 and run.best["samples"] == 8


@pytest.mark.slow
def test_fields_of_a_binding_and_inputs_by_name() -> None:
    data = arrays()
    by_field = {"x": data["x"], "y": data["label"]}
    runs = [
        energyc.train(TABLE, given, out=f"run-{k}", **OPTIONS)
        for k, given in enumerate((by_field, {"t": by_field}, {"t": Pairs(data)}, data))
    ]
    assert len({str(run.final) for run in runs}) == 1
    assert parse(RunInfo, (runs[1] / "run.json").read_bytes())["given"] == {"t": "dict"}
    assert energyc.train(TABLE, out="own", **OPTIONS).final["samples"] == 30, "without data the spec's own are taken"


def test_pictures_are_read_as_rows_and_bytes_are_scaled() -> None:
    data = arrays()
    pixels = (data["x"] * 255).astype(np.uint8)
    run = energyc.train(SPEC, {**data, "x": pixels.reshape(-1, 1, 2, 2)}, **OPTIONS)
    scaled = energyc.train(SPEC, {**data, "x": pixels.astype(np.float32) / np.float32(255)}, **OPTIONS)
    assert run.final == scaled.final
    assert {"  x: uint8, scaled from 0 to 255 to [0, 1]", "  x: [1, 2, 2] read as [4]"} <= set(run.notes)


@pytest.mark.slow
def test_an_adapter_is_given_for_a_binding_that_is_not_registered() -> None:
    with pytest.raises(energyc.SpecError, match="no data adapter named waves"):
        energyc.train(BOUND, **OPTIONS)
    run = energyc.train(BOUND, Waves(), **OPTIONS)
    assert run.final["samples"] == 10
    again = energyc.train(BOUND, {"waves": Waves}, **OPTIONS)
    opened = energyc.train(BOUND, Waves().open({}, None), **OPTIONS)
    assert run.final == again.final == opened.final
    assert checkpoint(run).keys() == {"W", "V"}, "energyc.load needs neither the adapter nor the data"


class Drawn(Pairs):
    """Samples that draw noise by torch's generator."""

    def __getitem__(self, number: int) -> Any:
        x, label = super().__getitem__(number)
        return x + 0.1 * torch.randn(4), label


@pytest.mark.slow
def test_what_samples_draw_is_a_function_of_seed_epoch_and_number() -> None:
    torch.manual_seed(1)
    whole = energyc.train(SPEC, Drawn(arrays()), out="whole", **OPTIONS)
    torch.manual_seed(2)
    half = energyc.train(SPEC, Drawn(arrays()), out="half", callback=lambda row: row["step"] < 3, **OPTIONS)
    assert half.steps == 3
    torch.manual_seed(3)
    rest = energyc.resume(half, Drawn(arrays()), quiet=True)
    assert rest.final == whole.final
    assert Path("whole/metrics.jsonl").read_text() == Path("half/metrics.jsonl").read_text()


# -------------------------------------------------------------------- the run


@pytest.mark.slow
def test_a_run_is_a_path_with_numbers_rows_and_a_network() -> None:
    run = energyc.train(SPEC, arrays(), **OPTIONS)
    assert isinstance(run, energyc.Run)
    assert [row["step"] for row in run.rows if row["kind"] == "train"] == [1, 2, 3, 4, 5, 6]
    assert run.network(arrays()["x"])["scores"].shape == (40, 3)
    assert energyc.load(run).W.shape == run.load(dtype="float64").W.shape
    assert repr(run).startswith("Run(runs/own-1: 6 steps in ") and "accuracy" in repr(run)
    assert (run / "spec.energy").read_text() == SPEC


def test_what_is_set_is_set_as_by_load() -> None:
    run = energyc.train(
        SPEC, arrays(), dims={"J": 7}, settings={"train.lr": 0.1}, seed=3, steps=2, rule="ep", **OPTIONS
    )
    info = parse(RunInfo, (run / "run.json").read_bytes())
    assert info["rule"] == "ep" and info["steps"] == 2 and info["options"]["seed"] == 3  # type: ignore[typeddict-item]
    assert energyc.load(run).W.shape == (4, 7)


@pytest.mark.slow
def test_a_run_of_other_sizes_than_the_spec_s_data_is_one_that_loads(capfd: pytest.CaptureFixture[str]) -> None:
    """Inputs that the program feeds are not bound in the folder's spec, whose data would not fit."""
    data = {**arrays(), "x": np.random.default_rng(0).random((40, 6))}
    spec = TABLE.replace("table(name", "table(  # Fisher's\n  name")
    run = energyc.train(spec, data, dims={"I": 6}, **OPTIONS)
    text = (run / "spec.energy").read_text()
    assert "clamp x[I]\n" in text and "target label : K\n" in text and "data" not in text and "dim I = 6" in text
    assert energyc.load(run).W.shape == (6, 5) and energyc.check(text).diagnostics == ()
    Path("own_data.py").write_text(OWN.replace("(40, 4)", "(40, 6)"))
    done = command(capfd, "eval", str(run.folder), "--data", "own_data:arrays")
    assert done.status == 0, done.err
    assert energyc.resume(run, data, steps=7, quiet=True).steps == 7
    sized = TABLE.replace("I = 4", "I = t.inputs")
    text = (energyc.train(sized, arrays(), out="sized", **OPTIONS) / "spec.energy").read_text()
    assert "data t = table(" in text and "clamp x[I]\n" in text and energyc.load("sized").W.shape == (4, 5)


def test_a_callback_gets_each_update_and_may_end_the_run() -> None:
    rows: list[dict[str, Any]] = []

    def watch(row: dict[str, Any]) -> bool | None:
        rows.append(row)
        return False if row["step"] == 4 else None

    run = energyc.train(SPEC, arrays(), callback=watch, **OPTIONS)
    assert [row["step"] for row in rows] == [1, 2, 3, 4] and all(row["cost"] > 0 for row in rows)
    assert run.steps == 4 and run.final["samples"] == 8
    assert [row["step"] for row in run.rows if row["kind"] == "eval"] == [0, 3, 4]


@pytest.mark.slow
def test_what_a_callback_raises_is_raised_after_saving() -> None:
    error = LookupError("mine")

    def watch(row: dict[str, Any]) -> None:
        if row["step"] == 5:
            raise error

    with pytest.raises(LookupError) as caught:
        energyc.train(SPEC, arrays(), out="run", callback=watch, **OPTIONS)
    assert caught.value is error
    whole = energyc.train(SPEC, arrays(), out="whole", **OPTIONS)
    steps: list[int] = []
    rest = energyc.resume("run", arrays(), callback=lambda row: steps.append(row["step"]), quiet=True)
    assert steps == [6] and rest.final == whole.final


@pytest.mark.slow
def test_a_run_is_resumed_and_evaluated_only_with_its_data() -> None:
    run = energyc.train(SPEC, arrays(), steps=3, **OPTIONS)
    with pytest.raises(energyc.UserError, match=r"made with data that a program gave.*data \(dict\)") as caught:
        energyc.resume(run, steps=6, quiet=True)
    assert caught.value.code == "E0934" and "give them again: data=..." in str(caught.value)
    assert "--data module:factory" in str(caught.value.help)
    with pytest.raises(energyc.UserError, match="the training samples are not those") as caught:
        energyc.resume(run, arrays(seed=5), steps=6, quiet=True)
    assert caught.value.code == "E0520"
    assert energyc.resume(run, arrays(), steps=6, quiet=True).final == energyc.train(SPEC, arrays(), **OPTIONS).final


@pytest.mark.slow
def test_the_package_can_be_called_whatever_was_imported() -> None:
    importlib.import_module("energyc.running.training.loop")
    assert callable(energyc.train)
    assert list(inspect.signature(energyc.train).parameters)[:3] == ["spec", "data", "test"]
    script = "import energyc.running.training.loop; import energyc, sys; assert callable(energyc.train)"
    subprocess.run([sys.executable, "-c", f"import energyc; assert callable(energyc.train); {script}"], check=True)


def test_a_run_that_diverges_says_what_is_kept() -> None:
    with pytest.raises(energyc.Diverged, match=r"training diverged at step") as caught:
        free = SPEC.replace(" in [0, 1]", "")
        energyc.train(free, arrays(), settings={"train.lr": 1e30, "train.optimizer": "sgd"}, steps=50, **OPTIONS)
    assert any("help" in note for note in caught.value.__notes__)


# -------------------------------------------------------------------- mistakes


class Failing(Pairs):
    def __getitem__(self, number: int) -> Any:
        raise OSError("no picture 0")


def changed(**others: Any) -> dict[str, Any]:
    return {**arrays(), **others}


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no data": ({}, "nothing feeds the clamp x"),
    "a number": ({"data": 3}, "the data are int, which is not data"),
    "an array for two inputs": ({"data": arrays()["x"]}, "1 array was given for x, label"),
    "three arrays for two inputs": ({"data": (np.ones((9, 4)),) * 3}, "3 arrays were given for x, label"),
    "an empty dict": ({"data": {}}, "the data have no names, which feed nothing: the inputs are x and label"),
    "other names": (
        {"data": {"images": np.ones((9, 4))}},
        "the data have images, which feed nothing: the inputs are x",
    ),
    "no label": ({"data": {"x": np.ones((9, 4))}}, "nothing feeds the target label"),
    "a mapped name that is not there": (
        {"data": {"X": np.ones((9, 4)), "label": np.zeros(9, int)}, "map": {"x": "Y"}},
        "map names Y, and the data have X, label",
    ),
    "a map of no input": ({"data": arrays(), "map": {"y": "label"}}, r'map={"y": "label"} names no input of this spec'),
    "a map of arrays without names": (
        {"data": (arrays()["x"], arrays()["label"]), "map": {"x": "X"}},
        "map names arrays, and the data are tuple",
    ),
    "a map that is no dict": ({"data": arrays(), "map": "x=X"}, "map is 'x=X'"),
    "a map without data": ({"map": {"x": "X"}}, "feeds nothing: no data are given"),
    "another shape": ({"data": changed(x=np.ones((40, 5)))}, r"x has shape \[40, 5\]; it takes \[samples, 4\]"),
    "transposed": ({"data": changed(x=np.ones((4, 40)))}, r"x has shape \[4, 40\]; it takes \[samples, 4\]"),
    "a scalar": ({"data": changed(x=1.0)}, r"x has shape \[\]; it takes \[samples, 4\]"),
    "lengths": ({"data": changed(label=np.zeros(39, int))}, "differ in their number of samples: x 40, label 39"),
    "real labels": ({"data": changed(label=np.zeros(40))}, "label is float64, and holds the numbers of classes"),
    "a label out of range": ({"data": changed(label=np.full(40, 3))}, r"label is 3 in sample 0"),
    "nan": (
        {"data": changed(x=np.where(np.arange(160).reshape(40, 4) == 21, np.nan, 0))},
        r"x is nan in sample 5 at \[1\]",
    ),
    "words": ({"data": changed(x=np.full((40, 4), "a"))}, "x is ndarray of <U1, not numbers"),
    "None": ({"data": changed(x=None)}, "x is None, not numbers"),
    "a ragged list": ({"data": changed(x=[[1.0], [1.0, 2.0]])}, "x is list, which makes no array"),
    "a loader": ({"data": torch.utils.data.DataLoader(Pairs(arrays()))}, "is a DataLoader"),
    "an iterator": ({"data": iter([1, 2])}, "whose samples cannot be asked for by number"),
    "no sample": ({"data": []}, "has no sample"),
    "one sample": ({"data": [(np.ones(4), 1)]}, "one sample cannot be both trained on and held out"),
    "samples of one value": ({"data": [np.ones(4)] * 9}, "sample 0 is one value; a sample has 2 values: x, label"),
    "samples that fail": (
        {"data": Failing(arrays())},
        r"data \(train\), sample 0: Failing raised OSError: no picture 0",
    ),
    "samples of another shape": ({"data": [(np.ones(3), 1)] * 9}, r"sample 0: x has shape \[3\]; it takes \[4\]"),
    "dicts of other names": ({"data": [{"a": 1}] * 9}, "the data have a, which feed nothing"),
    "arrays of no sample": ({"data": changed(x=np.ones((0, 4)), label=np.zeros(0, int))}, "has no sample"),
    "no sample held out": (
        {"data": arrays(), "test": {"x": np.ones((0, 4)), "label": np.zeros(0, int)}},
        r"data \(test\) has no sample",
    ),
    "held out twice": (
        {"data": {"train": arrays(), "test": arrays()}, "test": arrays()},
        "the test part is given twice",
    ),
    "masked numbers": ({"data": changed(x=np.ma.masked_less(arrays()["x"], 0.1))}, "some of whose numbers are masked"),
    "a logger": ({"data": arrays(), "loggers": "wandb"}, "there is no logger wandb"),
    "no logger": ({"data": arrays(), "loggers": object()}, "loggers: an object of type object, which has no method"),
    "held out of another shape": (
        {"data": arrays(), "test": {"x": np.ones((9, 3)), "label": np.zeros(9, int)}},
        r"data \(test\): x has shape \[9, 3\]",
    ),
    "only held out": ({"test": arrays()}, "test= is given without data="),
    "a path without a binding": (
        {"data": "somewhere.csv"},
        "somewhere.csv: not found or not readable; expected an npz",
    ),
    "an adapter without a binding": ({"data": Waves()}, "the spec has no data line"),
    "a function that fails": ({"data": lambda: 1 / 0}, "raised ZeroDivisionError: division by zero"),
    "rule": ({"data": arrays(), "rule": "backprop"}, "backprop"),
    "rule: a number": ({"data": arrays(), "rule": 3}, "rule is 3"),
    "steps": ({"data": arrays(), "steps": -1}, "steps is -1"),
    "steps: a word": ({"data": arrays(), "steps": "10"}, "steps is '10'"),
    "out": ({"data": arrays(), "out": 3}, "out is 3"),
    "callback": ({"data": arrays(), "callback": 3}, "callback is 3"),
    "target": ({"data": arrays(), "target": "numpy"}, "target is 'numpy'"),
    "device": ({"data": arrays(), "device": "gpu"}, "the device gpu cannot be used"),
    "dims": ({"data": arrays(), "dims": ["J"]}, "dims is list"),
    "seed": ({"data": arrays(), "seed": 1.5}, "seed is 1.5"),
    "dims that the data do not fit": ({"data": arrays(), "dims": {"I": 5}}, r"it takes \[samples, 5\]"),
}


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_error_before_anything_is_written(mistake: str) -> None:
    options, message = MISTAKES[mistake]
    with pytest.raises((energyc.UserError, energyc.SpecError), match=message):
        energyc.train(SPEC, **{**OPTIONS, **options})
    assert not Path("runs").exists()


def test_what_helps_where_labels_are_not_numbers_of_classes() -> None:
    label = arrays()["label"]
    for given, help_text in ((np.eye(3)[label], "argmax"), (np.array(list("abc"))[label], "numpy.unique")):
        with pytest.raises(energyc.UserError, match=help_text):
            energyc.train(SPEC, changed(label=given), **OPTIONS)


def test_folders_and_runs_that_are_mistaken() -> None:
    Path("full").mkdir()
    Path("full/file").touch()
    with pytest.raises(energyc.UserError, match="full exists and is not empty"):
        energyc.train(SPEC, arrays(), out="full", **OPTIONS)
    with pytest.raises(energyc.UserError, match="full is a run, or a folder"):
        energyc.train("full", arrays(), **OPTIONS)
    for run in ("none", "full", 3):
        with pytest.raises(energyc.UserError, match="folder"):
            energyc.resume(run, arrays())  # type: ignore[arg-type]
    with pytest.raises(energyc.UserError, match=r"held-out|test part of its own"):
        energyc.train(BOUND, Waves(), test=arrays(), **OPTIONS)


class Torn(Pairs):
    def __getitem__(self, number: int) -> Any:
        if number == 7:
            raise OSError("no picture")
        return super().__getitem__(number)


def test_a_sample_that_fails_is_named_with_how_to_look_at_it() -> None:
    with pytest.raises(energyc.UserError, match="sample 7: Torn raised OSError: no picture") as caught:
        energyc.train(SPEC, Torn(arrays()), test=arrays(), steps=6, **OPTIONS)
    assert "data[7]" in caught.value.help


def test_numbers_of_numpy_are_numbers() -> None:
    run = energyc.train(SPEC, arrays(), steps=np.int64(2), seed=np.int32(3), **OPTIONS)  # type: ignore[arg-type]
    same = energyc.train(SPEC, arrays(), steps=2, seed=3, **OPTIONS)
    assert run.final == same.final
    assert energyc.resume(run, arrays(), steps=np.int64(4), quiet=True).steps == 4  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_run_is_loaded_for_a_target_and_rules() -> None:
    run = energyc.train(SPEC, arrays(), steps=1, **OPTIONS)
    x = arrays()["x"][:3]
    compiled = energyc.load(run, target="cpp")
    assert compiled.target == "cpp" and energyc.load(run, rules=["ep"]).rules == ("ep", "implicit")
    torch.testing.assert_close(compiled(x)["scores"], run.network(x)["scores"])
    with pytest.raises(energyc.UserError, match="there is no target numpy"):
        energyc.load(run, target="numpy")
    with pytest.raises(energyc.UserError, match="there is no rule backprop"):
        energyc.load(run, rules=["backprop"])


# -------------------------------------------------------------------- the command line

OWN = """
import numpy as np
def arrays():
    random = np.random.default_rng(0)
    return {"x": random.random((40, 4)).astype(np.float32), "label": random.integers(0, 3, 40)}
def of_t():
    data = arrays()
    return {"x": data["x"], "y": data["label"]}
def fields():
    return {"t": of_t()}
def failing():
    raise RuntimeError("no disk")
def wants(path):
    return path
number = 3
"""


@pytest.mark.slow
def test_factories_on_the_command_line(capfd: pytest.CaptureFixture[str]) -> None:
    Path("own_data.py").write_text(OWN)
    Path("own.energy").write_text(SPEC)
    Path("table.energy").write_text(TABLE)
    expected = energyc.train(SPEC, arrays(), out="expected", **OPTIONS)
    forms = [("own", "own_data:arrays"), ("own", "own_data.py:arrays")]
    forms += [("table", "own_data:fields"), ("table", "t=own_data:of_t"), ("table", "own_data:arrays")]
    for k, (spec, data) in enumerate(forms):
        arguments = ("train", f"{spec}.energy", "--data", data, "--out", f"run-{k}", "--quiet", "--target", "torch")
        done = command(capfd, *arguments)
        assert done.status == 0, done.err
        assert energyc.load(f"run-{k}").W.tolist() == energyc.load(expected).W.tolist()
        assert command(capfd, "train", "--resume", f"run-{k}", "--data", data, "--steps", "7", "--quiet").status == 0
    done = command(capfd, "eval", "expected", "--data", "own_data:arrays", "--format", "json")
    assert done.status == 0 and done.json["accuracy"] == expected.best["accuracy"]
    done = command(capfd, "eval", "expected")
    assert done.status == 1 and "error[E0934]" in done.err and "--data module:factory" in done.err


@pytest.mark.slow
def test_an_npz_with_an_array_for_each_input(capfd: pytest.CaptureFixture[str]) -> None:
    """It feeds a spec with data of its own or without, and a run finds it again."""
    np.savez("own.npz", **arrays())
    expected = energyc.train(SPEC, arrays(), out="expected", **OPTIONS)
    for name, spec in {"own": SPEC, "table": TABLE}.items():
        Path(f"{name}.energy").write_text(spec)
        arguments = ("train", f"{name}.energy", "--data", "own.npz", "--out", name, "--steps", "6")
        done = command(capfd, *arguments, "--quiet", "--target", "torch")
        assert done.status == 0, done.err
        assert energyc.load(name).W.tolist() == energyc.load(expected).W.tolist()
    done = command(capfd, "eval", "own", "--format", "json")
    assert done.status == 0 and done.json["accuracy"] == expected.best["accuracy"]
    run = energyc.train(SPEC, Path("own.npz"), out="program", **OPTIONS)
    Path("own.npz").rename("moved.npz")
    done = command(capfd, "eval", str(run.folder))
    assert done.status == 1 and "error[E0913]" in done.err and "give the new path: --data PATH" in done.err
    assert energyc.resume(run, "moved.npz", steps=7, quiet=True).steps == 7


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"x": np.zeros((40, 4))},
            "an npz of your own has an array for each input: x float32 [samples, 4], label int64",
        ),
        ({"x": np.zeros((40, 4)), "label": np.array([None] * 40)}, "label is objects [40], which are never unpickled"),
        ({"x": np.zeros((40, 4)), "label": np.zeros(39, int)}, "differ in their number of samples"),
        ({"X": np.zeros((40, 4)), "y": np.zeros(40, int)}, "perhaps --map x=X label=y"),
        (
            {"X": np.zeros((40, 3)), "y": np.zeros(40, int)},
            "it holds X float64 [40, 3], y int64 [40]; an npz",
        ),
    ],
)
def test_an_npz_that_is_not_the_data(
    content: dict[str, np.ndarray], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    np.savez("own.npz", **content)
    Path("table.energy").write_text(TABLE)
    done = command(capfd, "train", "table.energy", "--data", "own.npz")
    assert done.status == 1 and message in done.err and "Traceback" not in done.err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("no_such:arrays", "--data no_such:arrays: there is no module no_such"),
        ("own_data:arays", "own_data has no arays\n  = help: did you mean arrays?"),
        ("own_data:failing", "own_data:failing raised RuntimeError: no disk ("),
        ("own_data:wants", "missing 1 required positional argument"),
        ("own_data:number", "the data are int, which is not data"),
        ("no_such.py:arrays", "there is no file no_such.py"),
        ("bad_data:arrays", "importing bad_data raised SyntaxError"),
        ("worse_data:arrays", "importing worse_data raised ModuleNotFoundError: No module named 'not_here'"),
    ],
)
def test_mistakes_of_a_factory(data: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("own_data.py").write_text(OWN)
    Path("bad_data.py").write_text("def arrays(:\n")
    Path("worse_data.py").write_text("import not_here\n")
    Path("own.energy").write_text(SPEC)
    done = command(capfd, "train", "own.energy", "--data", data)
    assert done.status == 1 and message in done.err and "Traceback" not in done.err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("spec", "arguments", "name"),
    [
        (SPEC, ["own_data:arrays", "own_data:arrays"], "data"),
        (TABLE, ["t=own_data:of_t", "t=own_data:of_t"], "t"),
        (TABLE, ["t=one.csv", "two.csv"], "t"),
    ],
)
def test_data_are_given_once(spec: str, arguments: list[str], name: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("own_data.py").write_text(OWN)
    Path("own.energy").write_text(spec)
    given = [part for argument in arguments for part in ("--data", argument)]
    done = command(capfd, "train", "own.energy", *given)
    assert done.status == 1 and f"error[E0903]: {name} is given twice" in done.err


def test_a_run_folder_has_nothing_imported(capfd: pytest.CaptureFixture[str]) -> None:
    """The record of data never becomes a name to import: not by a run, nor by a spec."""
    Path("own_data.py").write_text(OWN)
    run = energyc.train(SPEC, arrays(), **OPTIONS)
    Path("own_data.py").write_text("raise SystemExit('imported')")
    info = run / "run.json"
    info.write_text(info.read_text().replace('"data": {}', '"data": {"data": "own_data:arrays"}'))
    assert command(capfd, "eval", str(run.folder)).status == 1
    energyc.load(run)
    with pytest.raises(energyc.SpecError):
        energyc.load(TABLE.replace("table(name = iris", "own_data(name = arrays"))


# -------------------------------------------------------------------- installed packages


def installed(folder: Path, package: str, name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with an entry point, as pip would install it."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[energyc.data]\n{name} = {value}\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(DATA, "_adapters", dict(DATA._adapters))  # what is found there ends with the test


PACKAGE = """
from tests.interface.test_train_from_python import Waves
class Lacking:
    def schema(self, options): ...
class Failing:
    def __init__(self): raise OSError("no licence")
"""


def test_an_installed_package_offers_adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    installed(site, "wave-data", "own_waves", "wave_data:Waves", monkeypatch)
    (site / "wave_data.py").write_text(PACKAGE)
    registry = Registry(group="energyc.data")
    assert "own_waves" in registry.names() and "wave_data" not in sys.modules, "listing imports nothing"
    assert registry.find("own_waves").schema({}).sizes == {"inputs": 4}
    run = energyc.train(BOUND.replace("waves()", "own_waves()"), **OPTIONS)
    assert run.final["samples"] == 10


@pytest.mark.parametrize(
    ("value", "code", "message"),
    [
        ("wave_data:Lacking", "E0911", "the data adapter odd has no method open"),
        ("wave_data:Failing", "E0933", "odd of wave-data (wave_data:Failing) raised OSError: no licence"),
        ("no_wave_data:Waves", "E0933", "raised ModuleNotFoundError"),
        ("wave_data:Nothing", "E0933", "raised AttributeError"),
    ],
)
def test_a_package_with_a_mistake(
    value: str, code: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    installed(site, "wave-data", "odd", value, monkeypatch)
    (site / "wave_data.py").write_text(PACKAGE)
    with pytest.raises(energyc.UserError) as caught:
        Registry(group="energyc.data").find("odd")
    assert caught.value.code == code and message in caught.value.message


def test_two_packages_with_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("one-data", "two-data"):
        installed(tmp_path / package, package, "odd", "wave_data:Waves", monkeypatch)
    with pytest.raises(energyc.UserError, match="offered by several packages: one-data, two-data"):
        Registry(group="energyc.data").find("odd")


@pytest.mark.slow
def test_the_page_on_training_from_python_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "interface.md").read_text()
    section = page.split("## Training from Python")[1].split("\n## ")[0]
    scope: dict[str, Any] = {}
    exec(section.split("```python\n")[1].split("```")[0], scope)
    assert scope["run"].steps == 120 and len(scope["costs"]) == 100 and scope["scores"].shape == (3, 2)
    assert scope["run"].best["accuracy"] > 0.7
    options = set(inspect.signature(energyc.train).parameters) - {"spec", "data"}
    assert {name for name in options if f"`{name}`" not in section and f"`{name}=`" not in section} == set()
    members = {name for name in dir(energyc.Run) if not name.startswith("_")} | set(energyc.Run.__dataclass_fields__)
    assert {name for name in members if f"`{name}" not in section and name != "folder"} == set()
