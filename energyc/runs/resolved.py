"""A spec with its preset and overrides written into it: the text that a run folder keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from energyc.diagnostics import Source
from energyc.pipeline import Choices, parse
from energyc.settings import written
from energyc.syntax import ast

Edit = tuple[int, int, str]


def resolved_text(source: Source, choices: Choices) -> str:
    """The source with the values of its preset and overrides in place of its own; comments survive.

    Reading it without preset and overrides gives the network that the source gives with them.
    """
    spec = parse(source)
    wanted: dict[str, str] = {}
    for statement in spec.statements:
        if isinstance(statement, ast.Preset) and statement.name.text == choices.preset:
            wanted |= {pair.path: source.slice(pair.value.span) for pair in statement.pairs}
    wanted |= {key: written(value) for key, value in choices.overrides.items()}
    edits = list(_replacements(spec, wanted))
    text = source.text
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    blocks = _blocks(spec)
    added = [f"{w} {{ {', '.join(pairs)} }}" for w, pairs in _missing(wanted, spec).items() if w not in blocks]
    return text if not added else text.rstrip("\n") + "\n\n" + "\n".join(added) + "\n"


def _replacements(spec: ast.Spec, wanted: Mapping[str, str]) -> Iterator[Edit]:
    for statement in spec.statements:
        if isinstance(statement, ast.Definitions):
            for item in statement.items:
                if item.name.text in wanted:
                    yield item.value.span.start, item.value.span.end, wanted[item.name.text]
        elif isinstance(statement, ast.Settings):
            for pair in statement.pairs:
                path = f"{statement.word}.{pair.path}"
                if path in wanted:
                    yield pair.value.span.start, pair.value.span.end, wanted[path]
    blocks = _blocks(spec)
    for word, pairs in _missing(wanted, spec).items():
        if word in blocks:
            end = blocks[word].pairs[-1].span.end
            yield end, end, "".join(f", {pair}" for pair in pairs)


def _blocks(spec: ast.Spec) -> dict[str, ast.Settings]:
    """The blocks of settings that are not empty, by word; the last where there are several."""
    return {s.word: s for s in spec.statements if isinstance(s, ast.Settings) and s.pairs}


def _missing(wanted: Mapping[str, str], spec: ast.Spec) -> dict[str, list[str]]:
    """The settings that the spec does not write, by the word of their block."""
    there = {
        f"{statement.word}.{pair.path}"
        for statement in spec.statements
        if isinstance(statement, ast.Settings)
        for pair in statement.pairs
    }
    missing: dict[str, list[str]] = {}
    for path, value in wanted.items():
        word, dot, key = path.partition(".")
        if dot and path not in there:
            missing.setdefault(word, []).append(f"{key} = {value}")
    return missing
