"""Sentences and formulas for docstrings and remarks, in lines."""

from __future__ import annotations

import textwrap

#: The most characters of a line of prose.
WIDTH = 110


def wrapped(text: str, indent: str = "") -> list[str]:
    """Paragraphs wrapped; ``indent`` stands before all lines of one but the first."""
    return [
        line
        for paragraph in text.split("\n")
        for line in textwrap.wrap(paragraph, WIDTH, subsequent_indent=indent, break_long_words=False) or [""]
    ]
