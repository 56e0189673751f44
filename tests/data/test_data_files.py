"""Files that must not be read: pipes and devices, which would block for ever, and files without end."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from energyc.language.diagnostics import UserError
from energyc.running.data import files, find_adapter

ONE_FILE = {
    "characters": ({"context": 8}, "text.txt"),
    "table": ({"inputs": 2}, "table.csv"),
    "masked_images": ({"side": 8, "patch": 4}, "image.png"),
    "npz": ({"side": 8, "patch": 4}, "images.npz"),
    "graph_classes": ({}, "MUTAG.zip"),
    "anomaly_graph": ({}, "graph.mat"),
}
IN_A_FOLDER = {
    "masked_images": ({"side": 8, "patch": 4}, "b.png"),
    "digits": ({"side": 8}, "train-images-idx3-ubyte.gz"),
    "mnist": ({}, "train-images-idx3-ubyte"),
    "cifar10": ({}, "data_batch_1.bin"),
}


def refusal(adapter: str, options: dict, path: Path) -> UserError:
    with pytest.raises(UserError) as raised:
        find_adapter(adapter.replace("npz", "masked_images")).open(options, str(path))
    assert raised.value.help
    return raised.value


@pytest.mark.parametrize("adapter", ONE_FILE)
def test_a_pipe_is_refused_and_not_opened(tmp_path: Path, adapter: str) -> None:
    options, name = ONE_FILE[adapter]
    os.mkfifo(tmp_path / name)
    error = refusal(adapter, options, tmp_path / name)
    assert error.message.startswith(f"{tmp_path / name}: a pipe, socket or device, not a regular file; expected ")
    assert error.code == "E0914"


@pytest.mark.parametrize("adapter", IN_A_FOLDER)
def test_a_pipe_in_a_folder_is_refused_and_not_opened(tmp_path: Path, adapter: str) -> None:
    options, name = IN_A_FOLDER[adapter]
    Image.new("L", (20, 20)).save(tmp_path / "a.png")
    os.mkfifo(tmp_path / name)
    assert str(tmp_path / name) in refusal(adapter, options, tmp_path).message


@pytest.mark.parametrize("adapter", ONE_FILE)
def test_a_link_to_a_device_is_refused(tmp_path: Path, adapter: str) -> None:
    options, name = ONE_FILE[adapter]
    (tmp_path / name).symlink_to("/dev/zero")
    assert "not a regular file" in refusal(adapter, options, tmp_path / name).message


def test_a_broken_link_among_images_is_named_and_a_folder_with_an_images_name_is_not_one(tmp_path: Path) -> None:
    for number in range(2):
        Image.new("L", (20, 20)).save(tmp_path / f"{number}.png")
    (tmp_path / "old.png").mkdir()
    assert len(find_adapter("masked_images").open({"side": 8, "patch": 4}, str(tmp_path)).split("train")) == 1
    (tmp_path / "gone.png").symlink_to(tmp_path / "nowhere.png")
    error = refusal("masked_images", {"side": 8, "patch": 4}, tmp_path)
    assert error.message.startswith(f"{tmp_path / 'gone.png'}: not found or not readable")


def endless_gzip(megabytes: int) -> bytes:
    """A gzip of zeros, a thousandth of its content in size."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(compressor.compress(bytes(1 << 20)) for _ in range(megabytes)) + compressor.flush()


def test_gzip_is_unpacked_up_to_the_limit_and_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_FILE", 4 << 20)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(endless_gzip(64))
    taken = []
    read = gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda file, size=-1: taken.append(size) or read(file, size))
    error = refusal("digits", {"side": 8}, tmp_path)
    assert error.message.startswith(f"{path}: larger than 4 MiB; expected ")
    assert error.code == "E0914"
    assert sum(taken) == (4 << 20) + 1 and max(taken) == 1 << 20


@pytest.mark.parametrize("adapter", ["characters", "table"])
def test_a_text_above_the_limit_is_refused(tmp_path: Path, adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_FILE", 1 << 20)
    options, name = ONE_FILE[adapter]
    (tmp_path / name).write_bytes(b"1 2 3\n" * (1 << 18))
    assert "larger than 1 MiB" in refusal(adapter, options, tmp_path / name).message


def test_a_batch_of_cifar10_above_the_limit_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "data_batch_1.bin").open("wb") as file:
        file.truncate(65 << 20)
    assert "data_batch_1.bin: larger than 64 MiB" in refusal("cifar10", {}, tmp_path).message


def test_an_npz_is_measured_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_FILE", 1 << 20)
    np.savez_compressed(tmp_path / "images.npz", images=np.zeros((2000, 32, 32), np.uint8))
    error = refusal("npz", {"side": 8, "patch": 4}, tmp_path / "images.npz")
    assert error.message.startswith(f"{tmp_path / 'images.npz'}: unpacks to more than 1 MiB")
