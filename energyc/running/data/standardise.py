"""Standardised columns, and the values that would ruin them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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
