"""What numbers do at run time: an overflow or a singular system is no internal error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from energyc.diagnostics.model import UserError

#: How torch, LAPACK and Python word it; they share no class of exception.
_OF_NUMBERS = re.compile(
    r"overflow|not finite|non-finite|singular|ill-conditioned|failed to converge|\bnan\b|math domain", re.I
)
_HELP = "look for a setting or a weight that is too large, or a term whose slope is infinite there (sqrt or log at 0)"


@contextmanager
def arithmetic(doing: str, help_text: str = _HELP) -> Iterator[None]:
    """Turn a failure of arithmetic into a UserError E0515: what was being done, and what was not finite.

    Other errors pass: a shape that does not fit is a bug, and is to be seen as one.
    """
    try:
        yield
    except (ArithmeticError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if not isinstance(error, ArithmeticError) and not _OF_NUMBERS.search(reason):
            raise
        raise UserError(f"{doing} failed on numbers: {reason}", code="E0515", help=help_text) from error
