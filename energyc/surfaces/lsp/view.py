"""The subject of a request: a version of a document's text, and its reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lsprotocol import types

from energyc.surfaces.lsp.reading import Reading
from energyc.surfaces.lsp.text import Text


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
