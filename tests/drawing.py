"""How much the random tests draw: one seed for a whole run, and a factor for the long ones.

``ENERGYC_SEED=N`` repeats a run; without it each run draws anew, so that runs add up. ``ENERGYC_DRAWS=10`` makes ten
times as many draws in the tests marked slow; ``ENERGYC_DRAWS=0.25`` a quarter, and runs a quarter of the cases of those
that go through all specs for minutes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")

#: Set for all workers of a run by ``tests/conftest.py``.
SEED = int(os.environ["ENERGYC_SEED"])


def draws(count: int, least: int = 1) -> int:
    """So many draws, times the factor."""
    return max(least, round(count * _factor()))


def share(cases: Iterable[Case]) -> list[Case]:
    """All the cases, or those that the seed chooses among them where the factor is below 1: at least one."""
    several, every = list(cases), max(1, round(1 / _factor()))
    return several[SEED % max(1, min(every, len(several))) :: every]


def _factor() -> float:
    return float(os.environ.get("ENERGYC_DRAWS", "1"))


def seeds(count: int) -> range:
    """A seed for each of so many draws."""
    return range(SEED, SEED + draws(count))
