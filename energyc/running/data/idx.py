"""The idx format of MNIST (yann.lecun.com/exdb/mnist), plain or gzipped.

A file consists of two zero bytes, the type (8 is uint8), the number of axes, their sizes as 32-bit big-endian
integers, then the values in C order.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from energyc.running.data.errors import malformed, missing_file
from energyc.running.data.files import read_bytes

EXPECTED = "a folder with MNIST's four idx files (train-images-idx3-ubyte[.gz] and so on)"
REMEDY = (
    "put train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and "
    "t10k-labels-idx1-ubyte.gz (any mirror of MNIST, Fashion-MNIST or KMNIST) in one folder and pass that folder"
)
UINT8 = 8


@dataclass(frozen=True)
class LabelledImages:
    """Images ``[N, rows, columns]`` uint8 and their labels ``[N]`` int64."""

    images: np.ndarray
    labels: np.ndarray


def read_idx_folder(folder: str) -> tuple[LabelledImages, LabelledImages]:
    """The training and test images in a folder of idx files; raises ``UserError``."""
    if not Path(folder).is_dir():
        raise missing_file(folder, EXPECTED, REMEDY)
    return _labelled(Path(folder), "train"), _labelled(Path(folder), "t10k")


def read_idx(path: Path, axes: int) -> np.ndarray:
    """The uint8 array in an idx file with ``axes`` axes; raises ``UserError``."""
    data = read_bytes(path, EXPECTED, REMEDY)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != UINT8 or data[3] != axes:
        raise malformed(str(path), "not an idx file", f"an idx file of bytes with {axes} axes", REMEDY)
    head = 4 + 4 * axes
    shape = struct.unpack(f">{axes}I", data[4:head].ljust(4 * axes, b"\0"))
    size = int(np.prod([int(n) for n in shape], dtype=object))
    if len(data) != head + size or not size:
        problem = f"its header says {' x '.join(map(str, shape))} values, but it holds {max(0, len(data) - head)}"
        raise malformed(str(path), problem, "a complete idx file", "download it again: " + REMEDY)
    return np.frombuffer(data, np.uint8, offset=head).reshape(shape)


def _labelled(folder: Path, part: str) -> LabelledImages:
    images = read_idx(_find(folder, f"{part}-images-idx3-ubyte"), 3)
    path = _find(folder, f"{part}-labels-idx1-ubyte")
    labels = read_idx(path, 1)
    if len(labels) != len(images):
        raise malformed(str(path), f"{len(labels)} labels for {len(images)} images", "a label for each image", REMEDY)
    return LabelledImages(images, labels.astype(np.int64))


def _find(folder: Path, stem: str) -> Path:
    names = (stem, stem + ".gz", stem.replace("-idx", ".idx"), stem.replace("-idx", ".idx") + ".gz")
    paths = [folder / name for name in names if (folder / name).exists()]
    if not paths:
        raise missing_file(str(folder / stem), EXPECTED, REMEDY)
    return paths[0]
