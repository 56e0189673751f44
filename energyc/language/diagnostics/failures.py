"""Failures: a spec with errors, an internal error, memory that runs out, arithmetic that overflows."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from energyc.language.diagnostics.model import Diagnostic, UserError
from energyc.language.diagnostics.near import listed
from energyc.language.diagnostics.render import render_text, summary
from energyc.language.diagnostics.source import Source

#: How torch words it, whose allocators of the CPU raise a plain RuntimeError.
_OF_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory|bad_alloc", re.IGNORECASE)
_OUT_OF_MEMORY = "free some memory, or use less: a smaller train.batch, smaller dims, fewer samples at once"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of the system, Python, NumPy or torch says that memory could not be allocated."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and bool(_OF_MEMORY.search(str(error))))


def out_of_memory(error: BaseException) -> UserError:
    """The error E0916 for an exception that says that memory could not be allocated."""
    said = str(error).splitlines()[0] if str(error) else ""
    return UserError(f"there is not enough memory{said and f': {said}'}", code="E0916", help=_OUT_OF_MEMORY)


class SpecError(Exception):
    """A spec with errors (exit status 1). Its text is what ``energyc check`` prints: place, caret and help of each.

    ``diagnostics`` are all of them, and ``source`` is the spec they are of.
    """

    def __init__(self, source: Source, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.source = source
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        return f"{summary(self.diagnostics)}\n\n{render_text(self.diagnostics, self.source)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.source, self.diagnostics)


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


#: How torch, LAPACK and Python word it; they share no class of exception.
_OF_NUMBERS = re.compile(
    r"overflow|not finite|non-finite|singular|ill-conditioned|failed to converge|solve stopped|\bnan\b|math domain",
    re.IGNORECASE,
)
_HELP = "look for a setting or a weight that is too large, or a term whose slope is infinite there (sqrt or log at 0)"


@contextmanager
def arithmetic(
    doing: str, settings: Sequence[str] = (), find_cause: Callable[[], str | None] = lambda: None
) -> Iterator[None]:
    """Turn a failure of arithmetic into a UserError E0515: what was being done, and what was not finite.

    Its help names ``settings`` with extreme values if there are any, or else what ``find_cause`` finds.
    Other errors pass: a shape that does not fit is a bug, and is to be seen as one.
    """
    try:
        yield
    except (ArithmeticError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if not isinstance(error, ArithmeticError) and not _OF_NUMBERS.search(reason):
            raise
        raise UserError(
            f"{doing} failed on numbers: {reason}", code="E0515", help=_help(settings, find_cause)
        ) from error


def _help(settings: Sequence[str], find_cause: Callable[[], str | None]) -> str:
    if settings:
        return (
            f"look at {listed(settings)}: {'a value' if len(settings) == 1 else 'values'} so extreme may be the cause"
        )
    return find_cause() or _HELP
