"""The boundary: whatever a user's own adapter gives, the mistake is named and never becomes an internal error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from energyc.language.diagnostics import UserError
from energyc.running.data import DATA, FieldSchema, Registry, Schema, check_batch
from energyc.running.data.arrays import ArraySplit, SplitDataset
from tests.cli.run import energyc

SPEC = """\
network small
dim I = 3, J = 2, K = 4
data mine = mine()
clamp x[I] = mine.image
target label : K = mine.label
param W[I, K] ~ glorot
state y[K]
energy leak = 1/2 * sum[k](y[k]^2)
energy synapses = -sum[i,k](x[i] * W[i,k] * y[k])
readout scores[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
relax { step = 1/2, steps = 5 }
train { rule = implicit, optimizer = sgd, lr = 0.01, batch = 10, steps = 4, eval_samples = 20 }
"""
SCHEMA = Schema({"image": FieldSchema((3,)), "label": FieldSchema((), "integer", 4)}, {"classes": 4})
IMAGES = np.random.RandomState(0).randn(20, 3).astype(np.float32)
LABELS = np.arange(20) % 4


@dataclass(frozen=True)
class RawSplit:
    """Batches as a user's own split may give them: of any type."""

    fields: dict[str, Any]

    def __len__(self) -> int:
        return 20

    def batch(self, indices: np.ndarray, **_: object) -> dict[str, Any]:
        return {name: value(indices) if callable(value) else value[indices] for name, value in self.fields.items()}


class NoBatch(RawSplit):
    """A split whose batch is nothing."""

    def batch(self, indices: np.ndarray, **_: object) -> Any:
        return None


@dataclass(frozen=True)
class Mine:
    """An adapter whose schema and splits are those of a test."""

    train: Callable[[], Any] = lambda: RawSplit({"image": IMAGES, "label": LABELS})
    schema_of: Callable[[], Any] = lambda: SCHEMA
    opened: Schema = field(default_factory=lambda: SCHEMA)
    name: str = "mine"

    def schema(self, options: dict) -> Any:
        return self.schema_of()

    def open(self, options: dict, path: str | None, *, seed: int = 0) -> SplitDataset:
        test = RawSplit({"image": IMAGES, "label": LABELS})
        return SplitDataset(self.opened, "mine", self.train(), test)


def split(**fields: Any) -> Callable[[], RawSplit]:
    return lambda: RawSplit({"image": IMAGES, "label": LABELS, **fields})


def changed(values: np.ndarray, place: int | tuple[int, ...], value: float) -> np.ndarray:
    values = values.copy()
    values[place] = value
    return values


def failing() -> Any:
    raise ZeroDivisionError("by a user")


SPLITS = {
    "label too large": (
        split(label=changed(LABELS, 7, 4)),
        "mine.label, which feeds the target label, is 4 in train sample 7",
    ),
    "label negative": (
        split(label=changed(LABELS, 7, -1)),
        "mine.label, which feeds the target label, is -1 in train sample 7",
    ),
    "float labels": (
        split(label=LABELS.astype(np.float32)),
        "mine.label, which feeds the target label, came as float32 [8]",
    ),
    "label words": (split(label=np.array(["cat"] * 20)), "mine.label, which feeds the target label, came as <U3 [8]"),
    "one-hot labels": (
        split(label=np.eye(4, dtype=int)[LABELS]),
        "mine.label, which feeds the target label, came as int64 [8, 4]",
    ),
    "nan": (
        split(image=changed(IMAGES, (9, 1), np.nan)),
        "mine.image, which feeds the clamp x, is nan in train sample 9 at [1]",
    ),
    "infinite": (
        split(image=changed(IMAGES, (9, 1), -np.inf)),
        "mine.image, which feeds the clamp x, is -inf in train sample 9 at [1]",
    ),
    "too large": (
        split(image=changed(IMAGES.astype(float), (9, 1), 1e300)),
        "mine.image, which feeds the clamp x, is 1e+300 in train sample 9 at [1]",
    ),
    "integers": (
        split(image=IMAGES.astype(int)),
        "mine.image, which feeds the clamp x, came as int64 [8, 3] for 8 samples",
    ),
    "complex": (split(image=IMAGES + 1j), "mine.image, which feeds the clamp x, came as complex64"),
    "objects": (split(image=IMAGES.astype(object)), "mine.image, which feeds the clamp x, came as object"),
    "wide": (split(image=IMAGES[:, :2]), "mine.image, which feeds the clamp x, came as float32 [8, 2] for 8 samples"),
    "no sample axis": (split(image=lambda at: IMAGES[0]), "mine.image, which feeds the clamp x, came as float32 [3]"),
    "short": (
        split(image=lambda at: IMAGES[at][1:]),
        "mine.image, which feeds the clamp x, came as float32 [7, 3] for 8",
    ),
    "a list": (split(image=lambda at: IMAGES[at].tolist()), "mine.image, which feeds the clamp x, came as list"),
    "missing": (lambda: RawSplit({"image": IMAGES}), "mine.label, which feeds the target label, is missing"),
    "raises": (
        split(image=lambda at: failing()),
        "the data adapter's RawSplit is wrong: batch() raised ZeroDivisionError",
    ),
    "open raises": (failing, "the data adapter's Mine is wrong: open() raised ZeroDivisionError: by a user"),
    "no split": (lambda: None, "the train split is NoneType, which has no batch() or length"),
    "no batch": (
        lambda: NoBatch({}),
        "the data adapter's NoBatch is wrong: batch() returned NoneType, not arrays by field",
    ),
    "lists in an ArraySplit": (
        lambda: ArraySplit({"image": IMAGES.tolist(), "label": LABELS}),
        "the data adapter's Mine is wrong: open() raised AttributeError",
    ),
    "ragged": (
        lambda: ArraySplit({"image": IMAGES, "label": LABELS[:9]}),
        "the data adapter's Mine is wrong: open() raised ValueError: the fields have different numbers of samples",
    ),
    "words in an ArraySplit": (
        lambda: ArraySplit({"image": IMAGES, "label": np.array(["cat"] * 20)}),
        "open() raised ValueError: the field label is an array of <U3, not of numbers",
    ),
}


def run(
    adapter: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> tuple[int, str]:
    monkeypatch.setattr(DATA, "_adapters", {"mine": adapter})
    (tmp_path / "small.energy").write_text(SPEC)
    arguments = ["--out", tmp_path / "run"] if command == "train" else []
    done = energyc(capfd, command, tmp_path / "small.energy", *arguments)
    return done.status, done.out + done.err


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("kind", SPLITS)
def test_a_bad_batch_of_a_users_adapter_is_one_message(kind: str, tmp_path: Path, capfd, monkeypatch) -> None:
    train, message = SPLITS[kind]
    status, text = run(Mine(train), tmp_path, capfd, monkeypatch, "train")
    assert (status, message in " ".join(text.split())) == (1, True), text
    assert "E0915" in text


GOOD = {
    "as promised": split(),
    "doubles": split(image=IMAGES.astype(np.float64)),
    "small integers": split(label=LABELS.astype(np.uint8)),
    "a field that nothing reads": split(other=np.full(20, np.nan)),
}


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize("kind", GOOD)
def test_a_good_batch_trains(kind: str, tmp_path: Path, capfd, monkeypatch) -> None:
    status, text = run(Mine(GOOD[kind]), tmp_path, capfd, monkeypatch, "train")
    assert status == 0, text


SCHEMAS = {
    "none": (lambda: None, "schema() returned NoneType"),
    "raises": (failing, "schema() raised ZeroDivisionError: by a user"),
    "no size": (lambda: Schema({"image": FieldSchema((0,))}), "the field image is FieldSchema(shape=(0,)"),
    "a float": (lambda: Schema({"image": FieldSchema((2.5,))}), "the field image is FieldSchema(shape=(2.5,)"),
    "kind": (
        lambda: Schema({"image": FieldSchema((3,), "float")}),
        "the field image is FieldSchema(shape=(3,), kind='float'",
    ),
    "classes": (lambda: Schema({"label": FieldSchema((), "integer", -1)}), "the field label is FieldSchema"),
    "an image of other pixels": (
        lambda: Schema({"image": FieldSchema((3,), image=(1, 2, 2))}),
        "the field image is FieldSchema(shape=(3,), kind='real', classes=None, image=(1, 2, 2))",
    ),
    "an image of two sizes": (
        lambda: Schema({"image": FieldSchema((4,), image=(2, 2))}),  # type: ignore[arg-type]
        "the field image is FieldSchema(shape=(4,)",
    ),
    "an int for a shape": (lambda: Schema({"image": FieldSchema(3)}), "schema() raised TypeError"),
    "a shape for a field": (lambda: Schema({"image": (3,)}), "schema() raised AttributeError"),
    "sizes": (lambda: Schema({}, {"classes": 1.5}), "the size classes is 1.5, not an integer above 0"),
}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_bad_schema_of_a_users_adapter_is_one_message(kind: str, tmp_path: Path, capfd, monkeypatch) -> None:
    schema_of, message = SCHEMAS[kind]
    status, text = run(Mine(schema_of=schema_of), tmp_path, capfd, monkeypatch, "check")
    assert (status, message in " ".join(text.split())) == (1, True), text


def test_a_dataset_that_is_none_is_refused(tmp_path: Path, capfd, monkeypatch) -> None:
    monkeypatch.setattr(Mine, "open", lambda *_, **__: None)
    status, text = run(Mine(), tmp_path, capfd, monkeypatch, "train")
    assert status == 1 and "open() returned NoneType, which has no schema" in " ".join(text.split())


def test_a_dataset_of_another_schema_is_refused(tmp_path: Path, capfd, monkeypatch) -> None:
    opened = Schema({"image": FieldSchema((5,)), "label": FieldSchema((), "integer", 4)}, {"classes": 4})
    status, text = run(Mine(opened=opened), tmp_path, capfd, monkeypatch, "train")
    assert status == 1 and "has another schema than schema() gives" in " ".join(text.split())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 4), np.float32), r"mine.x came as float32 \[2, 4\] for 2 samples"),
        (np.full((2, 3), 7, np.int64), r"mine.x is 7 in sample 0 at \[0\]"),
        (np.full((2, 3), -1, np.int64), r"mine.x is -1 in sample 0 at \[0\]"),
        (None, "mine.x is missing"),
    ],
)
def test_check_batch_names_field_sample_and_value(values: np.ndarray | None, message: str) -> None:
    schema = Schema({"x": FieldSchema((3,), "integer", 7)})
    check_batch("mine", schema, {"x": np.zeros((2, 3), np.int64)}, 2)
    with pytest.raises(UserError, match=message) as raised:
        check_batch("mine", schema, {} if values is None else {"x": values}, 2)
    assert raised.value.help == "its schema promises int64 [batch, 3], from 0 to 6"


def test_a_bug_in_an_adapter_of_ours_is_not_blamed_on_the_user() -> None:
    from energyc.running.data import open_dataset, read_schema
    from energyc.running.data.digits import Digits

    assert read_schema(Registry([Digits()]).find("digits"), {}).sizes["pixels"] == 64
    with pytest.raises(TypeError):
        open_dataset(Digits(), {}, 3, seed=0)  # type: ignore[arg-type]
