"""Equations with the absolute value of what is linear in an element: what they are solved for satisfies them."""

from __future__ import annotations

import numpy as np
import pytest

from energyc.checker.algebra import Atom, Poly, exchanged, function, limited, lone, number, solved
from tests.drawing import SEED, draws

ELEMENTS = [lone(Atom("element", name)) for name in "xyz"]


def absolute(inner: Poly) -> Poly:
    return inner * function("sign", inner)


@pytest.mark.parametrize("draw", range(draws(20)))
def test_solutions_satisfy_the_equation(draw: int) -> None:
    """Whichever of ``u`` and ``-u`` the sign is of, which the order of hashes decides."""
    random = np.random.default_rng([SEED, draw])
    factors = [int(random.choice([-3, -2, -1, 1, 2, 3])) for _ in ELEMENTS]
    inner = sum((each.scaled(by) for each, by in zip(ELEMENTS, factors, strict=True)), number(0))
    equation = absolute(inner) - number(int(random.integers(1, 5)))
    for side in (inner, inner.scaled(-1)):
        with limited():
            ways = [*solved(absolute(side) - (absolute(inner) - equation))]
        assert {atom.name for way in ways for atom, _ in way} == {"sign", "x", "y", "z"}
        for way in ways:
            left = equation
            for atom, value in way:
                left = exchanged(left, atom, value)
            assert not left, f"{factors}: {way}"
