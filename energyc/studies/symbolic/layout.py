"""Python text of nested pieces, broken over lines where a line would be too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

#: The longest line, and how far what is inside of brackets is set in.
WIDTH, INDENT = 96, 4


@dataclass(frozen=True)
class Bracket:
    """``head(part, part)``, with any brackets; it is broken into a line for each part."""

    opening: str
    parts: tuple[Text, ...]
    closing: str


@dataclass(frozen=True)
class Chain:
    """Parts in a row, ``a + b - c``, each with what stands before it; to be broken it must stand in brackets."""

    parts: tuple[tuple[str, Text], ...]


@dataclass(frozen=True)
class Joined:
    """Pieces that follow each other without a break between them."""

    parts: tuple[Text, ...]


Text: TypeAlias = str | Bracket | Chain | Joined


def joined(*parts: Text) -> Text:
    """Pieces one after the other."""
    return Joined(parts)


def flat(text: Text) -> str:
    """A text on one line."""
    match text:
        case str():
            return text
        case Bracket(opening, parts, closing):
            return opening + ", ".join(map(flat, parts)) + closing
        case Chain(parts):
            return "".join(before + flat(part) for before, part in parts)
        case Joined(parts):
            return "".join(map(flat, parts))


def laid_out(text: Text, indent: int = 0, used: int = 0, after: int = 0) -> str:
    """A text whose lines fit where they can; ``used`` and ``after`` columns of its first and last line are taken."""
    line = flat(text)
    if indent + used + len(line) + after <= WIDTH:
        return line
    match text:
        case Bracket(opening, parts, closing):
            return _bracket(opening, parts, closing, indent)
        case Chain(parts):
            return _chain(parts, indent, used, after)
        case Joined(parts):
            return _joined(parts, indent, used, after)
    return line


def _bracket(opening: str, parts: Sequence[Text], closing: str, indent: int) -> str:
    inner = indent + INDENT
    lines = [" " * inner + laid_out(part, inner, after=1) for part in parts]
    # A tuple of one needs its comma, brackets around an expression must not have one.
    comma = "" if opening == "(" and len(parts) == 1 else ","
    return opening + "\n" + ",\n".join(lines) + comma + "\n" + " " * indent + closing


def _chain(parts: Sequence[tuple[str, Text]], indent: int, used: int, after: int) -> str:
    """A line for each part."""
    lines = []
    for k, (before, part) in enumerate(parts):
        sign = before.lstrip()
        lines.append(sign + laid_out(part, indent, len(sign) + (0 if k else used), after))
    return ("\n" + " " * indent).join(lines)


def _joined(parts: Sequence[Text], indent: int, used: int, after: int) -> str:
    """The first part that can be broken is; if the rest does not fit behind it, so is the next."""
    written = ""
    for k, part in enumerate(parts):
        behind = sum(len(flat(rest)) for rest in parts[k + 1 :]) + after
        column = (
            len(written.rpartition("\n")[2]) - (indent if "\n" in written else 0) + (0 if "\n" in written else used)
        )
        written += laid_out(part, indent, column, behind)
    return written
