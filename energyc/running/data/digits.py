"""Handwritten digits: ``digits`` (scikit-learn's 8 x 8 images, or idx files by path) and ``mnist`` (idx files)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from energyc.running.data.arrays import ArraySplit, SplitDataset, fixed_split, resize_square
from energyc.running.data.errors import malformed, missing_file, wrong_size
from energyc.running.data.idx import EXPECTED, REMEDY, LabelledImages, read_idx_folder
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


def _idx_split(path: str, part: LabelledImages, side: int) -> ArraySplit:
    rows, columns = part.images.shape[1:]
    if (rows, columns) != (side, side):
        problem = f"its images are {rows} x {columns} pixels but the spec says side = {side}"
        sizes = {"side": rows} if rows == columns else {}
        raise wrong_size(path, problem, "" if sizes else "give square images", **sizes)
    if int(np.max(part.labels)) >= CLASSES:
        raise malformed(path, f"it has the label {np.max(part.labels)}", f"labels below {CLASSES}", REMEDY)
    return ArraySplit({"image": part.images.reshape(len(part.images), -1), "label": part.labels})


def mnist() -> Digits:
    """Return the adapter of MNIST, whose files are given as a path."""
    return Digits(name="mnist", default_side=28, needs_path=True)
