"""A number as the spec writes it, by the names of sizes: ``0.25 / math.sqrt(J)``."""

from __future__ import annotations

import math
from fractions import Fraction
from operator import add, mul, sub, truediv

from energyc.code.module.symbols import Symbols
from energyc.code.tree.expressions import Binary, Expr, Name, call, number
from energyc.language.syntax import ast

#: The operators that are written as they are, and what they compute.
_OPERATORS = {"+": add, "-": sub, "*": mul, "/": truediv}
#: A value, and how it is written; a fraction is written when something else reads it.
Written = tuple[Fraction | float, Expr | None]


def scalar(value: float, formula: ast.Expr | None, symbols: Symbols) -> Expr:
    """Return a number by its formula, where that gives the very same number; else the number."""
    found = None if formula is None else _written(formula, symbols)
    return number(value) if found is None or found[1] is None or found[0] != value else found[1]


def _written(formula: ast.Expr, symbols: Symbols) -> Written | None:
    match formula:
        case ast.Number(value=value):
            return value, None
        case ast.Binary(op=op, left=left, right=right) if op in _OPERATORS:
            return _operation(op, _written(left, symbols), _written(right, symbols))
        case ast.Apply(slots=None, arguments=None, prime=False, name=ast.Name(text=name)) if name in symbols.sizes:
            return float(symbols.sizes[name]), Name(symbols.name(name))
        case ast.Apply(slots=None, arguments=(argument,), prime=False, name=ast.Name(text="sqrt")):
            inner = _written(argument.value, symbols)
            return None if inner is None or inner[0] < 0 else (math.sqrt(inner[0]), call("math.sqrt", _text(inner)))
    return None


def _operation(op: str, left: Written | None, right: Written | None) -> Written | None:
    if left is None or right is None or (op == "/" and right[0] == 0):
        return None
    value = _OPERATORS[op](left[0], right[0])
    return value, None if isinstance(value, Fraction) else Binary(op, _text(left), _text(right))


def _text(written: Written) -> Expr:
    value, expr = written
    return number(float(value)) if expr is None else expr
