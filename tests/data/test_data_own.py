"""Files of one's own without a `data` line: what stands there, what is wanted, and which array may feed which input."""

from __future__ import annotations

import io
import os
import random
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from energyc.language.diagnostics import UserError
from energyc.pipeline import read, resolve
from energyc.running.data import FieldSchema, Schema
from energyc.running.data.files import held_in, open_npz
from energyc.running.data.named_arrays import described, fits, read_arrays, suggested
from energyc.running.runs.data import opened
from energyc.running.runs.data_arguments import DataFlags
from tests.cli.run import energyc
from tests.drawing import SEED, draws

Capture = pytest.CaptureFixture[str]
OWN = """\
network own
dim I = 6, K = 3
clamp x[I]
target label : K
param W[I, K] ~ glorot
state y[K]
energy e = 1/2 * sum[k]((y[k] - sum[i](x[i] * W[i,k]))^2)
readout scores[k] = y[k]
cost c = cross_entropy[k](y[k], label)
relax { step = 1/2, steps = 6 }
train { rule = implicit, steps = 2, batch = 8, eval_samples = 4 }
"""
WANTED = "x float32 [samples, 6], label int64 [samples] from 0 to 2"
X, Y = np.linspace(0, 1, 240).reshape(40, 6), np.arange(40) % 3


def _saved(**arrays: Any) -> Callable[[Path], None]:
    return lambda path: np.savez(path, **arrays)


