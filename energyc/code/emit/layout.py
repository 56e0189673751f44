"""Long lines of generated code, broken where a person would break them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

WIDTH = 112
_OPENING, _CLOSING = "([{", ")]}"


def escaped(text: str) -> str:
    """Text made safe for a docstring: nothing ends it, and what cannot be seen is spelt out."""
    shown = (c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    return "".join(shown).replace("\\", "\\\\").replace('"""', "'''")


def broken_lines(lines: Sequence[str]) -> list[str]:
    """Lines of code with those that are too long broken up."""
    return [piece for line in lines for piece in _broken(line)]


def _broken(line: str) -> list[str]:
    if len(line) <= WIDTH:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return _broken_sum(line, indent) or _broken_bracket(line, indent) or [line]


def _broken_sum(line: str, indent: str) -> list[str] | None:
    """``name = a + b`` over several lines in parentheses."""
    match = re.match(r"\s*(?:return |\w+ [+-]?= |\"\w+\": )", line)
    if match is None:
        return None
    tail = "," if line.endswith(",") else ""
    body = line[match.end() : len(line) - len(tail)]
    cuts = [k for k, _ in outside_brackets(body) if body[k : k + 3] in (" + ", " - ")]
    if not cuts:
        return None
    edges = [0, *(k + 1 for k in cuts), len(body)]
    pieces = [body[a:b].strip() for a, b in pairwise(edges)]
    inner = [part for piece in pieces for part in _broken(f"{indent}    {piece}")]
    return [f"{match.group()}(", *inner, f"{indent}){tail}"]


def _broken_bracket(line: str, indent: str) -> list[str] | None:
    """The longest outermost bracket with an entry a line."""
    group = _longest_group(line)
    if group is None:
        return None
    start, end = group
    parts = split_at_commas(line[start + 1 : end])
    if len(parts) < 2:
        inner = _broken(f"{indent}    {line[start + 1 : end].strip()}")
    else:
        inner = [piece for part in parts for piece in _broken(f"{indent}    {part.strip()},")]
    return [line[: start + 1], *inner, f"{indent}{line[end:]}"]


def outside_brackets(text: str) -> Iterator[tuple[int, str]]:
    """The characters outside brackets and strings, with their places."""
    depth, quote = 0, ""
    for k, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[k - 1] != "\\" else quote
        elif char in "\"'":
            quote = char
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
        elif depth == 0:
            yield k, char


def split_at_commas(text: str) -> list[str]:
    """The text cut at commas outside brackets and strings."""
    cuts = [k for k, char in outside_brackets(text) if char == ","]
    edges = [-1, *cuts, len(text)]
    return [part for a, b in pairwise(edges) if (part := text[a + 1 : b]).strip()]


def _longest_group(line: str) -> tuple[int, int] | None:
    stack: list[int] = []
    best: tuple[int, int] | None = None
    quote = ""
    for k, char in enumerate(line):
        if quote:
            quote = "" if char == quote and line[k - 1] != "\\" else quote
        elif char in "\"'":
            quote = char
        elif char in _OPENING:
            stack.append(k)
        elif char in _CLOSING and stack:
            start = stack.pop()
            if not stack and (best is None or k - start > best[1] - best[0]):
                best = (start, k)
    return best
