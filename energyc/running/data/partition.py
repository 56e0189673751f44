"""Fixed partitions of samples, which keep the shares of the labels.

Samples are put into a fixed random order, then sorted by label; parts are dealt along that order. The number of samples
of a label in a part is therefore off its exact share by less than one. NumPy guarantees that RandomState's stream never
changes, so a partition is the same everywhere.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np


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
