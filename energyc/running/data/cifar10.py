"""Small colour pictures in ten classes: ``cifar10()``, CIFAR-10 by path (the binary version).

``cifar10(source = digits)`` is not CIFAR-10 and needs no files: digits in colour, of its shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from energyc.language.diagnostics import Spoken
from energyc.running.data.arrays import ArraySplit, SplitDataset, fixed_split, resize_square
from energyc.running.data.errors import malformed, missing_file, takes_no_file
from energyc.running.data.files import read_bytes
from energyc.running.data.options import OptionReader
from energyc.running.data.schema import FieldSchema, Options, Schema
from energyc.running.data.shipped import load_digits

SHAPE, CLASSES, TEST_SHARE = (3, 32, 32), 10, 0.2
RECORD = 1 + 3 * 32 * 32  # bytes: a label and an image
LARGEST_BATCH = 64 << 20  # bytes; a published batch has 31 million
EXPECTED = "a folder with data_batch_1.bin .. data_batch_5.bin and test_batch.bin"
REMEDY = "unpack cifar-10-binary.tar.gz (cs.toronto.edu/~kriz/cifar.html) and pass its folder"
WITHOUT_FILES = Spoken(
    f"{REMEDY}; --set BINDING.source=digits needs no files",
    f'{REMEDY}; settings={{"BINDING.source": "digits"}} needs no files',
)
CIFAR, DIGITS = "cifar", "digits"  # the sources
TRAIN, TEST = tuple(f"data_batch_{number}" for number in range(1, 6)), ("test_batch",)


@dataclass(frozen=True)
class Cifar10:
    """``image [3, 32, 32]`` in [0, 1], ``label`` in 10 classes.

    CIFAR-10, 50,000 and 10,000 pictures, is read from a path. With ``source = digits`` it is NOT CIFAR-10 but
    scikit-learn's 1,797 digits, resized to 32 x 32 and coloured (``coloured_digits``), to try a network of this shape.
    """

    name: str = "cifar10"

    def schema(self, options: Options) -> Schema:
        """Fields image, label; sizes channels, side, classes."""
        self._source(options)
        fields = {"image": FieldSchema(SHAPE), "label": FieldSchema((), "integer", CLASSES)}
        return Schema(fields, {"channels": SHAPE[0], "side": SHAPE[1], "classes": CLASSES})

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """The pictures; ``seed`` has no effect."""
        schema = self.schema(options)
        if self._source(options) == CIFAR:
            if path is None:
                raise missing_file(self.name, EXPECTED, WITHOUT_FILES)
            return SplitDataset(schema, path, read_batches(path, TRAIN), read_batches(path, TEST), ("its own split",))
        if path is not None:
            raise takes_no_file("cifar10(source = digits)", path)
        images, labels = coloured_digits()
        train, test = (
            ArraySplit({"image": images[at], "label": labels[at]}) for at in fixed_split(len(images), TEST_SHARE)
        )
        notes = ("a stand-in: digits, not CIFAR-10", "fixed random split, 80 / 20")
        return SplitDataset(schema, "scikit-learn's digits in colour (not CIFAR-10)", train, test, notes)

    def _source(self, options: Options) -> str:
        return OptionReader(self.name, options, ("source",)).choice("source", CIFAR, (CIFAR, DIGITS))


def coloured_digits() -> tuple[np.ndarray, np.ndarray]:
    """Images ``[1797, 3, 32, 32]`` uint8 and labels: each digit in one colour on another, both fixed by its index.

    The colours carry no information about the digit. It is bright on a dark background, so it is always visible.
    """
    images, labels = load_digits()
    ink = resize_square(images, SHAPE[1])[:, None]
    random = np.random.RandomState(0)
    bright = random.uniform(0.6, 1.0, (len(images), 3, 1, 1))
    dark = random.uniform(0.0, 0.3, (len(images), 3, 1, 1))
    return np.round(255 * (dark + (bright - dark) * ink)).astype(np.uint8), labels


# ------------------------------------------------------------------ CIFAR-10's own files


def read_batches(folder: str, names: tuple[str, ...]) -> ArraySplit:
    """The pictures of some batches of a folder; raises ``UserError``."""
    records = np.concatenate([_records(Path(folder), name) for name in names])
    return ArraySplit({"image": records[:, 1:].reshape(-1, *SHAPE), "label": records[:, 0].astype(np.int64)})


def _records(folder: Path, name: str) -> np.ndarray:
    """The records ``[n, RECORD]`` of a batch, a label and an image each; raises ``UserError``."""
    path = folder / f"{name}.bin"
    if not path.exists() and (folder / name).exists():
        raise malformed(str(folder / name), "a batch of the python version, which is not read", EXPECTED, REMEDY)
    data = read_bytes(path, EXPECTED, REMEDY, most=LARGEST_BATCH)
    if not data or len(data) % RECORD:
        raise malformed(str(path), f"{len(data)} bytes are not whole records of {RECORD}", EXPECTED, REMEDY)
    records = np.frombuffer(data, np.uint8).reshape(-1, RECORD)
    if (largest := int(records[:, 0].max())) >= CLASSES:
        raise malformed(str(path), f"it has the label {largest}, not below {CLASSES}", EXPECTED, REMEDY)
    return records
