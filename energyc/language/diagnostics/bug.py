"""Internal errors, as opposed to mistakes of the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from energyc.language.diagnostics.memory import is_out_of_memory
from energyc.language.diagnostics.model import UserError
from energyc.language.diagnostics.spec_error import SpecError


class CompilerBug(Exception):
    """An internal error: the stage that failed and what was being compiled."""

    def __init__(self, stage: str, subject: str, error: Exception) -> None:
        super().__init__(f"{stage} of {subject}: {type(error).__name__}: {error}")
        self.stage = stage
        self.subject = subject
        self.error = error


@contextmanager
def stage(name: str, subject: str, *answers: type[Exception]) -> Iterator[None]:
    """Turn exceptions into a :class:`CompilerBug` of this stage.

    Mistakes of the user, a lack of memory and the ``answers`` of the stage pass.
    """
    expected: tuple[type[Exception], ...] = (SpecError, UserError, CompilerBug, *answers)
    try:
        yield
    except expected:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise CompilerBug(name, subject, error) from error
