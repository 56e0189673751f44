"""Formulas of numbers, dims and consts: exact where they are rational, in floating point elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import NoReturn

from energyc.language.diagnostics import Span
from energyc.language.resolve.reporter import Reporter, did_you_mean, listed
from energyc.language.syntax import ast

Real = Fraction | float

_FUNCTIONS: Mapping[str, Callable[[float], float]] = MappingProxyType(
    {
        "exp": math.exp,
        "log": math.log,
        "sqrt": math.sqrt,
        "abs": abs,
        "tanh": math.tanh,
        "sin": math.sin,
        "cos": math.cos,
    }
)
#: A power stays exact up to this exponent and this many bits.
_LARGEST_EXPONENT, _LONGEST_POWER = 1024, 4096


class Unknown(Exception):
    """A formula without a value; the mistake was reported."""


@dataclass(frozen=True)
class Formulas:
    """Evaluates formulas.

    ``symbol`` gives the value of a dim or const, ``data_size`` a size of data; both raise Unknown.
    """

    reporter: Reporter
    symbol: Callable[[ast.Name], Real]
    data_size: Callable[[ast.Field], Real]

    def value(self, expr: ast.Expr, *, integral: bool = False) -> Real:
        """The value of a formula; ``integral`` forbids divisions with a remainder.

        Raises Unknown where it has none.
        """
        match expr:
            case ast.Number(value=value):
                return value
            case ast.Unary(op="-", operand=operand):
                return -self.value(operand, integral=integral)
            case ast.Binary(op=op) if op in "+-*/^":
                return self._chain(expr, integral)
            case ast.Apply(slots=None, arguments=None, prime=False, name=name):
                return self.symbol(name)
            case ast.Apply(slots=None, arguments=(ast.Argument(keyword=None, value=inner),), prime=False, name=name):
                return self._call(name, self.value(inner, integral=integral), expr.span)
            case ast.Field():
                return self.data_size(expr)
        self._fail("E0213", "a formula of dims or consts holds only numbers, dims, consts and + - * / ^", expr.span)

    def _chain(self, expr: ast.Expr, integral: bool) -> Real:
        """A left-leaning chain of operations, however long, without recursion along it."""
        pending: list[ast.Binary] = []
        while isinstance(expr, ast.Binary) and expr.op in "+-*/^":
            pending.append(expr)
            expr = expr.left
        total = self.value(expr, integral=integral)
        for binary in reversed(pending):
            total = self._operation(binary, total, self.value(binary.right, integral=integral), integral)
        return total

    def _operation(self, binary: ast.Binary, a: Real, b: Real, integral: bool) -> Real:
        shown = f"{decimal(a)} {binary.op} {decimal(b)}"
        try:
            result = _arithmetic(binary.op, a, b)
        except (ZeroDivisionError, OverflowError, ValueError):
            self._fail("E0213", f"{shown} is undefined", binary.span)
        if integral and binary.op == "/" and isinstance(result, Fraction) and result.denominator != 1:
            message = f"{decimal(a)} is not divisible by {decimal(b)}"
            help = "a division in a dim must be exact"
            self._fail("E0212", message, binary.span, f"this is {shown}", help)
        return result

    def _call(self, name: ast.Name, argument: Real, span: Span) -> Real:
        if name.text not in _FUNCTIONS:
            help = did_you_mean(name.text, _FUNCTIONS, f"consts have {listed(_FUNCTIONS)}", name.span)
            self._fail("E0206", f"there is no function `{name.text}` of consts", name.span, help=help)
        if name.text == "abs":
            return argument if argument >= 0 else -argument
        try:
            return _exact_root(name.text, argument) or float(_FUNCTIONS[name.text](float(argument)))
        except (ValueError, OverflowError):
            self._fail("E0213", f"{name.text}({decimal(argument)}) is undefined", span)

    def _fail(self, code: str, message: str, span: Span, text: str = "", help: str | None = None) -> NoReturn:
        self.reporter.error(code, message, span, text, help=help)
        raise Unknown


def _exact_root(function: str, argument: Real) -> Fraction | None:
    """The root of the square of a fraction; None for any other number or function."""
    if function != "sqrt" or not isinstance(argument, Fraction) or argument <= 0:
        return None
    root = Fraction(math.isqrt(argument.numerator), math.isqrt(argument.denominator))
    return root if root * root == argument else None


def _arithmetic(op: str, a: Real, b: Real) -> Real:
    exact = isinstance(a, Fraction) and isinstance(b, Fraction)
    if not exact:
        a, b = float(a), float(b)
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / b
    return _power(a, b)


def _power(a: Real, b: Real) -> Real:
    if isinstance(a, Fraction) and isinstance(b, Fraction) and _is_short_power(a, b):
        return a ** int(b)
    result = float(a) ** float(b)
    if isinstance(result, complex):
        raise ValueError
    return float(result)


def _is_short_power(a: Fraction, b: Fraction) -> bool:
    """Whether a power of two fractions is a fraction that is not too long to write out."""
    bits = max(a.numerator.bit_length(), a.denominator.bit_length())
    return b.denominator == 1 and abs(b) <= _LARGEST_EXPONENT and bits * abs(b) <= _LONGEST_POWER


def decimal(value: Real) -> str:
    """A number as a message shows it."""
    if isinstance(value, Fraction) and value.denominator == 1 and abs(value) < 10**18:
        return str(value)
    try:
        return f"{float(value):g}"
    except OverflowError:
        return "beyond floating point"


def names_in(expr: ast.Expr) -> tuple[str, ...]:
    """The dims, consts and sizes of data (``text.vocabulary``) that a formula names, each once, in order."""
    names: dict[str, None] = {}
    for tree in ast.walk(expr):
        match tree:
            case ast.Apply(name=name, arguments=None):
                names[name.text] = None
            case ast.Field(owner=owner, field=field):
                names[f"{owner.text}.{field.text}"] = None
    return tuple(names)
