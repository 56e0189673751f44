"""What to say of a mistake."""

from __future__ import annotations

from energyc.diagnostics import Diagnostic
from energyc.syntax.failure import Failure


def explain(failure: Failure) -> Diagnostic:
    """One diagnostic for the place where the parser stopped."""
    return Diagnostic("E0100", "unexpected", failure.span)
