"""The ties that the analysis suggests, in words and as edits: a param as a second name of another, or symmetric."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from energyc.language.diagnostics import Edit, Fix, Source, Span
from energyc.language.syntax import ast

_SIDE = re.compile(r"(\w+)\[([^\]]*)\]")


@dataclass(frozen=True)
class Tie:
    """A tie as the report of ``check`` writes it: ``W2[f,d] = W1[d,f]``."""

    text: str

    @property
    def names(self) -> tuple[str, str]:
        """The param that is replaced, and the one that takes its place."""
        (target, _), (source, _) = self._sides
        return target, source

    @property
    def moved(self) -> list[int]:
        """The axes whose indices differ on the two sides."""
        (_, left), (_, right) = self._sides
        return [axis for axis, (a, b) in enumerate(zip(left, right, strict=False)) if a != b]

    @property
    def words(self) -> str:
        """The condition that a tie would establish: ```tie W2[f,d] = W1[d,f]```, ``a symmetric `W```."""
        target, source = self.names
        return f"a symmetric `{target}`" if target == source else f"`tie {self.text}`"

    @property
    def _sides(self) -> tuple[tuple[str, list[str]], tuple[str, list[str]]]:
        first, second = _SIDE.findall(self.text)[:2]
        return (first[0], first[1].split(",")), (second[0], second[1].split(","))


def ties_of(suggestion: str) -> list[Tie]:
    """The ties of a suggestion, which are joined by ``and``."""
    return [Tie(text) for text in suggestion.split(" and ")]


def tie_fix(source: Source, spec: ast.Spec | None, ties: Sequence[Tie]) -> Fix | None:
    """The fix that writes ties into a spec.

    None where a param is tied to itself along axes that no set is about, or is declared among comments.
    """
    edits: list[Edit] = []
    for tie in ties:
        found = next(_declared(spec, tie.names[0]), None)
        edit = None if found is None else _edit(source, *found, tie)
        if edit is None:
            return None
        edits.append(edit)
    ordered = sorted(edits, key=lambda edit: edit.span)
    if any(first.span.end > second.span.start for first, second in pairwise(ordered)):
        return None
    return Fix(f"write {' and '.join(tie.words for tie in ties)}", tuple(edits))


def _declared(spec: ast.Spec | None, name: str) -> Iterator[tuple[ast.Params, ast.ParamItem]]:
    """The statement and the item that declare a param."""
    for tree in ast.walk(spec) if spec is not None else ():
        if isinstance(tree, ast.Params):
            yield from ((tree, item) for item in tree.items if item.name.text == name)


def _edit(source: Source, statement: ast.Params, item: ast.ParamItem, tie: Tie) -> Edit | None:
    target, tied = tie.names
    if target == tied:
        return _symmetric(item, tie)
    if "#" in source.slice(statement.span):
        return None
    rest = _without(source, statement, target)
    text = f"{rest}\n{_indent(source, statement)}tie {tie.text}" if rest else f"tie {tie.text}"
    return Edit(statement.span, text)


def _symmetric(item: ast.ParamItem, tie: Tie) -> Edit | None:
    """``W[D, D] in symmetric``."""
    dims = [dim.text for dim in item.dims]
    about = list(dict.fromkeys(dims[axis] for axis in tie.moved if axis < len(dims)))
    if not about or any(dims.count(dim) != 2 for dim in about) or len(tie.moved) != 2 * len(about):
        return None
    twice = [dim for dim in dict.fromkeys(dims) if dims.count(dim) == 2]
    kind = "symmetric" if len(twice) == 1 else f"symmetric[{', '.join(about)}]"
    return Edit(Span(item.span.end, item.span.end), f" {'and' if item.domains else 'in'} {kind}")


def _indent(source: Source, statement: ast.Params) -> str:
    place = source.position(statement.span.start)
    return source.line(place.line)[: place.column - 1]


def _without(source: Source, statement: ast.Params, name: str) -> str:
    """The statement without one of its params, whose law stays with those that it covered too; empty without params."""
    items: list[str] = []
    law: ast.Law | None = None
    for item in reversed(statement.items):
        own = item.law is not None or item.value is not None
        if item.name.text == name:
            law = item.law or law
            continue
        text = source.slice(item.span)
        if not own and law is not None:
            shape = max([item.name.span.end, *(dim.span.end + 1 for dim in item.dims)]) - item.span.start
            text = f"{text[:shape]} ~ {source.slice(law.span)}{text[shape:]}"
        law = None if not own or item.law is not None else law
        items.append(text)
    return f"param {', '.join(reversed(items))}" if items else ""
