"""A normal form for index conditions, as linear forms compared with zero; most equivalent conditions share it."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

from energyc.mathematics.ir import IndexExpr, Input

Key = tuple[Any, ...]
TRUE: Key = ("true",)
FALSE: Key = ("false",)
#: An integer plus integer multiples of atoms (axes, sizes, reads).
Linear = tuple[int, tuple[tuple[Key, int], ...]]


def condition_key(expr: IndexExpr, names: Sequence[int]) -> Key:
    """The normal form of a condition, with axis k named ``names[k]``; ``TRUE`` or ``FALSE`` if it is constant."""
    match expr.op:
        case "true":
            return TRUE
        case "and" | "or":
            return _all_or_any(expr.op, [condition_key(part, names) for part in expr.parts])
        case "not":
            return negated(condition_key(expr.parts[0], names))
        case "related":
            return ("related", _name(expr), *(linear(part, names) for part in expr.parts))
    if expr.op not in ("==", "!=", "<", "<=", ">", ">="):
        return ("?", expr.op, *(condition_key(part, names) for part in expr.parts))
    left, right = (linear(part, names) for part in expr.parts)
    match expr.op:
        case "==":
            return _equality(_minus(left, right))
        case "!=":
            return negated(_equality(_minus(left, right)))
        case "<=":
            return _at_most_zero(_minus(left, right))
        case "<":
            return _at_most_zero(_plus(_minus(left, right), (1, ())))
        case ">=":
            return _at_most_zero(_minus(right, left))
    return _at_most_zero(_plus(_minus(right, left), (1, ())))


def negated(key: Key) -> Key:
    """The normal form of the negation."""
    match key:
        case ("true",):
            return FALSE
        case ("false",):
            return TRUE
        case ("not", inner):
            return inner
        case ("<=", form):
            return _at_most_zero(_plus(_times(form, -1), (1, ())))
        case ("and" | "or" as op, *parts):
            return _all_or_any("or" if op == "and" else "and", [negated(p) for p in parts])
    return ("not", key)


def _all_or_any(op: str, parts: Sequence[Key]) -> Key:
    unit, zero = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    flat = [p for part in parts for p in (part[1:] if part[0] == op else (part,))]
    operands = sorted({p for p in flat if p != unit}, key=repr)
    if zero in operands:
        return zero
    if not operands:
        return unit
    return operands[0] if len(operands) == 1 else (op, *operands)


def _equality(form: Linear) -> Key:
    constant, terms = form
    if not terms:
        return TRUE if constant == 0 else FALSE
    divisor = gcd(*(c for _, c in terms))
    if constant % divisor:
        return FALSE
    divisor = gcd(divisor, constant)
    sign = 1 if terms[0][1] > 0 else -1
    return ("==", _divided(form, sign * divisor))


def _at_most_zero(form: Linear) -> Key:
    constant, terms = form
    if not terms:
        return TRUE if constant <= 0 else FALSE
    return ("<=", _divided(form, gcd(constant, *(c for _, c in terms))))


def _divided(form: Linear, divisor: int) -> Linear:
    return form[0] // divisor, tuple((k, c // divisor) for k, c in form[1])


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


def negative(form: Linear) -> Linear:
    """Minus a linear form."""
    return _times(form, -1)


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