def _zipped(**members: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(f"{name}.npy", content)

    return write


def _member(shape: str, descr: str = "<f8", numbers: bytes = b"") -> bytes:
    content = io.BytesIO()
    content.write(np.lib.format.magic(1, 0))
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return content.getvalue() + len(head).to_bytes(2, "little") + head + numbers


#: What may stand at a path, with the code, and words of the message and the help.
WRONG: dict[str, tuple[Callable[[Path], object], str, str, str]] = {
    "nothing": (
        lambda path: None,
        "E0913",
        f"not found or not readable; expected an npz with an array for each input: {WANTED}",
        "numpy.savez",
    ),
    "a pipe": (
        os.mkfifo,
        "E0914",
        f"a pipe, socket or device, not a regular file; expected an npz with an array for each input: {WANTED}",
        "savez",
    ),
    "a folder": (Path.mkdir, "E0913", "a folder; expected an npz with an array for each input", "savez"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "E0914", "a pipe, socket or device", "savez"),
    "a text": (lambda path: path.write_text("1,2\n"), "E0914", "not an npz; expected", "savez"),
    "an empty file": (lambda path: path.touch(), "E0914", "not an npz; expected", "savez"),
    "a single array": (lambda path: path.write_bytes(_npy()), "E0914", "a single array, not an npz", "savez"),
    "half a zip": (
        lambda path: path.write_bytes(b"PK\x03\x04 and no more"),
        "E0914",
        "not a valid npz of numbers",
        "savez",
    ),
    "other names": (
        _saved(X=X, y=Y),
        "E0914",
        f"has no array x or label: it holds X float64 [40, 6], y int64 [40]; the inputs are {WANTED}",
        "perhaps --map x=X label=y",
    ),
    "one other name": (
        _saved(x=X, labels=Y),
        "E0914",
        "has no array label: it holds x float64 [40, 6], labels int64 [40]",
        "perhaps --map label=labels",
    ),
    "names of a split": (
        _saved(x_train=X, y_train=Y, x_test=X, y_test=Y),
        "E0914",
        "has no array x or label",
        "perhaps --map x=x_train label=y_train",
    ),
    "pictures": (
        _saved(images=X.reshape(40, 2, 3).astype(np.uint8), t=Y),
        "E0914",
        "images uint8 [40, 2, 3]",
        "perhaps --map x=images label=t",
    ),
    "nothing that fits": (
        _saved(a=np.zeros(3)),
        "E0914",
        "it holds a float64 [3]",
        "name the array of each input: --map x=ARRAY label=ARRAY",
    ),
    "no array": (_saved(), "E0914", "it holds nothing", "--map x=ARRAY label=ARRAY"),
    "many arrays": (
        _saved(**{f"a{n}": np.zeros(2) for n in range(30)}),
        "E0914",
        "and 18 more; the inputs are",
        "ARRAY",
    ),
    "objects": (
        _saved(x=X, label=np.array([None] * 40)),
        "E0914",
        "label is objects [40], which are never unpickled",
        "savez",
    ),
    "words": (
        _saved(x=X, label=np.array(["a"] * 40)),
        "E0932",
        "label is ndarray of <U1, not numbers",
        "numbers labels",
    ),
    "complex numbers": (
        _saved(x=X * 1j, label=Y),
        "E0932",
        "x is ndarray of complex128, not numbers",
        "array of numbers",
    ),
    "another shape": (_saved(x=X[:, :5], label=Y), "E0932", "x has shape [40, 5]; it takes [samples, 6]", "DIM=SIZE"),
    "a false header": (
        _zipped(x=_member("(1000000000000, 6)"), label=_member("(3,)", "<i8")),
        "E0914",
        "x.npy has 128 bytes, not those of float64 [1000000000000, 6]",
        "savez",
    ),
    "a nested header": (_zipped(x=_member("(" * 40)), "E0914", "not a valid npz of numbers", "savez"),
    "no header": (_zipped(x=b"hello"), "E0914", "not a valid npz of numbers", "savez"),
}


def _npy() -> bytes:
    content = io.BytesIO()
    np.save(content, X)
    return content.getvalue()


def _opened(path: Path, **names: str) -> Any:
    source = read(OWN)
    given = DataFlags((str(path),), names).read(source)
    return opened(resolve(source, schemas=given.schemas()), given, 0)


@pytest.mark.parametrize("kind", WRONG)
def test_one_message_says_what_is_there_and_what_is_wanted(kind: str, tmp_path: Path) -> None:
    made, code, message, help_text = WRONG[kind]
    path = tmp_path / "mine.npz"
    made(path)
    with pytest.raises(UserError) as raised:
        _opened(path)
    assert raised.value.code == code
    assert message in raised.value.message and help_text in (raised.value.help or "")
    assert str(path) in raised.value.message or code == "E0932"


@pytest.mark.parametrize("kind", [kind for kind, wrong in WRONG.items() if "perhaps" in wrong[3]])
def test_the_mapping_that_a_message_suggests_works(kind: str, tmp_path: Path) -> None:
    made, _, _, help_text = WRONG[kind]
    path = tmp_path / "mine.npz"
    made(path)
    names = dict(pair.split("=") for pair in help_text.partition("--map ")[2].split())
    datasets, _ = _opened(path, **names)
    batch = datasets["data"].split("train").batch(np.arange(3))
    assert batch["x"].shape == (3, 6) and batch["label"].dtype == np.int64


def test_other_arrays_are_ignored_with_a_line(tmp_path: Path) -> None:
    np.savez(tmp_path / "mine.npz", x=X, label=Y, note=np.array("hello"), more=np.array([{}]))
    datasets, _ = _opened(tmp_path / "mine.npz")
    assert "not read: note, more" in datasets["data"].notes


def test_a_random_npz_feeds_a_spec_or_is_one_message(tmp_path: Path) -> None:
    """Arrays of random names, shapes and types; a suggestion that is made can be followed."""
    generator = random.Random(SEED)
    fed = 0
    for number in range(draws(150)):
        arrays = {name: _drawn(generator) for name in generator.sample(["x", "X", "label", "y", "t", "a b", "é"], 4)}
        path = tmp_path / f"{number}.npz"
        np.savez(path, **arrays)
        about = f"seed {SEED}, number {number}: { {name: (a.shape, a.dtype) for name, a in arrays.items()} }"
        fed += _feeds_or_explains(path, about)
    assert fed > draws(150) // 50


def _drawn(generator: random.Random) -> np.ndarray:
    shape = generator.choice([(40,), (40, 6)] * 4 + [(40, 2, 3), (40, 1), (40, 6, 1), (6, 40), (), (0, 6), (39, 6)])
    return np.zeros(shape, generator.choice(["f4", "f8", "i8", "u1"] * 3 + ["bool", "U3", "O", "c8"]))


def _feeds_or_explains(path: Path, about: str) -> bool:
    wanted = Schema({"x": FieldSchema((6,)), "label": FieldSchema((), "integer", 3)})
    with open_npz(path, "", "") as arrays:
        held = held_in(arrays)
    names = suggested(wanted, held, {})
    assert all(fits(held[array], wanted.fields[field]) for field, array in names.items()), about
    try:
        _opened(path, **names)
    except UserError as error:
        assert error.help and error.code in ("E0914", "E0932"), about
        return False
    return True


def test_a_header_says_what_numpy_reads(tmp_path: Path) -> None:
    kinds = {"a": X, "f": np.asfortranarray(X), "z": np.zeros((0, 3)), "s": np.float32(3), "w": np.array(["ab", "c"])}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "mine.npz", **kinds)
        with open_npz(tmp_path / "mine.npz", "", "") as arrays:
            held = held_in(arrays)
        assert {name: (about.shape, about.dtype) for name, about in held.items()} == {
            name: (np.shape(array), np.asarray(array).dtype) for name, array in kinds.items()
        }


