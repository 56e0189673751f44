"""Formulas of an element that differ from index to index: by conditions on indices, and by indices as numbers."""

from __future__ import annotations

import numpy as np

#: Of a dim of two, each condition holds at one index and fails at the other.
CONDITIONS = ("k < 1", "k > 0", "k == K - 1", "k == 0", "k != 0", "2*k + 1 >= K", "not (k >= 1 and k < K)")
#: Positive factors that differ from index to index.
FACTORS = ("(k + 1)*", "(K - k)*", "where(k == 0, 1/2, 3)*", "(1/2)^k*")
SHARE = 0.3


def by_index(rng: np.random.Generator, one: str, other: str) -> str | None:
    """One formula where a condition on an index holds and another elsewhere; None for most draws."""
    if rng.uniform() >= SHARE:
        return None
    condition = CONDITIONS[rng.integers(len(CONDITIONS))]
    return f"where({condition}, {one}, {other})"


def factored(rng: np.random.Generator, formula: str) -> str:
    """A formula, at times times a positive number that depends on the index."""
    factor = FACTORS[rng.integers(len(FACTORS))] if rng.uniform() < SHARE else ""
    return f"{factor}({formula})" if factor else formula
