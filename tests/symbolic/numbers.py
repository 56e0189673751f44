"""The numbers of SymPy expressions at a point, to 30 digits, each subexpression once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import mpmath
import sympy
from sympy import Basic

from energyc.studies.symbolic.held import batch_mean, batch_median, detach, frozen

mpmath.mp.dps = 30

Point = Mapping[Basic, Any]


def _heaviside(u: Any, middle: Any) -> Any:
    return middle if u == 0 else mpmath.mpf(int(u > 0))


def _power(base: Any, exponent: Any) -> Any:
    return mpmath.power(base, exponent) if base != 0 or exponent >= 0 else mpmath.inf


OPERATIONS: Mapping[type, Callable[..., Any]] = {
    sympy.Add: lambda *terms: mpmath.fsum(terms),
    sympy.Mul: lambda *factors: mpmath.fprod(factors),
    sympy.Pow: _power,
    sympy.exp: mpmath.exp,
    sympy.log: mpmath.log,
    sympy.sin: mpmath.sin,
    sympy.cos: mpmath.cos,
    sympy.tanh: mpmath.tanh,
    sympy.erf: mpmath.erf,
    sympy.polylog: mpmath.polylog,
    sympy.Max: max,
    sympy.Abs: abs,
    sympy.sign: mpmath.sign,
    sympy.Heaviside: _heaviside,
    sympy.DiracDelta: lambda *_: mpmath.mpf(0),
    sympy.KroneckerDelta: lambda a, b: mpmath.mpf(int(a == b)),
    sympy.Mod: operator.mod,
    sympy.floor: mpmath.floor,
    **{held: lambda u: u for held in (frozen, detach, batch_mean, batch_median)},  # of one sample
}


class Numbers:
    """Evaluates expressions at a point, which gives the entries of tensors and the consts."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self._known: dict[Basic, Any] = dict(point)
        self._reads: dict[Basic, frozenset[Basic]] = {}

    def __call__(self, expr: Basic) -> Any:
        """The number of an expression."""
        if expr not in self._known:
            self._known[expr] = self._computed(expr)
        return self._known[expr]

    def slope(self, expr: Basic, by: Basic, *, thawed: bool = True) -> Any:
        """The derivative by an entry: each operation is differentiated by SymPy, the chain rule joins them.

        ``sympy.diff`` of the whole would derive again and again what an expression holds many times. What is frozen is
        constant unless it is ``thawed``.
        """
        known: dict[Basic, Any] = {by: mpmath.mpf(1)}

        def slope(part: Any) -> Any:
            if part not in known:
                known[part] = computed(part) if by in self._entries(part) else mpmath.mpf(0)
            return known[part]

        def computed(part: Any) -> Any:
            if thawed and isinstance(part, frozen):
                return slope(part.args[0])
            values = tuple(None if arg.is_number else self(arg) for arg in part.args)
            moving = [k for k, arg in enumerate(part.args) if by in self._entries(arg)]
            return mpmath.fsum(partial(part, k, values) * slope(part.args[k]) for k in moving)

        return slope(expr)

    def _entries(self, expr: Basic) -> frozenset[Basic]:
        """The entries that an expression reads."""
        if expr not in self._reads:
            inside = expr in self.point
            self._reads[expr] = frozenset([expr]) if inside else frozenset().union(*map(self._entries, expr.args))
        return self._reads[expr]

    def _computed(self, expr: Any) -> Any:
        if isinstance(expr, sympy.Rational):
            return mpmath.mpf(expr.p) / expr.q
        if isinstance(expr, sympy.Float):
            return expr._to_mpmath(120)
        if isinstance(expr, sympy.NumberSymbol):
            return expr.evalf(30)._to_mpmath(120)
        return OPERATIONS[type(expr)](*map(self, expr.args))


def partial(expr: Any, k: int, values: tuple[Any, ...]) -> Any:
    """The derivative of one operation by its k-th argument, at the values of those that are no numbers."""
    fixed = tuple(arg if value is None else None for arg, value in zip(expr.args, values, strict=True))
    arguments, derived = _derived(expr.func, fixed, k)
    return Numbers({a: v for a, v in zip(arguments, values, strict=True) if v is not None})(derived)


@cache
def _derived(operation: Any, fixed: tuple[Any, ...], k: int) -> tuple[list[Any], Any]:
    """An operation of fresh symbols, where no number is ``fixed``, differentiated by SymPy."""
    arguments = [sympy.Symbol(f"u{j}", real=True) if arg is None else arg for j, arg in enumerate(fixed)]
    return arguments, sympy.diff(operation(*arguments), arguments[k])


def entries(value: Any) -> list[Any]:
    """The entries of a scalar, a matrix or an array, in the order of the axes."""
    if isinstance(value, sympy.MatrixBase):
        return list(value)
    return list(sympy.flatten(value)) if isinstance(value, sympy.NDimArray) else [value]
