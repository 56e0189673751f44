"""Patterns and damaged probes of them, for associative memories: ``patterns(size = 64, damage = 1/4)``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from energyc.running.data.arrays import SplitDataset, check_range, generator, resize_square
from energyc.running.data.errors import takes_no_file
from energyc.running.data.options import OptionReader
from energyc.running.data.schema import FieldSchema, Options, Schema
from energyc.running.data.shipped import load_digits

CLASSES = 10
LARGEST_SIDE = 128
PROBES = {"train": 20, "test": 5}  # probes of each pattern
NOISE, TEST_NOISE = 4, 5  # one random stream for each purpose


@dataclass(frozen=True)
class Damage:
    """A share of a pattern's entries, each erased (0) or flipped in sign."""

    share: Fraction
    flip: bool

    def apply(self, pattern: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """A copy of a pattern ``[size]`` with exactly ``round(share * size)`` damaged entries."""
        damaged = random.permutation(len(pattern))[: round(self.share * len(pattern))]
        probe = pattern.copy()
        probe[damaged] = -probe[damaged] if self.flip else 0
        return probe


@dataclass(frozen=True)
class Patterns:
    """``stored [size]`` in {-1, 1} and ``probe [size]``, a damaged copy.

    The patterns are the first ``count`` (100, ten of each digit) of scikit-learn's digits, resized to a square and
    thresholded at mid grey to -1 or 1; if ``size`` (64) is not a square, the first pixels of the next larger one.
    ``damage`` (1/4) is the share of entries that are erased, or flipped with ``kind = flip``. Training and test have
    the same patterns and different damage.
    """

    name: str = "patterns"

    def schema(self, options: Options) -> Schema:
        """Fields probe, stored; sizes size, count."""
        reader = self._reader(options)
        size, count = self._size(reader), self._count(reader)
        self._damage(reader)
        side = math.isqrt(size)
        field = FieldSchema((size,), image=(1, side, side) if side**2 == size else None)
        return Schema(dict.fromkeys(("probe", "stored"), field), {"size": size, "count": count})

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """The patterns; raises ``UserError`` for a path. ``seed`` has no effect: each batch is drawn with its own."""
        if path is not None:
            raise takes_no_file(self.name, path)
        schema, reader = self.schema(options), self._reader(options)
        stored = digit_patterns(self._size(reader), self._count(reader))
        damage = self._damage(reader)
        train, test = (Probes(stored, damage, PROBES[part], part == "test") for part in ("train", "test"))
        note = "training and test: the same patterns, other draws of damage; the test's are fixed"
        return SplitDataset(schema, f"{len(stored)} of scikit-learn's digits as patterns", train, test, (note,))

    def _reader(self, options: Options) -> OptionReader:
        return OptionReader(self.name, options, ("size", "count", "damage", "kind"))

    def _size(self, reader: OptionReader) -> int:
        return reader.size("size", 64, most=LARGEST_SIDE**2)

    def _count(self, reader: OptionReader) -> int:
        return reader.size("count", 100, most=1000)

    def _damage(self, reader: OptionReader) -> Damage:
        flip = reader.choice("kind", "erase", ("erase", "flip")) == "flip"
        return Damage(reader.fraction("damage", Fraction(1, 4)), flip)


@dataclass(frozen=True)
class Probes:
    """``draws`` probes of each pattern; ``fixed`` damage depends on the index alone."""

    stored: np.ndarray
    damage: Damage
    draws: int
    fixed: bool

    def __len__(self) -> int:
        """The number of probes."""
        return len(self.stored) * self.draws

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The probe and the pattern of each index; index i is a probe of pattern ``i % count``."""
        check_range(indices, len(self))
        stored = self.stored[np.asarray(indices) % len(self.stored)]
        probes = [
            self.damage.apply(pattern, self._random(seed, epoch, int(index)))
            for pattern, index in zip(stored, indices, strict=True)
        ]
        return {"probe": np.stack(probes), "stored": stored}

    def _random(self, seed: int, epoch: int, index: int) -> np.random.Generator:
        return generator(TEST_NOISE, index) if self.fixed else generator(NOISE, seed, epoch, index)


def digit_patterns(size: int, count: int) -> np.ndarray:
    """``[count, size]`` of -1 and 1, the digits 0 to 9 in turn: the first ``size`` pixels of a square."""
    images, labels = load_digits()
    # ordered by the rank within its digit, then by digit: 0 to 9, then again
    rank = np.array([np.count_nonzero(labels[:at] == label) for at, label in enumerate(labels)])
    chosen = np.lexsort((labels, rank))[:count]
    side = math.isqrt(size - 1) + 1
    pixels = resize_square(images[chosen], side).reshape(count, -1)[:, :size]
    return np.where(pixels > 0.5, 1, -1).astype(np.float32)
