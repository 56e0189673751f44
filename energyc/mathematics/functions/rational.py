"""Rational functions of the argument and its size."""

from __future__ import annotations

from energyc.mathematics.expressions import U, call
from energyc.mathematics.functions.entry import ScalarFunction

ABS = call("abs")

FUNCTIONS = (
    ScalarFunction(
        name="softsign",
        formula=U / (1 + ABS),
        derivative=(1 + ABS) ** -2,  # far out the quotient rule is a difference of nearly equal numbers
        antiderivative=ABS - call("log", 1 + ABS),
        nameable=True,
        yields=True,
        low=-1.0,
        high=1.0,
        monotone=1,
        positive="right",
    ),
)
