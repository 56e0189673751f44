"""Data held in memory as arrays, and helpers that the adapters share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from energyc.running.data.schema import Schema, Split, SplitName


@dataclass(frozen=True)
class ArraySplit:
    """Samples as arrays with a leading sample axis; uint8 is stored as such and scaled to [0, 1] in batches.

    Raises ``ValueError`` for arrays of different lengths, and for one that does not hold numbers.
    """

    fields: Mapping[str, np.ndarray]

    def __post_init__(self) -> None:
        lengths = {name: len(values) for name, values in self.fields.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"the fields have different numbers of samples: {lengths}")
        for name, values in self.fields.items():
            if values.dtype.kind not in "biuf":
                raise ValueError(f"the field {name} is an array of {values.dtype}, not of numbers")

    def __len__(self) -> int:
        """The number of samples."""
        return len(next(iter(self.fields.values())))

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The samples at ``indices``; ``seed``, ``epoch`` and ``augment`` have no effect."""
        return {name: _as_promised(values[indices]) for name, values in self.fields.items()}


@dataclass(frozen=True)
class SplitDataset:
    """A dataset given by its splits; most have no validation part of their own."""

    schema: Schema
    origin: str
    train: Split
    test: Split
    notes: tuple[str, ...] = ()
    validation: Split | None = None

    def split(self, name: SplitName) -> Split:
        """The training or the test samples."""
        if name not in ("train", "test"):
            raise ValueError(f"a split is train or test, not {name}")
        return self.train if name == "train" else self.test


def _as_promised(values: np.ndarray) -> np.ndarray:
    """Values as float32 or int64."""
    if values.dtype == np.uint8:
        return values.astype(np.float32) / np.float32(255)
    return values.astype(np.int64 if values.dtype.kind in "biu" else np.float32)


def check_range(indices: np.ndarray, count: int) -> None:
    """Raise ``IndexError`` unless every index is in ``range(count)``."""
    if len(indices) and not 0 <= np.min(indices) <= np.max(indices) < count:
        raise IndexError(f"indices from {np.min(indices)} to {np.max(indices)} of {count} samples")


def fixed_split(count: int, test: float) -> tuple[np.ndarray, np.ndarray]:
    """The training and test indices of a fixed random split; ``test`` is the share held out (at least one sample).

    NumPy guarantees that RandomState's stream never changes, so the split is the same everywhere.
    """
    order = np.random.RandomState(0).permutation(count)
    held_out = max(1, round(count * test))
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def generator(*key: int) -> np.random.Generator:
    """A generator seeded by the key alone; negative parts are taken modulo 2^64."""
    return np.random.default_rng([part & 0xFFFF_FFFF_FFFF_FFFF for part in key])


def resize_square(images: np.ndarray, side: int) -> np.ndarray:
    """Resize ``[N, s, s]`` to ``[N, side, side]`` bilinearly, with aligned pixel centres and extended borders."""
    matrix = _bilinear(images.shape[-1], side)
    resized: np.ndarray = np.einsum("ai,nij,bj->nab", matrix, images, matrix, optimize=True)
    return resized.astype(np.float32)


def _bilinear(source: int, side: int) -> np.ndarray:
    """The interpolation matrix ``[side, source]``; its rows sum to one."""
    centre = np.clip((np.arange(side) + 0.5) * source / side - 0.5, 0, source - 1)
    distance = np.abs(centre[:, None] - np.arange(source)[None, :])
    return np.maximum(0.0, 1.0 - distance)