def test_a_field_is_described_by_its_type_shape_and_range() -> None:
    schema = Schema(
        {"x": FieldSchema((6,)), "label": FieldSchema((), "integer", 3), "n": FieldSchema((2, 4), "integer")}
    )
    assert described(schema) == f"{WANTED}, n int64 [samples, 2, 4]"


def test_arrays_are_read_by_their_other_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "mine.npz", X=X, label=Y, more=Y)
    schema = Schema({"x": FieldSchema((6,)), "label": FieldSchema((), "integer", 3)})
    arrays, others = read_arrays(str(tmp_path / "mine.npz"), schema, {"x": "X"})
    np.testing.assert_array_equal(arrays["x"], X)
    assert others == ("more",)


@pytest.mark.parametrize(
    "pairs", [["--map", "x=X", "label=y"], ["--map", "x=X", "--map", "label=y"], ["--map=x=X", "label=y"]]
)
def test_a_mapping_is_recorded_and_found_again(pairs: list[str], tmp_path: Path, capfd: Capture) -> None:
    (tmp_path / "own.energy").write_text(OWN)
    np.savez(tmp_path / "mine.npz", X=X, y=Y, note=X)
    data, run = ["--data", tmp_path / "mine.npz"], tmp_path / "run"
    done = energyc(capfd, "train", tmp_path / "own.energy", *data, *pairs, "--out", run, "--target", "torch")
    assert done.status == 0 and "not read: note" in done.err, done.err
    assert "samples 4 of 8 in the test split" in done.out
    assert energyc(capfd, "train", "--resume", run, "--steps", "3", "--quiet").status == 0
    (tmp_path / "mine.npz").rename(tmp_path / "moved.npz")
    moved = ["--data", tmp_path / "moved.npz"]
    for words in (["eval", run], ["eval", run, "--samples", "5"], ["verify", run], ["plot", run, "--kind", "curves"]):
        assert energyc(capfd, *words, *moved).status == 0, words
    part = energyc(capfd, "eval", run, *moved, "--samples", "5")
    assert part.out.rstrip().endswith("samples 5 of 8 in the test split")
    assert energyc(capfd, "eval", run, *moved, "--format", "json").json["split_size"] == 8
    assert energyc(capfd, "verify", tmp_path / "own.energy", *moved, *pairs).status == 0
    assert energyc(capfd, "bench", tmp_path / "own.energy", *moved, *pairs, "--seconds", "0.01").status == 0


@pytest.mark.parametrize(
    ("pairs", "message", "help_text"),
    [
        (["x"], "--map x names no array", "write --map INPUT=ARRAY"),
        (["x="], "--map x= names no array", "write --map INPUT=ARRAY"),
        (["x=X", "x=Y"], "--map gives x twice", "one array for each input"),
        (["z=X"], "--map z=X names no input of this spec", "the inputs are x and label"),
        (["lable=y"], "--map lable=y names no input of this spec", "did you mean `label`?"),
        (["x=Q", "label=y"], "has no array Q: it holds X", "perhaps --map x=X label=y"),
    ],
)
def test_a_mapping_that_is_wrong(
    pairs: list[str], message: str, help_text: str, tmp_path: Path, capfd: Capture
) -> None:
    (tmp_path / "own.energy").write_text(OWN)
    np.savez(tmp_path / "mine.npz", X=X, y=Y)
    done = energyc(capfd, "train", tmp_path / "own.energy", "--data", tmp_path / "mine.npz", "--map", *pairs)
    assert done.status == 1 and message in done.err and help_text in done.err, done.err


def test_a_mapping_without_data_feeds_nothing(tmp_path: Path, capfd: Capture) -> None:
    (tmp_path / "own.energy").write_text(OWN)
    done = energyc(capfd, "train", tmp_path / "own.energy", "--map", "x=X")
    assert done.status == 1 and "error[E0903]: --map x=X feeds nothing" in done.err


def test_two_data_lines_take_an_npz_for_both(tmp_path: Path) -> None:
    """A path without a binding is one npz for the inputs, or is asked for its binding."""
    text = OWN.replace("clamp x[I]", "data a = table(inputs = 6)\ndata b = table(inputs = 6)\nclamp x[I] = a.x")
    source = read(text)
    np.savez(tmp_path / "mine.npz", X=X, y=Y)
    given = DataFlags((str(tmp_path / "mine.npz"),)).read(source)
    network = resolve(source, schemas=given.schemas())
    with pytest.raises(UserError, match="perhaps map="):
        opened(network, given, 0)
    opened(network, replace(given, names={"x": "X", "label": "y"}), 0)
    with pytest.raises(UserError, match="does not say whether it is the data a or b"):
        DataFlags((str(tmp_path / "mine.csv"),)).read(source)
