"""The numbers of SymPy expressions at a point, to 30 digits, each subexpression once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import sympy
from sympy import Basic

from energyc.studies.symbolic.held import batch_mean, batch_median, detach, frozen

mpmath.mp.dps = 30

Point = Mapping[Basic, Any]


def _heaviside(u: Any, middle: Any) -> Any:
    return middle if u == 0 else mpmath.mpf(u > 0)


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
    sympy.Mod: operator.mod,
    sympy.floor: mpmath.floor,
    sympy.Eq: operator.eq,
    sympy.Ne: operator.ne,
    sympy.Gt: operator.gt,
    sympy.Ge: operator.ge,
    sympy.Lt: operator.lt,
    sympy.Le: operator.le,
    sympy.And: lambda *parts: all(parts),
    sympy.Or: lambda *parts: any(parts),
    sympy.Not: operator.not_,
    **{held: lambda u: u for held in (frozen, detach, batch_mean, batch_median)},  # of one sample
}


class Numbers:
    """Evaluates expressions at a point, which gives the entries of tensors and the consts."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self._known: dict[Basic, Any] = dict(point)
        self._reads: dict[Basic, frozenset[Basic]] = {}

    def __call__(self, expr: Basic) -> Any:
        """The number, or truth value, of an expression."""
        if expr not in self._known:
            self._known[expr] = self._computed(expr)
        return self._known[expr]

    def slope(self, expr: Basic, by: Basic, *, thawed: bool = True) -> Any:
        """The derivative by an entry, by SymPy, of the expression in which all other entries are numbers.

        What is frozen is constant unless it is ``thawed``.
        """
        if by not in self._entries(expr):
            return mpmath.mpf(0)
        return Numbers({by: self.point[by]})(sympy.diff(self._along(expr, by, thawed, {}), by))

    def _along(self, expr: Basic, by: Basic, thawed: bool, known: dict[Basic, Basic]) -> Basic:
        if expr not in known:
            if expr == by:
                known[expr] = expr
            elif by not in self._entries(expr):
                known[expr] = self._constant(expr)
            else:
                args = [self._along(arg, by, thawed, known) for arg in expr.args]
                known[expr] = args[0] if thawed and isinstance(expr, frozen) else expr.func(*args)
        return known[expr]

    def _constant(self, expr: Basic) -> Basic:
        if isinstance(expr, sympy.Rational) or expr in (sympy.true, sympy.false):
            return expr
        if isinstance(expr, sympy.functions.elementary.piecewise.ExprCondPair):
            return expr.func(self._constant(expr.args[0]), self._constant(expr.args[1]))
        value = self(expr)
        return sympy.sympify(value) if isinstance(value, bool) else sympy.Float(value, 30)

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
        if expr in (sympy.true, sympy.false):
            return bool(expr)
        if isinstance(expr, sympy.NumberSymbol):
            return expr.evalf(30)._to_mpmath(120)
        if isinstance(expr, sympy.Piecewise):
            return next(self(value) for value, condition in expr.args if self(condition))
        return OPERATIONS[type(expr)](*map(self, expr.args))


def entries(value: Any) -> list[Any]:
    """The entries of a scalar, a matrix or an array, in the order of the axes."""
    return list(value) if isinstance(value, sympy.MatrixBase) else list(sympy.flatten(value)) if hasattr(value, "shape") else [value]


def exact(array: np.ndarray) -> list[Any]:
    """Entries as numbers of 30 digits."""
    return [mpmath.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpmath.mpf(float(x)) for x in array.ravel()]
