"""Limits on a proof's time and terms, so that no spec hangs a check."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


class OverBudget(Exception):
    """The budget ran out; the answer is undecided."""


@dataclass
class Budget:
    """Counts terms and seconds down; ``spend`` raises OverBudget when either is gone.

    Seconds are of this process alone, so that a busy machine changes no verdict.
    """

    terms: int
    seconds: float
    started: float = field(default_factory=time.process_time)

    def spend(self, terms: int = 1) -> None:
        """Takes terms off the budget. Raises OverBudget."""
        self.terms -= terms
        if self.terms < 0:
            raise OverBudget("too many terms")
        if time.process_time() - self.started > self.seconds:
            raise OverBudget("too little time")
