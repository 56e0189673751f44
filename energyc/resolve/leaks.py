"""A softmax whose guard lets in what the sum around it keeps out."""

from __future__ import annotations

from energyc.resolve.context import Context
from energyc.resolve.terms import Frame, Term


def check_leaks(context: Context, frame: Frame, term: Term) -> None:
    """Placeholder until softmaxes are followed through lets."""
