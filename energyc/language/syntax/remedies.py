"""The fixes of syntax errors: by the place where the parser stopped, what to write there.

Those of the entries of grammar/mistakes.toml go by the names in ``FIXES``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from energyc.language.diagnostics import Edit, Fix, Remedy, Span, inserting, remedied, writing
from energyc.language.syntax.failure import Failure
from energyc.language.syntax.scan import CLOSERS, OPENERS

#: A help that is nothing but the very text to write.
_EXACT = re.compile(r"write (?:it in letters: )?`[^`]+`")


def instead(help: str, span: Span) -> str:
    """A help, with the fix that writes its text in place of a span where that is all it says."""
    if help == "remove it":
        return Remedy(help, Fix(help, (Edit(span, ""),)))
    return remedied(help, span) if _EXACT.fullmatch(help) else help


def _gap(failure: Failure, text: str) -> Fix:
    """Write a text between the unexpected piece and the one before it."""
    start = failure.before.span.end if failure.before else failure.span.start
    return Fix(f"insert `{text.strip()}`", (Edit(Span(start, failure.span.start), text),))


def _in_its_place(failure: Failure, text: str) -> Fix:
    return writing(text, failure.span)


def _comment(failure: Failure) -> Fix | None:
    """``//``: its two strokes are two pieces, either of which may be the unexpected one."""
    for at in (failure.at, failure.at - 1):
        strokes = failure.pieces[at : at + 2]
        if [piece.text for piece in strokes] == ["/", "/"]:
            return writing("#", strokes[0].span.to(strokes[1].span))
    return None


def _bars(failure: Failure) -> Fix | None:
    """``|x|``, but not ``||x||``."""
    opener = failure.unexpected
    if opener is None or opener.text != "|":
        return None
    depth = 0
    for piece in failure.pieces[failure.at + 1 :]:
        depth += (piece.text in OPENERS) - (piece.text in CLOSERS)
        if piece.text == "|" and not depth:
            touching = piece.span.start == opener.span.end
            edits = (Edit(opener.span, "abs("), Edit(piece.span, ")"))
            return None if touching else Fix("write `abs(...)`", edits)
        if piece.first or depth < 0:
            return None
    return None


def _braces(failure: Failure) -> Fix | None:
    """``x{i}``: braces that touch a name hold its indices; others group."""
    opener, before = failure.unexpected, failure.before
    if opener is None or opener.text != "{" or before is None:
        return None
    depth = 0
    for piece in failure.pieces[failure.at :]:
        depth += (piece.text in OPENERS) - (piece.text in CLOSERS)
        if not depth:
            left, right = "[]" if before.kind == "word" and before.span.end == opener.span.start else "()"
            edits = (Edit(opener.span, left), Edit(piece.span, right))
            return Fix(f"write `{left}...{right}`", edits) if piece.text == "}" else None
    return None


def _function(failure: Failure) -> Fix:
    """``let f(u) = ...``."""
    return writing("fn", failure.pieces[failure.start].span)


def _setting(failure: Failure) -> Fix | None:
    """``step: 1``."""
    if failure.unexpected is None or failure.unexpected.text != ":":
        return None
    start = failure.before.span.end if failure.before else failure.span.start
    return Fix("write `=`", (Edit(Span(start, failure.span.end), " ="),))


FIXES: Mapping[str, Callable[[Failure], Fix | None]] = MappingProxyType(
    {
        "product": lambda failure: _gap(failure, " * "),
        "equals": lambda failure: _in_its_place(failure, "="),
        "power": lambda failure: _in_its_place(failure, "^"),
        "comma": lambda failure: inserting(",", failure.before.span.end) if failure.before else None,
        "comment": _comment,
        "bars": _bars,
        "braces": _braces,
        "function": _function,
        "setting": _setting,
    }
)


def mended(help: str, name: str, failure: Failure) -> str:
    """A help with the fix of that name, where it applies."""
    fix = FIXES[name](failure)
    return help if fix is None else Remedy(help, fix)
