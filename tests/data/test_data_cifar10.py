"""CIFAR-10's two formats, the stand-in, and pickles that must not run."""

from __future__ import annotations

import os
import pickle
import random
import struct
from pathlib import Path

import numpy as np
import pytest

from energyc.language.diagnostics import UserError
from energyc.running.data import find_adapter
from energyc.running.data.cifar10 import TEST, TRAIN
from energyc.running.data.cifar10_batch import read_pickle

IMAGES = np.random.RandomState(0).randint(0, 256, (6, 3, 4, 3072)).astype(np.uint8)[:, 0]
LABELS = np.random.RandomState(1).randint(0, 10, (6, 4))


def as_published(images: np.ndarray, labels: np.ndarray, flags: bytes = b"K\0") -> bytes:
    """A batch as Python 2 wrote it for cifar-10-python.tar.gz; ``flags`` are those of the array's dtype."""
    head = b"\x80\x02}q\x01(U\x0bbatch_labelq\x02U\x15training batch 1 of 5q\x03U\x06labelsq\x04]q\x05("
    numbers = b"".join(b"K" + bytes([label]) for label in labels)
    array = (
        b"eU\x04dataq\x06cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08K\0\x85U\x01b\x87Rq\x09(K\x01"
    )
    shape = b"M" + struct.pack("<H", len(images)) + b"M" + struct.pack("<H", 3072) + b"\x86"
    dtype = (
        b"cnumpy\ndtype\nq\nU\x02u1K\0K\x01\x87Rq\x0b(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff" + flags + b"tb"
    )
    pixels = b"\x89T" + struct.pack("<I", images.size) + images.tobytes() + b"tb"
    names = b"U\tfilenamesq\x0c]q\r(" + b"".join(b"U\x05a.pngq" + bytes([14 + n]) for n in range(len(labels))) + b"eu."
    return head + numbers + array + shape + dtype + pixels + names


def as_python_3(images: np.ndarray, labels: np.ndarray, protocol: int = 2) -> bytes:
    batch = {
        b"batch_label": b"one",
        b"data": images,
        b"labels": labels.tolist(),
        b"filenames": [b"a.png"] * len(images),
    }
    return pickle.dumps(batch, protocol=protocol)


def as_binary(images: np.ndarray, labels: np.ndarray) -> bytes:
    return np.column_stack([labels.astype(np.uint8), images]).tobytes()


def write_folder(folder: Path, batch=as_published, suffix: str = "") -> None:
    for name, images, labels in zip((*TRAIN, *TEST), IMAGES, LABELS, strict=True):
        (folder / f"{name}{suffix}").write_bytes(batch(images, labels))


def test_the_published_layout_of_this_test_is_a_pickle_of_python_2() -> None:
    batch = pickle.loads(as_published(IMAGES[0], LABELS[0]), encoding="bytes")
    np.testing.assert_array_equal(batch[b"data"], IMAGES[0])
    assert batch[b"labels"] == LABELS[0].tolist()


@pytest.mark.parametrize(("batch", "suffix"), [(as_published, ""), (as_python_3, ""), (as_binary, ".bin")])
def test_every_version_is_read(tmp_path: Path, batch, suffix: str) -> None:
    write_folder(tmp_path, batch, suffix)
    dataset = find_adapter("cifar10").open({}, str(tmp_path))
    train = dataset.split("train").batch(np.arange(20))
    test = dataset.split("test").batch(np.arange(4))
    np.testing.assert_allclose(train["image"], IMAGES[:5].reshape(20, 3, 32, 32) / 255, rtol=1e-6)
    np.testing.assert_array_equal(train["label"], LABELS[:5].reshape(20))
    np.testing.assert_allclose(test["image"], IMAGES[5].reshape(4, 3, 32, 32) / 255, rtol=1e-6)
    np.testing.assert_array_equal(test["label"], LABELS[5])


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_batch_pickled_again_is_the_same(protocol: int, order) -> None:
    images, labels = read_pickle(as_python_3(np.asarray(IMAGES[0], order=order), LABELS[0], protocol))
    np.testing.assert_array_equal(images, IMAGES[0])
    np.testing.assert_array_equal(labels, LABELS[0])


class Harmful:
    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.place),)


@pytest.mark.parametrize("key", [b"data", b"labels", b"filenames"])
def test_a_pickle_cannot_run_anything(tmp_path: Path, key: bytes) -> None:
    write_folder(tmp_path)
    batch = {b"data": IMAGES[0], b"labels": LABELS[0].tolist(), b"filenames": [], key: Harmful(tmp_path / "harm")}
    (tmp_path / TRAIN[0]).write_bytes(pickle.dumps(batch, protocol=2))
    if key != b"filenames":  # which nothing reads
        with pytest.raises(UserError, match=r"data_batch_1: (not a batch of CIFAR-10|0 labels for 4)"):
            find_adapter("cifar10").open({}, str(tmp_path))
    else:
        find_adapter("cifar10").open({}, str(tmp_path))
    assert not (tmp_path / "harm").exists()


