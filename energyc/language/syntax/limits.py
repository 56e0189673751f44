"""Limits on untrusted specs: on nesting, so that every later pass may recurse, and on the length of names."""

from __future__ import annotations

from energyc.language.diagnostics import Diagnostic, Span
from energyc.language.syntax import ast
from energyc.language.syntax.scan import CLOSERS, OPENERS, Scanned

DEEPEST = 100
#: A network's name is part of the names of files.
LONGEST_NAME = 100


def too_many_brackets(tokens: tuple[Scanned, ...]) -> Diagnostic | None:
    """The diagnostic of brackets nested more than ``DEEPEST`` deep; None if there are none."""
    depth = 0
    for token in tokens:
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        if depth > DEEPEST:
            return _too_deep(token.span, "this bracket")
    return None


def too_long_names(pieces: tuple[Scanned, ...]) -> list[Diagnostic]:
    """The diagnostics of names of more than ``LONGEST_NAME`` characters, one for each name."""
    first = {piece.text: piece.span for piece in reversed(pieces) if len(piece.text) > LONGEST_NAME}
    message = f"a name has at most {LONGEST_NAME} characters"
    return [Diagnostic("E0112", message, span, help="choose a shorter one") for span in first.values()]


def too_deep(spec: ast.Spec) -> list[Diagnostic]:
    """The diagnostics of expressions deeper than ``DEEPEST``, one for each statement; a long sum is deep as well."""
    deep: dict[int, Diagnostic] = {}
    stack: list[tuple[ast.Tree, ast.Tree, int]] = [(statement, statement, 0) for statement in spec.statements]
    while stack:
        tree, statement, depth = stack.pop()
        if depth > DEEPEST:
            deep.setdefault(statement.span.start, _too_deep(tree.span, "this expression"))
            continue
        for child in ast.children(tree):
            inner = isinstance(child, ast.Statement)
            stack.append((child, child if inner else statement, depth + isinstance(child, ast.Expr)))
    return [deep[start] for start in sorted(deep)]


def _too_deep(span: Span, what: str) -> Diagnostic:
    return Diagnostic(
        "E0110",
        f"{what} is nested more than {DEEPEST} levels deep",
        span,
        help="name its parts with `let` and put them together",
    )
