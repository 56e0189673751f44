"""Handwritten digits: ``digits`` (scikit-learn's 8 x 8 images, or idx files by path) and ``mnist`` (idx files).

The idx format is that of yann.lecun.com/exdb/mnist, plain or gzipped: two zero bytes, the type (8 is uint8), the number
of axes, their sizes as 32-bit big-endian integers, then the values in C order.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from energyc.running.data.arrays import ArraySplit, SplitDataset, fixed_split, resize_square
from energyc.running.data.errors import malformed, missing_file, wrong_size
from energyc.running.data.files import read_bytes
from energyc.running.data.options import OptionReader
from energyc.running.data.schema import FieldSchema, Options, Schema
from energyc.running.data.shipped import load_digits

CLASSES = 10
TEST_SHARE = 0.2
LARGEST_SIDE = 128


@dataclass(frozen=True)
class Digits:
    """``digits(side = 8)``: image ``[side*side]`` in [0, 1], label in 10 classes.

    Without a path: the 1,797 digits of scikit-learn (UCI optdigits), resized bilinearly to ``side``, a fixed random
    fifth of them for the test. With a path: MNIST's idx files with images of this ``side``, in their own split.
    """

    name: str = "digits"
    default_side: int = 8
    needs_path: bool = False

    def schema(self, options: Options) -> Schema:
        """Fields image, label; sizes pixels, classes."""
        return _schema(self._side(options))

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """The digits; ``seed`` has no effect."""
        side = self._side(options)
        if path is not None:
            return _open_idx(path, side, _schema(side))
        if self.needs_path:
            raise missing_file(self.name, EXPECTED, REMEDY + "; digits(side = 28) needs no files")
        return _open_shipped(side)

    def _side(self, options: Options) -> int:
        return OptionReader(self.name, options, ("side",)).size("side", self.default_side, least=2, most=LARGEST_SIDE)


def _schema(side: int) -> Schema:
    fields = {"image": FieldSchema((side * side,), image=(1, side, side)), "label": FieldSchema((), "integer", CLASSES)}
    return Schema(fields, {"pixels": side * side, "classes": CLASSES})


def _open_shipped(side: int) -> SplitDataset:
    images, labels = load_digits()
    pixels = resize_square(images, side).reshape(len(images), -1)
    train, test = (
        ArraySplit({"image": pixels[at], "label": labels[at]}) for at in fixed_split(len(pixels), TEST_SHARE)
    )
    return SplitDataset(_schema(side), "scikit-learn's digits", train, test, ("fixed random split, 80 / 20",))


def _open_idx(path: str, side: int, schema: Schema) -> SplitDataset:
    train, test = (_idx_split(path, part, side) for part in read_idx_folder(path))
    return SplitDataset(schema, path, train, test, ("the files' own split",))


def _idx_split(path: str, part: ArraySplit, side: int) -> ArraySplit:
    images, labels = part.fields["image"], part.fields["label"]
    rows, columns = images.shape[1:]
    if (rows, columns) != (side, side):
        problem = f"its images are {rows} x {columns} pixels but the spec says side = {side}"
        sizes = {"side": rows} if rows == columns else {}
        raise wrong_size(path, problem, "" if sizes else "give square images", **sizes)
    if int(np.max(labels)) >= CLASSES:
        raise malformed(path, f"it has the label {np.max(labels)}", f"labels below {CLASSES}", REMEDY)
    return ArraySplit({"image": images.reshape(len(images), -1), "label": labels})


def mnist() -> Digits:
    """Return the adapter of MNIST, whose files are given as a path."""
    return Digits(name="mnist", default_side=28, needs_path=True)


# ------------------------------------------------------------------ idx files

EXPECTED = "a folder with MNIST's four idx files (train-images-idx3-ubyte[.gz] and so on)"
REMEDY = (
    "put train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and "
    "t10k-labels-idx1-ubyte.gz (any mirror of MNIST, Fashion-MNIST or KMNIST) in one folder and pass that folder"
)
UINT8 = 8


def read_idx_folder(folder: str) -> tuple[ArraySplit, ArraySplit]:
    """The training and test images ``[N, rows, columns]`` and labels of a folder of idx files; raises ``UserError``."""
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


def _labelled(folder: Path, part: str) -> ArraySplit:
    images = read_idx(_find(folder, f"{part}-images-idx3-ubyte"), 3)
    path = _find(folder, f"{part}-labels-idx1-ubyte")
    labels = read_idx(path, 1)
    if len(labels) != len(images):
        raise malformed(str(path), f"{len(labels)} labels for {len(images)} images", "a label for each image", REMEDY)
    return ArraySplit({"image": images, "label": labels.astype(np.int64)})


def _find(folder: Path, stem: str) -> Path:
    names = (stem, stem + ".gz", stem.replace("-idx", ".idx"), stem.replace("-idx", ".idx") + ".gz")
    paths = [folder / name for name in names if (folder / name).exists()]
    if not paths:
        raise missing_file(str(folder / stem), EXPECTED, REMEDY)
    return paths[0]
