"""Consts that are written in a block, which are consts of the whole file: named, set and reported as such."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from energyc.language.syntax import ast


def with_consts_outside(spec: ast.Spec) -> ast.Spec:
    """The same spec with each ``const`` of a block before the block that holds it."""
    blocks = any(isinstance(statement, ast.Layer | ast.Repeat) for statement in spec.statements)
    return replace(spec, statements=tuple(_outside(spec.statements))) if blocks else spec


def _outside(statements: tuple[ast.Statement, ...]) -> Iterator[ast.Statement]:
    for statement in statements:
        if not isinstance(statement, ast.Layer | ast.Repeat):
            yield statement
            continue
        body = tuple(_outside(statement.body))
        yield from filter(_is_const, body)
        yield replace(statement, body=tuple(own for own in body if not _is_const(own)))


def _is_const(statement: ast.Statement) -> bool:
    return isinstance(statement, ast.Definitions) and statement.word == "const"
