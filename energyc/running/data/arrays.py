"""Data held in memory as arrays, and helpers that the adapters share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from energyc.running.data.schema import Schema, Split, SplitName


@dataclass(frozen=True)
class ArraySplit:
    """Samples as arrays with a leading sample axis; uint8 is stored as such and scaled to [0, 1] in batches.

    Real numbers are float32 in batches, or with ``exact`` float64 where they are stored so, for a run in float64.
    Raises ``ValueError`` for arrays of different lengths, and for one that does not hold numbers.
    """

    fields: Mapping[str, np.ndarray]
    exact: bool = False

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
        return {name: as_promised(values[indices], self.exact) for name, values in self.fields.items()}


@dataclass(frozen=True)
class Portion:
    """The samples ``indices`` of the concatenated ``splits``; a ``fixed`` one is the same in every evaluation."""

    splits: Sequence[Split]
    indices: np.ndarray
    fixed: bool = False

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.indices)

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The samples at ``indices`` of this portion; what is drawn for a fixed one depends on the sample alone."""
        check_range(indices, len(self))
        drawn = (0, 0, False) if self.fixed else (seed, epoch, augment)
        chosen = self.indices[np.asarray(indices, np.int64)]
        starts = np.array([0, *accumulate(len(split) for split in self.splits)])
        owner = np.searchsorted(starts, chosen, side="right") - 1
        rows, batches = [], []
        for number in np.unique(owner) if len(owner) else (0,):
            rows.append(np.flatnonzero(owner == number))
            own = chosen[rows[-1]] - starts[number]
            batches.append(self.splits[number].batch(own, seed=drawn[0], epoch=drawn[1], augment=drawn[2]))
        order = np.argsort(np.concatenate(rows), kind="stable")
        return {name: np.concatenate([batch[name] for batch in batches])[order] for name in batches[0]}


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


def as_promised(values: np.ndarray, exact: bool = False) -> np.ndarray:
    """Values as float32 or int64; with ``exact`` also as float64."""
    if values.dtype == np.uint8:
        return values.astype(np.float32) / np.float32(255)
    if exact and values.dtype == np.float64:
        return values
    return values.astype(np.int64 if values.dtype.kind in "biu" else np.float32, copy=False)


def stacked(schema: Schema, samples: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """A batch of samples that were made one by one."""
    return {
        name: np.stack([sample[name] for sample in samples]) if samples else field.zeros(0)
        for name, field in schema.fields.items()
    }


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


# ------------------------------------------------------------------ partitions that keep the shares of labels
# Samples are put into a fixed random order, then sorted by label; parts are dealt along that order. The number of
# samples of a label in a part is therefore off its exact share by less than one.


def held_out(labels: np.ndarray, share: Fraction | float, stream: int = 0) -> np.ndarray:
    """Whether each sample is held out, ``[samples]``: at least one is, and at least one is not (of two or more).

    ``labels`` ``[samples]`` are any numbers; ``stream`` selects one of many partitions.
    """
    count, exact = len(labels), Fraction(share)
    order = _by_label(labels, stream)
    steps = np.array([int(exact * position) for position in range(count + 1)])
    held = np.zeros(count, bool)
    held[order[np.diff(steps) > 0]] = True
    if count > 1 and held.all():
        held[order[0]] = False
    elif count and not held.any():
        held[order[0]] = True
    return held


def folds(labels: np.ndarray, count: int, stream: int = 0) -> np.ndarray:
    """The fold of each sample, ``[samples]`` in ``range(count)``, of sizes that differ by at most one."""
    fold = np.empty(len(labels), np.int64)
    fold[_by_label(labels, stream)] = np.arange(len(labels)) % count
    return fold


def _by_label(labels: np.ndarray, stream: int) -> np.ndarray:
    """A random order of the samples, sorted by label."""
    order = np.random.RandomState(stream).permutation(len(labels))
    return order[np.argsort(np.asarray(labels)[order], kind="stable")]


# ------------------------------------------------------------------ standardised columns


@dataclass(frozen=True)
class Standardised:
    """Columns ``[rows, columns]`` whose training rows have mean 0 and deviation 1; a constant column is 0.

    ``mean`` and ``deviation`` ``[columns]`` are those of the training rows as they came.
    """

    values: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray


def standardise(values: np.ndarray, train: np.ndarray) -> Standardised:
    """Standardise ``[rows, columns]`` by the mean and the deviation of the rows ``train``."""
    # by powers of two, which are exact, so that no sum or square overflows or vanishes
    exponent = np.maximum(np.frexp(np.abs(values).max(0))[1], -1000)
    scaled = np.ldexp(values, -exponent)
    mean, deviation = scaled[train].mean(0), scaled[train].std(0)
    constant = deviation <= 1e-12 * np.abs(mean)  # which is rounding
    mean = np.where(constant, scaled[train[0]], mean)
    deviation = np.where(constant, np.ldexp(1.0, -exponent), deviation)
    return Standardised((scaled - mean) / deviation, np.ldexp(mean, exponent), np.ldexp(deviation, exponent))


def swamping_value(raw: np.ndarray, standard: np.ndarray) -> tuple[int, int] | None:
    """Row and column of a value that leaves nothing of its column in float32, if there is one.

    It is itself too large for float32, or so far away that the quartiles of the column's distinct values are equal.
    """
    with np.errstate(over="ignore"):
        single = standard.astype(np.float32)
    for column in range(raw.shape[1]):
        _, rows = np.unique(raw[:, column], return_index=True)
        lower, upper = rows[(len(rows) - 1) // 4], rows[3 * (len(rows) - 1) // 4]
        merged = lower != upper and single[lower, column] == single[upper, column]
        if merged or not np.isfinite(single[:, column]).all():
            distance = np.abs(standard[:, column] - np.median(standard[:, column]))
            return int(np.argmax(distance)), column
    return None
