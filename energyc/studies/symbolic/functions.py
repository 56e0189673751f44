"""The SymPy form of each scalar function, in functions that SymPy itself knows, so that it can simplify and evaluate.

The forms here stand beside the table of :mod:`energyc.mathematics.functions` and are written without it: where SymPy
differentiates one, the table's derivative is judged by something else. A function that has none takes the form that
follows from its formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

import sympy
from sympy import Expr, Heaviside, Integer, Max, Rational, erf, exp, log, pi, polylog, sqrt, tanh

from energyc.mathematics.expressions import Constant, Evaluation, Power
from energyc.mathematics.functions import FUNCTIONS
from energyc.mathematics.ir import Function

Form = Callable[[Expr], Expr]

HALF = Rational(1, 2)
CUBIC = Rational(44715, 1000000)


def rational(number: Fraction | int) -> Rational:
    """An exact number."""
    exact = Fraction(number)
    return Rational(exact.numerator, exact.denominator)


def _sigmoid(u: Expr) -> Expr:
    return 1 / (1 + exp(-u))


def _gauss(u: Expr) -> Expr:
    return exp(-(u**2) / 2) / sqrt(2 * pi)


def _cumulative(u: Expr) -> Expr:
    return (1 + erf(u / sqrt(2))) / 2


def _core(u: Expr) -> Expr:
    return tanh(sqrt(2 / pi) * (u + CUBIC * u**3))


def _core_slope(u: Expr) -> Expr:
    return sqrt(2 / pi) * (1 + 3 * CUBIC * u**2)


#: By the name of the entry. ``Heaviside(u, h)`` is h at 0. What would ask for the sign of ``u`` is not evaluated: SymPy
#: searches long expressions for it.
FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "exp": exp,
        "log": log,
        "sqrt": sqrt,
        "sin": sympy.sin,
        "cos": sympy.cos,
        "tanh": tanh,
        "erf": erf,
        "relu": lambda u: Max(Integer(0), u, evaluate=False),
        "step": lambda u: Heaviside(u, Integer(0), evaluate=False),
        "above": lambda u: Heaviside(u, Integer(0), evaluate=False),
        "reached": lambda u: Heaviside(u, Integer(1), evaluate=False),
        "abs": sympy.Abs,
        "sign": sympy.sign,
        "sigmoid": _sigmoid,
        "softplus": lambda u: log(1 + exp(u)),
        "logsigmoid": lambda u: -log(1 + exp(-u)),
        "silu": lambda u: u * _sigmoid(u),
        "silu_slope": lambda u: _sigmoid(u) * (1 + u * _sigmoid(-u)),
        "silu_integral": lambda u: u * log(1 + exp(u)) + polylog(2, -exp(u), evaluate=False),
        "erf_slope": lambda u: 2 / sqrt(pi) * exp(-(u**2)),
        "gauss": _gauss,
        "cumulative": _cumulative,
        "gelu": lambda u: u * _cumulative(u),
        "gelu_slope": lambda u: _cumulative(u) + u * _gauss(u),
        "gelu_tanh_core": _core,
        "gelu_tanh_scale": lambda u: sqrt(2 / pi) * u,
        "gelu_tanh": lambda u: u * (1 + _core(u)) / 2,
        "gelu_tanh_slope": lambda u: (1 + _core(u) + u * (1 - _core(u) ** 2) * _core_slope(u)) / 2,
    }
)
#: The forms that write their argument more than once.
REPEATING = frozenset({"silu", "silu_slope", "silu_integral", "gelu", "gelu_slope", "gelu_tanh", "gelu_tanh_slope"})


def applied(function: Function, u: Expr) -> Expr:
    """A function of the table at ``u``. Raises KeyError for one that has neither a form here nor a formula."""
    return u ** rational(function.exponent) if function.exponent is not None else _named(function.name, u)


def repeats(function: Function) -> bool:
    """Whether the form of a function writes its argument more than once."""
    return function.name in REPEATING or (function.exponent is None and function.name not in FORMS)


def _named(name: str, u: Expr) -> Expr:
    if name in FORMS:
        return FORMS[name](u)
    formula = FUNCTIONS[name].formula
    if formula is None:
        raise KeyError(name)
    return _InSymPy(u)(formula)


class _InSymPy(Evaluation[Expr]):
    """The formula of an entry of the table as an expression of SymPy."""

    def number(self, value: Fraction | int) -> Expr:
        return rational(value)

    def constant(self, node: Constant) -> Expr:
        return getattr(sympy, node.name, sympy.Float(node.value))

    def quotient(self, over: Expr, under: Expr) -> Expr:
        return over / under

    def power(self, base: Expr, node: Power) -> Expr:
        return base ** rational(node.exponent)

    def called(self, function: str, argument: Expr) -> Expr:
        return _named(function, argument)

    def chosen(self, relation: str, left: Expr, right: Expr, if_true: Expr, if_false: Expr) -> Expr:
        difference = right - left if relation in ("<", "<=") else left - right
        holds = Heaviside(difference, Integer(int(relation in ("<=", ">="))), evaluate=False)
        return holds * if_true + (1 - holds) * if_false
