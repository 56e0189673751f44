"""An open document: its text, what is known of it, what is under way for it; and the view of it that a feature gets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlparse

from lsprotocol import types

from energyc.surfaces.lsp.reading import Reading, read
from energyc.surfaces.lsp.text import Text


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
