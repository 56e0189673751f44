"""An expression in the spec's own notation, with no bracket that is not needed."""

from __future__ import annotations

from energyc.language.syntax import ast

_OR, _AND, _NOT, _COMPARE, _SUM, _TERM, _FACTOR, _POWER, _ATOM = range(9)
_LEVELS = {"or": _OR, "and": _AND, "+": _SUM, "-": _SUM, "*": _TERM, "/": _TERM, "^": _POWER}


def unparse(expr: ast.Expr) -> str:
    """The text of an expression; parsing it again gives the same tree but for the spans."""
    return _text(expr, _OR, tight=False)


def unparse_slots(slots: tuple[ast.Slot, ...], guard: ast.Expr | None = None) -> str:
    """A bracket of indices: ``[n,d]``, ``[c, stride*i + p]``, ``[m | m != n]``."""
    parts = [_text(slot.expr, _OR, tight=True) + (f" in {slot.dim.text}" if slot.dim else "") for slot in slots]
    comma = "," if all(_is_simple(slot.expr) and slot.dim is None for slot in slots) else ", "
    behind = f" | {unparse(guard)}" if guard is not None else ""
    return f"[{comma.join(parts)}{behind}]"


def _text(expr: ast.Expr, level: int, tight: bool) -> str:
    """``level`` is the loosest operator that needs no bracket; ``tight`` sets products without spaces."""
    own_level, text = _level_and_text(expr, tight)
    return text if own_level >= level else f"({text})"


def _level_and_text(expr: ast.Expr, tight: bool) -> tuple[int, str]:
    match expr:
        case ast.Number():
            return _ATOM, expr.text
        case ast.Apply():
            return _ATOM, _apply(expr)
        case ast.Field():
            bracket = "" if expr.slots is None else unparse_slots(expr.slots)
            return _ATOM, f"{expr.owner.text}.{expr.field.text}{bracket}"
        case ast.Unary(op="not"):
            return _NOT, f"not {_text(expr.operand, _NOT, tight)}"
        case ast.Unary():
            return _FACTOR, f"-{_text(expr.operand, _FACTOR, tight)}"
        case ast.Compare():
            return _COMPARE, _compare(expr, tight)
        case ast.Binary():
            return _LEVELS[expr.op], _binary(expr, tight)
    raise AssertionError(f"no expression: {expr!r}")


def _binary(expr: ast.Binary, tight: bool) -> str:
    level = _LEVELS[expr.op]
    if expr.op == "^":
        return f"{_text(expr.left, _ATOM, tight)}^{_text(expr.right, _FACTOR, tight)}"
    fraction = expr.op == "/" and _is_fraction(expr)
    left, right = _text(expr.left, level, tight), _text(expr.right, level + 1, tight or fraction)
    joined = (tight and expr.op in "*/") or fraction
    return f"{left}{expr.op}{right}" if joined else f"{left} {expr.op} {right}"


def _is_fraction(expr: ast.Binary) -> bool:
    """``1/2``, ``-1/beta``, ``c/2``, ``1/(2*v)``: read as one factor, and set as one."""
    left = expr.left.operand if isinstance(expr.left, ast.Unary) else expr.left
    right = (expr.right.left, expr.right.right) if isinstance(expr.right, ast.Binary) else (expr.right,)
    return _is_simple(left) and all(map(_is_simple, right))


def _compare(expr: ast.Compare, tight: bool) -> str:
    first, *rest = (_text(operand, _SUM, tight) for operand in expr.operands)
    return first + "".join(f" {op} {operand}" for op, operand in zip(expr.ops, rest, strict=True))


def _apply(expr: ast.Apply) -> str:
    bracket = "" if expr.slots is None else unparse_slots(expr.slots, expr.guard)
    call = "" if expr.arguments is None else f"({', '.join(_argument(argument) for argument in expr.arguments)})"
    prime = "'" if expr.prime else ""
    return f"{expr.name.text}{prime}{bracket}{call}"


def _argument(argument: ast.Argument) -> str:
    keyword = f"{argument.keyword.text} = " if argument.keyword else ""
    return keyword + unparse(argument.value)


def _is_simple(expr: ast.Expr) -> bool:
    if isinstance(expr, ast.Apply):
        return not expr.prime and expr.slots is None and expr.arguments is None
    return isinstance(expr, ast.Number)
