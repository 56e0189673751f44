"""How much the random tests draw: one seed for a whole run, and a factor for the long ones.

``ENERGYC_SEED=N`` repeats a run; without it each run draws anew, so that runs add up. ``ENERGYC_DRAWS=10`` makes ten
times as many draws in the tests marked slow.
"""

from __future__ import annotations

import os

#: Set for all workers of a run by ``tests/conftest.py``.
SEED = int(os.environ["ENERGYC_SEED"])


def draws(count: int) -> int:
    """So many draws, times the factor."""
    return max(1, round(count * float(os.environ.get("ENERGYC_DRAWS", "1"))))


def seeds(count: int) -> range:
    """A seed for each of so many draws."""
    return range(SEED, SEED + draws(count))
