"""CIFAR-10's binary version, the stand-in, and the python version, which is refused."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from energyc.language.diagnostics import UserError
from energyc.running.data import find_adapter
from energyc.running.data.cifar10 import TEST, TRAIN

IMAGES = np.random.RandomState(0).randint(0, 256, (6, 3, 4, 3072)).astype(np.uint8)[:, 0]
LABELS = np.random.RandomState(1).randint(0, 10, (6, 4))


def as_binary(images: np.ndarray, labels: np.ndarray) -> bytes:
    return np.column_stack([labels.astype(np.uint8), images]).tobytes()


def write_folder(folder: Path) -> None:
    for name, images, labels in zip((*TRAIN, *TEST), IMAGES, LABELS, strict=True):
        (folder / f"{name}.bin").write_bytes(as_binary(images, labels))


def test_the_binary_version_is_read(tmp_path: Path) -> None:
    write_folder(tmp_path)
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


def test_the_python_version_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    for name in (*TRAIN, *TEST):
        (tmp_path / name).write_bytes(pickle.dumps({b"data": Harmful(tmp_path / "harm")}, protocol=2))
    with pytest.raises(UserError) as raised:
        find_adapter("cifar10").open({}, str(tmp_path))
    assert raised.value.message.startswith(f"{tmp_path / TRAIN[0]}: a batch of the python version, which is not read")
    assert raised.value.code == "E0914" and "cifar-10-binary.tar.gz" in str(raised.value.help)
    assert not (tmp_path / "harm").exists()


BAD = {
    "empty": (b"", "0 bytes are not whole records of 3073"),
    "text": (b"hello", "5 bytes are not whole records of 3073"),
    "cut off": (as_binary(IMAGES[0], LABELS[0])[:-1], "12291 bytes are not whole records of 3073"),
    "label 10": (as_binary(IMAGES[0], LABELS[0] * 0 + 10), "it has the label 10, not below 10"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_batch_is_one_message(tmp_path: Path, kind: str) -> None:
    write_folder(tmp_path)
    data, problem = BAD[kind]
    path = tmp_path / f"{TEST[0]}.bin"
    path.write_bytes(data)
    with pytest.raises(UserError) as raised:
        find_adapter("cifar10").open({}, str(tmp_path))
    assert raised.value.message.startswith(f"{path}: {problem}")
    assert raised.value.code == "E0914"


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / f"{TRAIN[3]}.bin").unlink()
    with pytest.raises(UserError) as raised:
        find_adapter("cifar10").open({}, str(tmp_path))
    assert str(tmp_path / f"{TRAIN[3]}.bin") in raised.value.message
    assert "cifar-10-binary.tar.gz" in str(raised.value.help)


def test_the_stand_in_says_that_it_is_one_and_its_colours_give_nothing_away() -> None:
    from sklearn.linear_model import LogisticRegression

    dataset = find_adapter("cifar10").open({"source": "digits"}, None)
    assert "not CIFAR-10" in dataset.origin and "not CIFAR-10" in dataset.notes[0]
    batches = [dataset.split(part).batch(np.arange(len(dataset.split(part)))) for part in ("train", "test")]
    colours = [np.concatenate([b["image"].max((2, 3)), b["image"].min((2, 3))], 1) for b in batches]
    fit = LogisticRegression(max_iter=1000).fit(colours[0], batches[0]["label"])
    assert fit.score(colours[1], batches[1]["label"]) < 0.25  # chance is 0.1


def test_without_files_it_is_an_error() -> None:
    with pytest.raises(UserError) as raised:
        find_adapter("cifar10").open({}, None)
    assert raised.value.code == "E0913" and "cifar-10-binary.tar.gz" in str(raised.value.help)
    assert "--set BINDING.source=digits needs no files" in str(raised.value.help)


def test_the_stand_in_reads_no_files(tmp_path: Path) -> None:
    write_folder(tmp_path)
    with pytest.raises(UserError, match=r"cifar10\(source = digits\) reads no file"):
        find_adapter("cifar10").open({"source": "digits"}, str(tmp_path))
