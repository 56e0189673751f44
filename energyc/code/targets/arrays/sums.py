"""Sums: terms with their exact factors, in the order in which they are best added up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from energyc.code.targets.arrays.code import Code, scaled
from energyc.code.tree.expressions import Binary, Expr, number


@dataclass(frozen=True)
class Term:
    """``factor * code``; a term that is a number has no code. ``axes``: those that its tensor has at full size."""

    factor: float
    code: Code | None
    axes: frozenset[int] = frozenset()

    @property
    def signed(self) -> Code:
        """The term with its sign."""
        if self.code is None:
            return Code(number(self.factor))
        return scaled(self.factor, self.code)

    @property
    def unsigned(self) -> Code:
        """The term without its sign."""
        return replace(self, factor=abs(self.factor)).signed


def full_axes(terms: Iterable[Term]) -> frozenset[int]:
    """The axes that the terms, broadcast against each other, have at their full size."""
    return frozenset().union(*(term.axes for term in terms))


def like_terms_collected(terms: Sequence[Term]) -> list[Term]:
    """Equal terms as one, in order: one at full size first, and positive; numbers last.

    What cancels is left out, unless the others would be smaller without it.
    """
    alike: dict[Expr | None, Term] = {}
    for term in terms:
        key = term.code.expr if term.code else None
        alike[key] = replace(alike[key], factor=alike[key].factor + term.factor) if key in alike else term
    nonzero = [term for term in alike.values() if term.factor]
    if not nonzero or full_axes(nonzero) != full_axes(terms):
        nonzero = list(alike.values())
    size = len(full_axes(terms))

    def rank(term: Term) -> tuple[bool, bool, bool]:
        return term.code is None, len(term.axes) < size, term.factor < 0

    return sorted(nonzero, key=rank)


def sum_of_terms(terms: Sequence[Term]) -> Code:
    """``a + b - c``."""
    first, *rest = terms
    if not rest:
        return first.signed
    start = first.signed
    whole = start.expr
    for term in rest:
        whole = Binary("-" if term.factor < 0 else "+", whole, term.unsigned.expr)
    return type(start)(whole)
