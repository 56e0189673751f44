"""Definitions evaluated in NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from energyc.mathematics.expressions import Constant, Evaluation, Expression, Power
from energyc.mathematics.functions.entry import Array
from energyc.mathematics.functions.power import power_value

#: The value of a function of the table by its name.
Values = Callable[[str], Callable[[Array], Array]]
RELATIONS: Mapping[str, Callable[[Array, Array], Array]] = MappingProxyType(
    {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq}
)


class InFloats(Evaluation[Array]):
    """Values in float64, or their analytic continuation, in which conditions are on real parts."""

    task = "a value in floats"

    def __init__(self, argument: Array, values: Values) -> None:
        super().__init__(argument)
        self.values = values

    def number(self, value: object) -> Array:
        return np.asarray(float(value))  # type: ignore[arg-type]

    def constant(self, node: Constant) -> Array:
        return np.asarray(node.value)

    def quotient(self, over: Array, under: Array) -> Array:
        return np.asarray(over / under)

    def power(self, base: Array, node: Power) -> Array:
        return np.asarray(power_value(base, node.exponent))

    def called(self, function: str, argument: Array) -> Array:
        return self.values(function)(argument)

    def chosen(self, relation: str, left: Array, right: Array, if_true: Array, if_false: Array) -> Array:
        return np.where(RELATIONS[relation](left.real, right.real), if_true, if_false)


def value_by(formula: Expression, values: Values) -> Callable[[Array], Array]:
    """The function that a formula defines."""

    def value(u: Array) -> Array:
        result = InFloats(np.asarray(u), values)(formula)
        return np.broadcast_to(result, np.shape(u)) if np.shape(result) != np.shape(u) else result

    return value