def object_array_of_pointers() -> bytes:
    """An object array whose dtype drops its object flag and then takes raw bytes for its pointers."""
    pointers = np.full((4, 3072), 0x41, np.uint8)
    return as_published(pointers, LABELS[0]).replace(b"U\x02u1K\0", b"U\x02O8K\0")


def expanding_pickle() -> bytes:
    """Nine billion bytes, if each tuple of ten references were built."""
    layers = b"".join(b"(" + (b"h" + bytes([n])) * 10 + b"tq" + bytes([n + 1]) for n in range(9))
    return b"\x80\x02}(U\x04data" + b"U\x09xxxxxxxxxq\0" + layers + b"u."


GOOD = as_published(IMAGES[0], LABELS[0])
BAD = {
    "empty": (b"", "not a batch of CIFAR-10"),
    "text": (b"hello", "not a batch of CIFAR-10"),
    "cut off": (GOOD[: len(GOOD) // 2], "not a batch of CIFAR-10"),
    "no dict": (pickle.dumps([1, 2]), "not a batch of CIFAR-10 (it has no labels)"),
    "pointers": (object_array_of_pointers(), "not a batch of CIFAR-10 (its data are not an array of bytes"),
    "expanding": (expanding_pickle(), "not a batch of CIFAR-10 (it has no labels)"),
    "objects": (as_python_3(np.array([None]), LABELS[0]), "not a batch of CIFAR-10 (its data are not an array"),
    "floats": (as_python_3(IMAGES[0] / 2, LABELS[0]), "not a batch of CIFAR-10 (its data are not an array"),
    "another shape": (as_python_3(IMAGES[0].reshape(8, -1), LABELS[0]), "not a batch of CIFAR-10 (its data are not"),
    "no images": (as_python_3(IMAGES[0][:0], LABELS[0][:0]), "not a batch of CIFAR-10 (it has the opcode EMPTY_TUPLE"),
    "few labels": (as_python_3(IMAGES[0], LABELS[0][:1]), "1 labels for 4 images"),
    "label 10": (as_python_3(IMAGES[0], LABELS[0] * 0 + 10), "not a batch of CIFAR-10 (it has the label 10"),
    "huge label": (
        as_python_3(IMAGES[0], np.array([10**400] * 4, object)),
        "not a batch of CIFAR-10 (it has the label 1",
    ),
    "label words": (as_python_3(IMAGES[0], np.array(["cat"] * 4)), "0 labels for 4 images"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_batch_is_one_message(tmp_path: Path, kind: str) -> None:
    write_folder(tmp_path)
    data, problem = BAD[kind]
    (tmp_path / TEST[0]).write_bytes(data)
    with pytest.raises(UserError) as raised:
        find_adapter("cifar10").open({}, str(tmp_path))
    assert raised.value.message.startswith(f"{tmp_path / TEST[0]}: {problem}")
    assert raised.value.code == "E0914"


@pytest.mark.filterwarnings("ignore:invalid escape sequence")  # of pickletools, for text that is not a pickle
def test_a_mutated_batch_is_read_or_refused() -> None:
    """With any bytes changed, the reader gives images and labels in range or a ValueError."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    refused = 0
    for _ in range(1000):
        data = bytearray(draw.choice([GOOD, as_python_3(IMAGES[0], LABELS[0], draw.choice([2, 3, 4]))]))
        for _ in range(draw.randint(1, 4)):  # near either end, where the opcodes are
            place = draw.choice([draw.randrange(300), -1 - draw.randrange(200), draw.randrange(len(data))])
            data[place] = draw.randrange(256)
        try:
            images, labels = read_pickle(bytes(data))
        except ValueError:
            refused += 1
            continue
        assert images.dtype == np.uint8 and images.shape[1] == 3072
        assert all(0 <= label < 10 for label in labels)
    assert 100 < refused < 1000


def test_a_binary_batch_must_be_whole_records(tmp_path: Path) -> None:
    write_folder(tmp_path, as_binary, ".bin")
    for data in (b"", b"x" * 3072):
        (tmp_path / "test_batch.bin").write_bytes(data)
        with pytest.raises(UserError, match="bytes are not whole records of 3073"):
            find_adapter("cifar10").open({}, str(tmp_path))


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / TRAIN[3]).unlink()
    with pytest.raises(UserError) as raised:
        find_adapter("cifar10").open({}, str(tmp_path))
    assert str(tmp_path / TRAIN[3]) in raised.value.message
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
    assert raised.value.code == "E0913" and "cifar-10-python.tar.gz" in str(raised.value.help)
    assert "--set BINDING.source=digits needs no files" in str(raised.value.help)


def test_the_stand_in_reads_no_files(tmp_path: Path) -> None:
    write_folder(tmp_path)
    with pytest.raises(UserError, match=r"cifar10\(source = digits\) reads no file"):
        find_adapter("cifar10").open({"source": "digits"}, str(tmp_path))
