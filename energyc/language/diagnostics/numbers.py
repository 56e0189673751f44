"""Numerical failures at run time: an overflow or a singular system is not an internal error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from energyc.language.diagnostics.model import UserError
from energyc.language.diagnostics.near import listed

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
