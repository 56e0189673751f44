"""From text to tree, or to all the syntax errors that one run can find.

A failing statement is blanked, its length kept, and the text parsed again: spans stay true, and what follows a
mistake is judged on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from lark import Token, Tree
from lark.exceptions import UnexpectedInput

from energyc.language.diagnostics import Diagnostic, Remedy, Source, Span, SpecError, inserting
from energyc.language.syntax import ast
from energyc.language.syntax.build import build
from energyc.language.syntax.failure import Failure
from energyc.language.syntax.grammar import grammar
from energyc.language.syntax.mistakes import explain
from energyc.language.syntax.recover import ended, without_statement_at
from energyc.language.syntax.scan import CLOSERS, OPENERS, Scanned, scan

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


MOST_ERRORS = 20


@dataclass(frozen=True)
class Parsed:
    """The tree of a text as far as it parses, and its failures in order (at most ``MOST_ERRORS``).

    ``spec`` has the statements that parse; it is None where there is no tree that later passes may recurse over.
    """

    spec: ast.Spec | None
    diagnostics: tuple[Diagnostic, ...]


def parse(source: Source) -> ast.Spec:
    """The tree of a spec.

    Raises:
        SpecError: with all the syntax errors that were found, in the order of the file (at most ``MOST_ERRORS``).
    """
    parsed = parse_partly(source)
    if parsed.diagnostics or parsed.spec is None:
        raise SpecError(source, parsed.diagnostics)
    return parsed.spec


@lru_cache(maxsize=16)
def parse_partly(source: Source) -> Parsed:
    """The tree of what parses, and all syntax errors: for an editor, where a text is broken most of the time.

    A text is read anew for each preset, variant and question of an editor; the last ones are kept.
    """
    pieces = scan(source)
    if (bracket := too_many_brackets(pieces)) is not None:
        return Parsed(None, (bracket,))
    tree, diagnostics = _parse_what_can_be(source)
    diagnostics += [*_nameless(pieces), *too_long_names(tuple(piece for piece in pieces if piece.kind == "word"))]
    spec = None
    if tree is not None:
        spec, wrong = build(tree, source)
        deep = too_deep(spec)
        diagnostics += [*wrong, *deep]
        spec = None if deep else spec
    return Parsed(spec, tuple(sorted(diagnostics, key=_place)))


def _parse_what_can_be(source: Source) -> tuple[Tree[Token] | None, list[Diagnostic]]:
    """The tree of the statements that parse (None if none could be had) and what is wrong with the others."""
    diagnostics: list[Diagnostic] = []
    text = source.text
    while len(diagnostics) < MOST_ERRORS:
        try:
            return grammar().parse(text), diagnostics
        except UnexpectedInput as error:
            failure = Failure.of(error, Source(source.name, text))
            diagnostics.append(explain(failure))
            rest = without_statement_at(failure)
            if rest is None:
                return _parse_before(failure), diagnostics
            text = rest
    return None, diagnostics


def _parse_before(failure: Failure) -> Tree[Token] | None:
    """The tree of the statements before one that the end of the text cuts off; None where these fail too."""
    try:
        return grammar().parse(ended(failure))
    except UnexpectedInput:
        return None


def _nameless(pieces: tuple[Scanned, ...]) -> list[Diagnostic]:
    if any(piece.text == "network" for piece in pieces):
        return []
    span = pieces[0].span if pieces else Span(0, 0)
    what = "this spec has no `network`" if pieces else "this spec is empty"
    help = Remedy(
        "start it with `network NAME`, below a comment that describes it", inserting("network net\n", span.start)
    )
    return [Diagnostic("E0102", what, span, help=help)]


def _place(diagnostic: Diagnostic) -> Span:
    return diagnostic.span or Span(0, 0)
