"""Questions about trees that several passes ask."""

from __future__ import annotations

from energyc.syntax import ast


def plain_name(expr: ast.Expr) -> ast.Name | None:
    """The name that an expression is, or None where it is more than a name."""
    plain = isinstance(expr, ast.Apply) and not expr.prime and expr.slots is None and expr.arguments is None
    return expr.name if isinstance(expr, ast.Apply) and plain else None
