"""Index expressions as integers and conditions of SymPy; what is known as a number stays a Python integer."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import sympy
from sympy import And, Eq, Expr, Ge, Gt, Heaviside, KroneckerDelta, Le, Lt, Mul, Ne, Not, Or

from energyc.mathematics.ir import IndexExpr, Input

#: A place along an axis: a number or a symbolic integer. A condition is a bool or a Boolean of SymPy.
Place = Any
Places = tuple[Place, ...]
Condition = Any


def _equal(a: Place, b: Place) -> Condition:
    return a == b if isinstance(a, int) and isinstance(b, int) else sympy.Eq(a, b)


def _unequal(a: Place, b: Place) -> Condition:
    return a != b if isinstance(a, int) and isinstance(b, int) else sympy.Ne(a, b)


#: What each operation of an index expression means; ``//`` and ``%`` round down in SymPy too.
OPERATIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "neg": operator.neg,
        "abs": abs,
        "floor_div": operator.floordiv,
        "mod": operator.mod,
        "==": _equal,
        "!=": _unequal,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "and": lambda *parts: both(parts),
        "or": lambda *parts: sympy.Or(*parts),
        "not": lambda part: sympy.Not(part),
    }
)


def both(parts: Sequence[Condition]) -> Condition:
    """All of some conditions; of those that are known, without SymPy."""
    return all(parts) if all(isinstance(part, bool) for part in parts) else sympy.And(*parts)


def bracket(condition: Condition) -> Expr:
    """1 where a condition on integers holds, else 0, as an expression."""
    match condition:
        case Eq(args=(a, b)):
            return KroneckerDelta(a, b)
        case Lt(args=(a, b)) | Gt(args=(b, a)):
            return Heaviside(b - a, 0)
        case Le(args=(a, b)) | Ge(args=(b, a)):
            return Heaviside(b - a, 1)
        case Ne(args=(a, b)):
            return 1 - KroneckerDelta(a, b)
        case And():
            return Mul(*map(bracket, condition.args))
        case Or():
            return 1 - Mul(*(1 - bracket(part) for part in condition.args))
        case Not(args=(part,)):
            return 1 - bracket(part)
    raise TypeError(f"{condition!r} is not a condition on integers")


def index(
    expr: IndexExpr,
    places: Mapping[int, Place],
    size: Callable[[str], Place],
    read: Callable[[Input, Places], Place],
) -> Any:
    """An integer or a condition, where axis k stands at ``places[k]``; ``read`` gives what an integer input holds."""
    match expr.op, expr.args:
        case "axis", (int(k),):
            return places[k]
        case "int", (n,):
            return n
        case "size", (str(dim),):
            return size(dim)
        case "true", _:
            return True
        case ("read" | "related") as op, (Input() as source, *_):
            element = read(source, tuple(index(part, places, size, read) for part in expr.parts))
            return element if op == "read" else _unequal(element, 0)
    return OPERATIONS[expr.op](*(index(part, places, size, read) for part in expr.parts))
