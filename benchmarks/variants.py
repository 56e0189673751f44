"""Variants of a spec: its text with some pieces in the place of others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def rewritten(spec: Path, pieces: Mapping[str, str]) -> str:
    """The text of a spec, each piece replaced in turn; raises ``ValueError`` if one is not there exactly once."""
    text = spec.read_text(encoding="utf-8")
    for piece, other in pieces.items():
        if text.count(piece) != 1:
            raise ValueError(f"{spec.name} has {text.count(piece)} times: {piece!r}")
        text = text.replace(piece, other)
    return text
