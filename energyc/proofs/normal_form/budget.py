"""Limits on the time and the terms of a proof, so that no spec hangs a check."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


class OverBudget(Exception):
    """The budget ran out; the answer is undecided."""


@dataclass
class Budget:
    """A number of terms and of seconds; ``spend`` raises OverBudget when either is exhausted.

    Seconds are CPU time of this process, so that a busy machine changes no verdict.
    """

    terms: int
    seconds: float
    started: float = field(default_factory=time.process_time)

    def spend(self, terms: int = 1) -> None:
        """Deduct terms from the budget. Raises OverBudget."""
        self.terms -= terms
        if self.terms < 0:
            raise OverBudget("too many terms")
        if time.process_time() - self.started > self.seconds:
            raise OverBudget("too little time")
