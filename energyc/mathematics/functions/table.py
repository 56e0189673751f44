"""All functions by their names."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from energyc.mathematics.functions import elementary, gelu_tanh, logistic, normal, piecewise
from energyc.mathematics.functions.entry import ScalarFunction
from energyc.mathematics.functions.power import power

FAMILIES = (elementary, piecewise, logistic, normal, gelu_tanh)
FUNCTIONS: Mapping[str, ScalarFunction] = MappingProxyType(
    {function.name: function for family in FAMILIES for function in family.FUNCTIONS}
)


def scalar_function(name: str, exponent: Fraction | None = None) -> ScalarFunction:
    """A function of the table, or the power of an exponent. Raises KeyError for a name that is not there."""
    return FUNCTIONS[name] if exponent is None else power(exponent)
