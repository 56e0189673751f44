"""Sentences and formulas for docstrings and remarks, in lines."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

#: The most characters of a line of prose.
WIDTH = 110
#: A sentence and a formula of at most so many characters are one line of a docstring.
SHORT_HEAD, SHORT_LINE = 40, 100
#: The word that opens a statement of the spec.
_STATEMENT = re.compile(r"^(?:readout|cost|metric|energy) ")


def wrapped(text: str, indent: str = "") -> list[str]:
    """Paragraphs wrapped; ``indent`` stands before all lines of one but the first."""
    return [
        line
        for paragraph in text.split("\n")
        for line in textwrap.wrap(paragraph, WIDTH, subsequent_indent=indent, break_long_words=False) or [""]
    ]


def one_line(head: str, formulas: Sequence[str]) -> str | None:
    """Return a sentence with its only formula; None where they are several or too long for a line."""
    if len(formulas) != 1 or len(head) > SHORT_HEAD:
        return None
    line = f"{head.removesuffix('.')}: {_STATEMENT.sub('', ' '.join(formulas[0].split()))}"
    return line if len(line) <= SHORT_LINE else None
