"""CIFAR-10's two formats, the stand-in, and pickles that must not run."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from energyc.data import find_adapter
from energyc.data.cifar10 import TEST, TRAIN
from energyc.diagnostics import UserError

IMAGES = np.random.RandomState(0).randint(0, 256, (6, 3, 4, 3072)).astype(np.uint8)[:, 0]
LABELS = np.random.RandomState(1).randint(0, 10, (6, 4))


def write_python(folder: Path) -> None:
    for name, images, labels in zip((*TRAIN, *TEST), IMAGES, LABELS, strict=True):
        batch = {b"batch_label": name.encode(), b"data": images, b"labels": labels.tolist(), b"filenames": [b"a.png"]}
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))


def write_binary(folder: Path) -> None:
    for name, images, labels in zip((*TRAIN, *TEST), IMAGES, LABELS, strict=True):
        records = np.column_stack([labels.astype(np.uint8), images])
        (folder / f"{name}.bin").write_bytes(records.tobytes())


@pytest.mark.parametrize("write", [write_python, write_binary])
def test_both_versions_are_read(tmp_path: Path, write) -> None:
    write(tmp_path)
    dataset = find_adapter("cifar10").open({}, str(tmp_path))
    train = dataset.split("train").batch(np.arange(20))
    test = dataset.split("test").batch(np.arange(4))
    np.testing.assert_allclose(train["image"], IMAGES[:5].reshape(20, 3, 32, 32) / 255, rtol=1e-6)
    np.testing.assert_array_equal(train["label"], LABELS[:5].reshape(20))
    np.testing.assert_allclose(test["image"], IMAGES[5].reshape(4, 3, 32, 32) / 255, rtol=1e-6)
    np.testing.assert_array_equal(test["label"], LABELS[5])


class Harmful:
    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.place),)


def test_a_pickle_cannot_run_anything(tmp_path: Path) -> None:
    write_python(tmp_path)
    (tmp_path / TRAIN[0]).write_bytes(pickle.dumps({b"data": Harmful(tmp_path / "harm")}, protocol=2))
    with pytest.raises(UserError, match=r"not a batch of CIFAR-10 \(it asks for .*mkdir\)"):
        find_adapter("cifar10").open({}, str(tmp_path))
    assert not (tmp_path / "harm").exists()


GOOD = pickle.dumps({b"data": IMAGES[0], b"labels": LABELS[0].tolist()}, protocol=2)
BAD = {
    "empty": (b"", "not a batch of CIFAR-10"),
    "text": (b"hello", "not a batch of CIFAR-10"),
    "cut off": (GOOD[: len(GOOD) // 2], "not a batch of CIFAR-10"),
    "no dict": (pickle.dumps([1, 2]), "not a batch of CIFAR-10"),
    "objects": (pickle.dumps({b"data": np.array([None]), b"labels": [1]}, protocol=2), "its data are object [1]"),
    "floats": (pickle.dumps({b"data": IMAGES[0] / 2, b"labels": [1] * 4}, protocol=2), "its data are float64"),
    "few labels": (pickle.dumps({b"data": IMAGES[0], b"labels": [1]}, protocol=2), "its data are uint8 [4, 3072]"),
    "label 10": (pickle.dumps({b"data": IMAGES[0], b"labels": [10] * 4}, protocol=2), "it has a label 10"),
    "label words": (pickle.dumps({b"data": IMAGES[0], b"labels": ["cat"] * 4}, protocol=2), "not a batch of CIFAR-10"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_batch_is_one_message(tmp_path: Path, kind: str) -> None:
    write_python(tmp_path)
    data, problem = BAD[kind]
    (tmp_path / TEST[0]).write_bytes(data)
    with pytest.raises(UserError) as raised:
        find_adapter("cifar10").open({}, str(tmp_path))
    assert raised.value.message.startswith(f"{tmp_path / TEST[0]}: {problem}")
    assert raised.value.code == "E0914"


def test_a_binary_batch_must_be_whole_records(tmp_path: Path) -> None:
    write_binary(tmp_path)
    for data in (b"", b"x" * 3072):
        (tmp_path / "test_batch.bin").write_bytes(data)
        with pytest.raises(UserError, match="expected records of 3073 bytes"):
            find_adapter("cifar10").open({}, str(tmp_path))


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    write_python(tmp_path)
    (tmp_path / TRAIN[3]).unlink()
    with pytest.raises(UserError) as raised:
        find_adapter("cifar10").open({}, str(tmp_path))
    assert str(tmp_path / TRAIN[3]) in raised.value.message
    assert "cifar-10-binary.tar.gz" in str(raised.value.help)


def test_the_stand_in_says_that_it_is_one_and_its_colours_give_nothing_away() -> None:
    from sklearn.linear_model import LogisticRegression

    dataset = find_adapter("cifar10").open({}, None)
    assert "not CIFAR-10" in dataset.origin and "not CIFAR-10" in dataset.notes[0]
    batches = [dataset.split(part).batch(np.arange(len(dataset.split(part)))) for part in ("train", "test")]
    colours = [np.concatenate([b["image"].max((2, 3)), b["image"].min((2, 3))], 1) for b in batches]
    fit = LogisticRegression(max_iter=1000).fit(colours[0], batches[0]["label"])
    assert fit.score(colours[1], batches[1]["label"]) < 0.25  # chance is 0.1
