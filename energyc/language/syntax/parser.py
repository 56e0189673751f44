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
from energyc.language.syntax.limits import too_deep, too_long_names, too_many_brackets
from energyc.language.syntax.mistakes import explain
from energyc.language.syntax.recover import ended, without_statement_at
from energyc.language.syntax.scan import Scanned, scan

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
