"""Write the preset and the overrides of a spec into its text, for the run folder."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from energyc.language.diagnostics import Source
from energyc.language.resolve.settings import layers_of
from energyc.language.settings import written
from energyc.language.syntax import ast
from energyc.pipeline import Choices, parse

Edit = tuple[int, int, str]


def resolved_text(source: Source, choices: Choices, unbound: Collection[str] = ()) -> str:
    """Return the source with the values of its preset and overrides; comments are preserved.

    Without preset and overrides it resolves to the same network as the source with them. The clamps and targets that
    are ``unbound`` name no field of data, and data that nothing names any more are left out.
    """
    spec = parse(source)
    values: dict[str, str] = {}
    for statement in spec.statements:
        if isinstance(statement, ast.Preset) and statement.name.text == choices.preset:
            values |= {pair.path: source.slice(pair.value.span) for pair in statement.pairs}
    values |= {key: written(value) for key, value in choices.overrides.items()}
    parts = {"": spec.statements, **{f"{layer.name.text}.": layer.body for layer in layers_of(spec.statements)}}
    cut = list(_unbinding(spec, source, unbound))
    data = [s for s in spec.statements if isinstance(s, ast.Data) and not any(s.span.start == edit[0] for edit in cut)]
    edits = [*_sizes(spec, values), *_options(data, source, values), *cut]
    bound = {s.name.text for s in spec.statements if isinstance(s, ast.Data)}
    values = {path: value for path, value in values.items() if path.partition(".")[0] not in bound or "." not in path}
    added: list[str] = []
    for owner, statements in parts.items():
        own = {path.removeprefix(owner): value for path, value in values.items() if _belongs(path, owner, parts)}
        edits += _replacements(statements, own)
        missing = _missing(own, statements)
        blocks = _blocks(statements)
        new = [f"{block} {{ {', '.join(pairs)} }}" for block, pairs in missing.items() if block not in blocks]
        if owner and new:
            end = statements[-1].span.end
            edits.append((end, end, "".join(f"\n{block}" for block in new)))
        elif not owner:
            added = new
    text = source.text
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text if not added else text.rstrip("\n") + "\n\n" + "\n".join(added) + "\n"


def _unbinding(spec: ast.Spec, source: Source, unbound: Collection[str]) -> Iterator[Edit]:
    """Yield what cuts inputs from the fields that they name, and data that are then named nowhere."""
    if not unbound:
        return
    items = [item for statement in spec.statements if isinstance(statement, ast.Inputs) for item in statement.items]
    cut = [item.source.span for item in items if item.source is not None and item.name.text in unbound]
    for span in cut:
        equals = source.text.rindex("=", 0, span.start)
        yield len(source.text[:equals].rstrip()), span.end, ""
    data = [statement for statement in spec.statements if isinstance(statement, ast.Data)]
    hidden = sorted([*cut, *(statement.span for statement in data)], reverse=True)
    rest = source.text
    for span in hidden:
        rest = rest[: span.start] + rest[span.end :]
    for statement in data:
        if not re.search(rf"\b{statement.name.text}\b", rest):
            after, newline, _ = source.text[statement.span.end :].partition("\n")
            whole = len(after + newline) if not after.strip() else 0  # its line, unless a comment stands behind it
            yield statement.span.start, statement.span.end + whole, ""


def _belongs(path: str, owner: str, owners: Iterable[str]) -> bool:
    """Whether a setting is one of a layer, or (with an empty owner) of no layer."""
    return path.startswith(owner) if owner else not any(path.startswith(other) for other in owners if other)


def _sizes(spec: ast.Spec, values: Mapping[str, str]) -> Iterator[Edit]:
    """Yield the dims and consts that are set."""
    for statement in spec.statements:
        if isinstance(statement, ast.Definitions):
            for item in statement.items:
                if item.name.text in values:
                    yield item.value.span.start, item.value.span.end, values[item.name.text]


def _options(data: Sequence[ast.Data], source: Source, values: Mapping[str, str]) -> Iterator[Edit]:
    """Yield the options of data that are set."""
    for statement in data:
        own = {path.partition(".")[2]: value for path, value in values.items() if path.startswith(_prefix(statement))}
        for pair in statement.pairs:
            if pair.path in own:
                yield pair.value.span.start, pair.value.span.end, own.pop(pair.path)
        close = source.text.rindex(")", statement.span.start, statement.span.end)
        end = statement.pairs[-1].span.end if statement.pairs else close
        text = ", ".join(f"{key} = {value}" for key, value in own.items())
        if text:
            yield end, end, f", {text}" if statement.pairs else text


def _prefix(statement: ast.Data) -> str:
    return f"{statement.name.text}."


def _replacements(statements: Sequence[ast.Statement], values: Mapping[str, str]) -> Iterator[Edit]:
    for statement in statements:
        if isinstance(statement, ast.Settings):
            for pair in statement.pairs:
                path = f"{statement.word}.{pair.path}"
                if path in values:
                    yield pair.value.span.start, pair.value.span.end, values[path]
    blocks = _blocks(statements)
    for block, pairs in _missing(values, statements).items():
        if block in blocks:
            end = blocks[block].pairs[-1].span.end
            yield end, end, "".join(f", {pair}" for pair in pairs)


def _blocks(statements: Sequence[ast.Statement]) -> dict[str, ast.Settings]:
    """Return the last nonempty block of settings of each name."""
    return {
        statement.word: statement for statement in statements if isinstance(statement, ast.Settings) and statement.pairs
    }


def _missing(values: Mapping[str, str], statements: Sequence[ast.Statement]) -> dict[str, list[str]]:
    """Return the settings that some statements do not contain, by the name of their block."""
    present = {
        f"{statement.word}.{pair.path}"
        for statement in statements
        if isinstance(statement, ast.Settings)
        for pair in statement.pairs
    }
    missing: dict[str, list[str]] = {}
    for path, value in values.items():
        block, separator, key = path.partition(".")
        if separator and path not in present:
            missing.setdefault(block, []).append(f"{key} = {value}")
    return missing
