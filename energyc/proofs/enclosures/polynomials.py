"""Ranges of polynomials in one quantity: the slope of a sigmoid, s - s^2, is never negative and at most 1/4."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from energyc.mathematics.ir import Add, Einsum, Node, nearest
from energyc.proofs.enclosures.ranges import SLACK, Range, widened


def polynomial(node: Add) -> tuple[Node, dict[int, Fraction]] | None:
    """The node u and the coefficient of each power of a sum that is a polynomial in u; None for any other sum."""
    found: dict[int, Fraction] = defaultdict(Fraction)
    inside: Node | None = None
    for factor, term in node.terms:
        operands = [(term, tuple(range(len(term.dims))))]
        if isinstance(term, Einsum):
            factor, operands = factor * term.coefficient, [(o.node, o.axes) for o in term.operands]
            if term.contracted or any(axes != term.out for _, axes in operands):
                return None
        if factor.powers or len({n for n, _ in operands} | ({inside} if inside and operands else set())) > 1:
            return None
        inside = operands[0][0] if operands else inside
        found[len(operands)] += factor.value
    return None if inside is None else (inside, dict(found))


def range_of(coefficients: Mapping[int, Fraction], u: Range) -> Range | None:
    """The range of a polynomial over a finite range: its values at the ends and where it turns.

    None where these may be beyond the floats.
    """
    if not u.finite:
        return None
    degree = max(coefficients)
    floats = [nearest(coefficients.get(k, Fraction(0))) for k in range(degree, -1, -1)]
    largest = nearest(sum((abs(c) * Fraction(u.size) ** k for k, c in coefficients.items()), Fraction(0)))
    if not all(map(math.isfinite, (*floats, largest))):
        return None
    turns = [float(r.real) for r in np.roots(np.polyder(floats)) if u.low < r.real < u.high]
    ends = [
        nearest(sum((c * Fraction(end) ** k for k, c in coefficients.items()), Fraction(0))) for end in (u.low, u.high)
    ]
    within = [float(np.polyval(floats, turn)) + off for turn in turns for off in (-SLACK * largest, SLACK * largest)]
    return widened(min(ends + within), max(ends + within))
