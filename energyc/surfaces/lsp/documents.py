"""An open document: its text in an editor's lines and units, its reading, what is under way for it; a feature's view.

An editor ends lines at CR LF, CR and LF alone, and counts columns in UTF-16 units unless another encoding was agreed
on; the compiler counts characters from the start of the text.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlparse

from lsprotocol import types

from energyc.language.diagnostics import Span
from energyc.surfaces.lsp.reading import Reading, read


@dataclass
class Document:
    """A document that an editor has opened.

    ``report`` is that of the analysis on the present text, empty where there is none.
    """

    uri: str
    text: Text
    version: int | None = None
    report: Mapping[str, Any] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None
    _reading: asyncio.Future[Reading] | None = None

    @property
    def name(self) -> str:
        """The name of its file; the whole URI where it has none."""
        try:
            return PurePosixPath(unquote(urlparse(self.uri).path)).name or self.uri
        except ValueError:  # of a host in broken brackets
            return self.uri

    def change(self, text: Text, version: int | None) -> None:
        """Take another text; what was under way for the old one is given up."""
        self.text, self.version, self.report = text, version, {}
        if self._reading is not None:
            self._reading.cancel()
        self._reading = None
        self.stop()

    def stop(self) -> None:
        """Give up what is to be said of it."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None

    async def reading(self, executor: Executor) -> Reading:
        """The reading of the present text, made once. Raises CancelledError where the text changes meanwhile."""
        if self._reading is None:
            loop = asyncio.get_running_loop()
            self._reading = loop.run_in_executor(executor, read, self.name, self.text.content)
        return await asyncio.shield(self._reading)


@dataclass(frozen=True)
class View:
    """A text with its reading; ``report`` is the JSON of ``energyc check`` on this very text, where it was made."""

    uri: str
    text: Text
    reading: Reading
    version: int | None = None
    report: Mapping[str, Any] = field(default_factory=dict)
    snippets: bool = False

    def offset(self, position: types.Position) -> int:
        """The character at a position of the document."""
        return min(self.text.offset(position), len(self.reading.source.text))


# ---------------------------------------------------------------- a text


_LINE_END = re.compile(r"\r\n|\r|\n")
#: How many units a character takes, by encoding.
_UNITS: Mapping[str, Callable[[int], int]] = MappingProxyType(
    {
        "utf-8": lambda code: 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF),
        "utf-16": lambda code: 1 + (code > 0xFFFF),
        "utf-32": lambda code: 1,
    }
)


class Text:
    """One version of a document's text; ``encoding`` is ``utf-8``, ``utf-16`` or ``utf-32``."""

    def __init__(self, content: str, encoding: str = "utf-16") -> None:
        self.content, self.encoding = content, encoding

    @cached_property
    def _starts(self) -> list[int]:
        """The offset of each line."""
        return [0, *(match.end() for match in _LINE_END.finditer(self.content))]

    @cached_property
    def _plain(self) -> bool:
        """Whether every character is one unit."""
        return self.content.isascii()

    def _line(self, number: int) -> tuple[int, int]:
        """Where a line starts and where it ends, without its line end."""
        start = self._starts[number]
        stop = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.content)
        while stop > start and self.content[stop - 1] in "\r\n":
            stop -= 1
        return start, stop

    def offset(self, position: types.Position) -> int:
        """The character at a position; one outside of the text is taken to the nearest place in it."""
        if position.line < 0:
            return 0
        if position.line >= len(self._starts):
            return len(self.content)
        start, stop = self._line(position.line)
        if self._plain:
            return min(start + max(position.character, 0), stop)
        size, units, offset = _UNITS[self.encoding], 0, start
        while offset < stop and units + size(ord(self.content[offset])) <= position.character:
            units += size(ord(self.content[offset]))
            offset += 1
        return offset

    def position(self, offset: int) -> types.Position:
        """The position of a character; the end of the text is one."""
        offset = min(max(offset, 0), len(self.content))
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        if self._plain:
            return types.Position(line, offset - start)
        size = _UNITS[self.encoding]
        return types.Position(line, sum(size(ord(char)) for char in self.content[start:offset]))

    def range(self, span: Span) -> types.Range:
        """A span as a range."""
        return types.Range(self.position(span.start), self.position(span.end))

    def span(self, range: types.Range) -> Span:
        """A range as a span; one whose ends are exchanged is put in order."""
        start, end = self.offset(range.start), self.offset(range.end)
        return Span(min(start, end), max(start, end))

    def units(self, span: Span) -> int:
        """The length of a span in units."""
        size = _UNITS[self.encoding]
        return sum(size(ord(char)) for char in self.content[span.start : span.end])

    def changed(self, changes: Iterable[types.TextDocumentContentChangeEvent]) -> Text:
        """The text after some changes, each of which counts in the text after those before it."""
        text = self
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                span = text.span(change.range)
                content = text.content[: span.start] + change.text + text.content[span.end :]
            else:
                content = change.text
            text = Text(content, self.encoding)
        return text
