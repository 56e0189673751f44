"""Our own mistakes, told apart from the user's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from energyc.diagnostics.model import SpecError, UserError


class CompilerBug(Exception):
    """A failure that no spec should be able to cause: the stage it happened in and what was being compiled."""

    def __init__(self, stage: str, subject: str, error: Exception) -> None:
        super().__init__(f"{stage} of {subject}: {type(error).__name__}: {error}")
        self.stage = stage
        self.subject = subject
        self.error = error


@contextmanager
def stage(name: str, subject: str) -> Iterator[None]:
    """What fails in here is a :class:`CompilerBug` of this stage, unless it is the user's mistake."""
    try:
        yield
    except (SpecError, UserError, CompilerBug):
        raise
    except Exception as error:
        raise CompilerBug(name, subject, error) from error
