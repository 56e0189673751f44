"""Integer expressions of index conditions as linear forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from energyc.mathematics.ir import IndexExpr, Input

Key = tuple[Any, ...]
#: An integer plus integer multiples of atoms (axes, sizes, reads).
Linear = tuple[int, tuple[tuple[Key, int], ...]]


def linear(expr: IndexExpr, names: Sequence[int]) -> Linear:
    """An integer expression as a linear form, whose atoms are its nonlinear parts."""
    match expr.op:
        case "axis":
            return _atom(("axis", names[expr.args[0]]))  # type: ignore[index]
        case "int":
            return (expr.args[0], ())  # type: ignore[return-value]
        case "size":
            return _atom(("size", expr.args[0]))
        case "read":
            return _atom(("read", _name(expr), *(linear(part, names) for part in expr.parts)))
        case "neg":
            return _times(linear(expr.parts[0], names), -1)
    parts = [linear(part, names) for part in expr.parts]
    match expr.op:
        case "+":
            return _plus(*parts)
        case "-":
            return _minus(*parts)
        case "*":
            return _product(*parts)
        case "abs":
            inner = parts[0]
            return _atom(("abs", min(inner, _times(inner, -1), key=repr)))
    return _atom((expr.op, *parts))


def _name(expr: IndexExpr) -> str:
    source = expr.args[0]
    assert isinstance(source, Input)
    return f"{source.kind} {source.name}"


def _atom(key: Key) -> Linear:
    return 0, ((key, 1),)


def _product(a: Linear, b: Linear) -> Linear:
    if not a[1]:
        return _times(b, a[0])
    if not b[1]:
        return _times(a, b[0])
    return _atom(("*", *sorted((a, b), key=repr)))


def _times(form: Linear, factor: int) -> Linear:
    return form[0] * factor, tuple((k, c * factor) for k, c in form[1] if factor)


def _plus(a: Linear, b: Linear) -> Linear:
    terms = dict(a[1])
    for k, c in b[1]:
        terms[k] = terms.get(k, 0) + c
    return a[0] + b[0], tuple(sorted(((k, c) for k, c in terms.items() if c), key=repr))


def _minus(a: Linear, b: Linear) -> Linear:
    return _plus(a, _times(b, -1))
