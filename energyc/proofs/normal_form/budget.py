"""Limits on the time and the terms of a proof, so that no spec hangs a check."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

_MET: ContextVar[list[str]] = ContextVar("_MET")


@contextmanager
def shortages() -> Iterator[list[str]]:
    """Collect the searches that end since their time is over: another time they may find more."""
    met: list[str] = []
    token = _MET.set(met)
    try:
        yield met
    finally:
        _MET.reset(token)


def out_of_time(search: str) -> None:
    """Note that a search ends since its time is over."""
    _MET.get([]).append(search)


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
            out_of_time("a normal form")
            raise OverBudget("too little time")
