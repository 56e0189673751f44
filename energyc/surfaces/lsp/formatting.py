"""The canonical layout of ``energyc fmt``, as edits of the lines that change."""

from __future__ import annotations

from difflib import SequenceMatcher

from lsprotocol import types

from energyc.language.diagnostics import Span, SpecError
from energyc.language.syntax import format_spec
from energyc.surfaces.lsp.view import View


def formatted(view: View) -> list[types.TextEdit]:
    """The edits that lay a spec out; none where it does not parse, which its diagnostics say."""
    try:
        text = format_spec(view.reading.source)
    except SpecError:
        return []
    if "\r\n" in view.text.content:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return [types.TextEdit(view.text.range(span), new) for span, new in _changes(view.text.content, text)]


def _changes(old: str, new: str) -> list[tuple[Span, str]]:
    """The runs of lines that differ, and what takes their place."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(Span(starts[i], starts[j]), "".join(after[k:m])) for tag, i, j, k, m in blocks if tag != "equal"]
