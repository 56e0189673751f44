"""How much the random tests draw: one seed for a whole run, and a factor for the long ones.

``ENERGYC_SEED=N`` repeats a run; without it each run draws anew, so that runs add up. ``ENERGYC_DRAWS=10`` makes ten
times as many draws in the tests marked slow; ``ENERGYC_DRAWS=0.25`` a quarter, and runs a quarter of the slow cases of
those that are ``abridged`` or ``sampled``.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")

#: Set for all workers of a run by ``tests/conftest.py``.
SEED = int(os.environ["ENERGYC_SEED"])


def draws(count: int, least: int = 1) -> int:
    """So many draws, times the factor."""
    return max(least, round(count * _factor()))


def share(cases: Iterable[Case]) -> list[Case]:
    """All the cases in their order, or those that the seed draws of them where the factor is below 1: at least one."""
    several = list(cases)
    kept = min(len(several), max(1, round(len(several) * _factor())))
    return [several[place] for place in sorted(random.Random(SEED).sample(range(len(several)), kept))]


def _factor() -> float:
    return float(os.environ.get("ENERGYC_DRAWS", "1"))


def seeds(count: int) -> range:
    """A seed for each of so many draws."""
    return range(SEED, SEED + draws(count))
