"""Long lines broken where a person would break them: at the brackets and the sums that the tree has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise


@dataclass(frozen=True)
class Group:
    """Brackets with items between them; ``closed`` says that the last of them has a comma too, as ``(a,)`` has."""

    opening: str
    items: tuple[Line, ...]
    closing: str
    closed: bool = False

    @cached_property
    def text(self) -> str:
        """On one line."""
        inner = ", ".join(item.text for item in self.items)
        return f"{self.opening}{inner}{',' * self.closed}{self.closing}"

    @property
    def several(self) -> bool:
        """Whether its items are a list, which has a comma after each when it has a line for each."""
        return self.closed or len(self.items) > 1


@dataclass(frozen=True)
class Line:
    """Text and groups one after the other.

    ``cuts`` are the places of the operators of a sum, ``start`` where the sum begins; a line that is not one has no
    cuts.
    """

    parts: tuple[str | Group, ...]
    cuts: tuple[int, ...] = ()
    start: int = 0

    @cached_property
    def text(self) -> str:
        """On one line."""
        return _text(self.parts)

    def after(self, *parts: str | Group) -> Line:
        """The line behind other parts; its sum can still be broken."""
        return Line((*parts, *self.parts), tuple(cut + len(parts) for cut in self.cuts), self.start + len(parts))

    @property
    def whole(self) -> Line:
        """The line as something that is not broken at its operators."""
        return Line(self.parts) if self.cuts or self.start else self


def joined(*pieces: str | Group | Line) -> Line:
    """Pieces as one line."""
    parts: list[str | Group] = []
    for piece in pieces:
        parts += piece.parts if isinstance(piece, Line) else [piece]
    return Line(tuple(parts))


def _text(parts: Sequence[str | Group]) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in parts)


def broken(line: Line, width: int, indent: str = "", tail: str = "") -> Iterator[str]:
    """The line as lines of at most ``width`` characters, as far as it has places to break; ``tail`` ends it."""
    whole = f"{indent}{line.text}{tail}"
    if len(whole) <= width:
        yield whole
    elif line.cuts:
        yield from _broken_sum(line, width, indent, tail)
    elif (k := _longest(line.parts)) is not None:
        yield from _broken_group(line, k, width, indent, tail)
    else:
        yield whole


def _broken_sum(line: Line, width: int, indent: str, tail: str) -> Iterator[str]:
    """``name = a + b`` with a line for each term, in parentheses."""
    yield f"{indent}{_text(line.parts[: line.start])}("
    for a, b in pairwise((line.start, *line.cuts, len(line.parts))):
        yield from broken(_stripped(line.parts[a:b]), width, f"{indent}    ")
    yield f"{indent}){tail}"


def _stripped(parts: tuple[str | Group, ...]) -> Line:
    first = parts[0]
    return Line((first.lstrip(), *parts[1:]) if isinstance(first, str) else parts)


def _broken_group(line: Line, k: int, width: int, indent: str, tail: str) -> Iterator[str]:
    """One bracket with an item a line."""
    group = line.parts[k]
    assert isinstance(group, Group)
    yield f"{indent}{_text(line.parts[:k])}{group.opening}"
    for item in group.items:
        yield from broken(item, width, f"{indent}    ", "," if group.several else "")
    yield f"{indent}{group.closing}{_text(line.parts[k + 1 :])}{tail}"


def _longest(parts: Sequence[str | Group]) -> int | None:
    """The place of the longest group that has items, the first one of these."""
    best, length = None, 0
    for k, part in enumerate(parts):
        if isinstance(part, Group) and part.items and len(part.text) > length:
            best, length = k, len(part.text)
    return best
