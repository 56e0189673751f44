"""Digits and idx files: the split, the resizing against another implementation, files of each kind of badness."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from energyc.language.diagnostics import UserError
from energyc.running.data import find_adapter
from energyc.running.data.arrays import resize_square

NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx(values: np.ndarray) -> bytes:
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def write_folder(folder: Path, side: int = 5, packed: bool = True) -> dict[str, np.ndarray]:
    random = np.random.RandomState(0)
    arrays = {
        NAMES[0]: random.randint(0, 256, (7, side, side)).astype(np.uint8),
        NAMES[1]: (np.arange(7) % 10).astype(np.uint8),
        NAMES[2]: random.randint(0, 256, (3, side, side)).astype(np.uint8),
        NAMES[3]: np.array([9, 0, 4], np.uint8),
    }
    for name, values in arrays.items():
        data = idx(values)
        (folder / (name + ".gz" if packed else name)).write_bytes(gzip.compress(data) if packed else data)
    return arrays


def test_digits_are_scikit_learns_split_without_overlap() -> None:
    dataset = find_adapter("digits").open({"side": 8}, None)
    train, test = (dataset.split(part).batch(np.arange(len(dataset.split(part)))) for part in ("train", "test"))
    rows = np.concatenate([train["image"], test["image"]]).round(4).tolist()
    assert sorted(rows) == sorted((load_digits().data / 16).astype(np.float32).round(4).tolist())
    assert train["image"].min() == 0 and train["image"].max() == 1
    counts = np.bincount(test["label"], minlength=10)
    assert counts.min() >= 25  # of 36 on average: no digit is left out of the test
    assert counts.sum() == 359


def test_resizing_equals_bilinear_interpolation_at_pixel_centres() -> None:
    from scipy.interpolate import RegularGridInterpolator

    images = np.random.RandomState(1).rand(2, 8, 8)
    for side in (4, 8, 13, 28):
        places = np.clip((np.arange(side) + 0.5) * 8 / side - 0.5, 0, 7)
        grid = np.stack(np.meshgrid(places, places, indexing="ij"), -1)
        expected = [RegularGridInterpolator((np.arange(8), np.arange(8)), image)(grid) for image in images]
        np.testing.assert_allclose(resize_square(images, side), expected, atol=1e-6)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("name", ["digits", "mnist"])
def test_idx_files_are_read_as_they_are(tmp_path: Path, packed: bool, name: str) -> None:
    arrays = write_folder(tmp_path, packed=packed)
    dataset = find_adapter(name).open({"side": 5}, str(tmp_path))
    for part, (images, labels) in {"train": NAMES[:2], "test": NAMES[2:]}.items():
        split = dataset.split(part)
        batch = split.batch(np.arange(len(split)))
        np.testing.assert_allclose(batch["image"], arrays[images].reshape(len(split), -1) / 255, rtol=1e-6)
        np.testing.assert_array_equal(batch["label"], arrays[labels])


def test_mnist_without_files_says_how_to_get_them() -> None:
    with pytest.raises(UserError) as raised:
        find_adapter("mnist").open({}, None)
    assert "four idx files" in raised.value.message
    assert "digits(side = 28) needs no files" in str(raised.value.help)


def broken_files(side: int) -> dict[str, tuple[bytes, str]]:
    whole = gzip.compress(idx(np.zeros((7, side, side), np.uint8)))
    return {
        "empty": (b"", "not an idx file"),
        "truncated gzip": (whole[: len(whole) // 2], "the gzip stream is broken or cut off"),
        "no gzip": (b"hello, this is not gzip", "the gzip stream is broken or cut off"),
        "corrupt gzip": (whole[:12] + b"\xff" * 8 + whole[20:], "the gzip stream is broken or cut off"),
        "wrong magic": (gzip.compress(b"\1\2\3\4" * 9), "not an idx file"),
        "head cut off": (gzip.compress(b"\0\0\x08\x03\0"), "its header says"),
        "values cut off": (gzip.compress(idx(np.zeros((7, side, side), np.uint8))[:-1]), "its header says 7 x 5 x 5"),
        "gigantic": (gzip.compress(b"\0\0\x08\x03" + b"\xff" * 12), "its header says 4294967295"),
        "no image": (gzip.compress(idx(np.zeros((0, side, side), np.uint8))), "its header says 0 x"),
    }


@pytest.mark.parametrize("kind", broken_files(5))
def test_a_broken_idx_file_is_one_message(tmp_path: Path, kind: str) -> None:
    write_folder(tmp_path)
    data, problem = broken_files(5)[kind]
    path = tmp_path / (NAMES[0] + ".gz")
    path.write_bytes(data)
    with pytest.raises(UserError) as raised:
        find_adapter("digits").open({"side": 5}, str(tmp_path))
    assert raised.value.message.startswith(f"{path}: {problem}")
    assert raised.value.code == "E0914"
    assert "mirror of MNIST" in str(raised.value.help)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / (NAMES[3] + ".gz")).unlink()
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / (NAMES[0] + ".gz")):
        with pytest.raises(UserError) as raised:
            find_adapter("mnist").open({"side": 5}, str(path))
        assert raised.value.code == "E0913"
        assert str(path) in raised.value.message


def test_another_side_or_label_is_told(tmp_path: Path) -> None:
    write_folder(tmp_path)
    with pytest.raises(UserError) as raised:
        find_adapter("digits").open({"side": 8}, str(tmp_path))
    assert "its images are 5 x 5 pixels but the spec says side = 8" in raised.value.message
    assert raised.value.help == "write side = 5"
    (tmp_path / (NAMES[1] + ".gz")).write_bytes(gzip.compress(idx(np.full(7, 200, np.uint8))))
    with pytest.raises(UserError, match="it has the label 200"):
        find_adapter("digits").open({"side": 5}, str(tmp_path))
    (tmp_path / (NAMES[1] + ".gz")).write_bytes(gzip.compress(idx(np.zeros(6, np.uint8))))
    with pytest.raises(UserError, match="6 labels for 7 images"):
        find_adapter("digits").open({"side": 5}, str(tmp_path))
