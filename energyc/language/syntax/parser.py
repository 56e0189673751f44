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
from energyc.language.syntax.failure import Failure, opens_statement
from energyc.language.syntax.grammar import grammar
from energyc.language.syntax.mistakes import explain
from energyc.language.syntax.scan import CLOSERS, OPENERS, Scanned, scan

DEEPEST = 100
#: A network's name is part of the names of files.
LONGEST_NAME = 100
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


# ------------------------------------------------------------------ limits, so that every later pass may recurse


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


# ------------------------------------------------------------------ recovery


def without_statement_at(failure: Failure) -> str | None:
    """The text with the failing statement blanked, of the same length; None where nothing is left to parse."""
    pieces, at = failure.pieces, failure.at
    if at >= len(pieces):
        return None
    start = at if pieces[at].text == "network" or failure.opens_line else failure.start
    stop = at if at > start and opens_statement(pieces, at) else at + 1
    while stop < len(pieces) and not _ends_damage(failure, stop):
        stop += 1
    spans = [piece.span for piece in pieces[start:stop]]
    complete = failure.kind == "end" and at > start
    keep, drop = _unpaired(pieces, start, stop, None if complete else at)
    return _blanked(failure.source.text, [span for span in spans if span not in keep] + drop)


def ended(failure: Failure) -> str:
    """The text without the statement that its end cuts off, and with the blocks around that closed behind it."""
    before = failure.pieces[: failure.start]
    open_blocks = sum((piece.text == "{") - (piece.text == "}") for piece in before)
    kept = _blanked(failure.source.text, [piece.span for piece in failure.pieces[failure.start :]])
    return kept + "\n" + "}" * open_blocks


def _ends_damage(failure: Failure, place: int) -> bool:
    """Whether parsing can resume there: at a statement, or at the line below one whose first word is misspelled."""
    if opens_statement(failure.pieces, place):
        return True
    piece = failure.pieces[place]
    return failure.opens_line and piece.first and piece.kind == "word"


def _unpaired(pieces: tuple[Scanned, ...], start: int, stop: int, wrong: int | None) -> tuple[set[Span], list[Span]]:
    """The braces to keep, which close an outer block, and those to blank, which close a blanked one."""
    keep: set[Span] = set()
    depth = 0
    for place in range(start, stop):
        depth += (pieces[place].text == "{") - (pieces[place].text == "}")
        if depth < 0:
            depth = 0
            if place != wrong:
                keep.add(pieces[place].span)
    drop: list[Span] = []
    for piece in pieces[stop:] if depth else ():
        depth += (piece.text == "{") - (piece.text == "}")
        if not depth:
            drop.append(piece.span)
            break
    return keep, drop


def _blanked(text: str, spans: list[Span]) -> str:
    characters = list(text)
    for span in spans:
        characters[span.start : span.end] = " " * (span.end - span.start)
    return "".join(characters)
