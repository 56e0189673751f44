"""The name that was probably meant by a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

#: How alike two words must be: twice the letters they share in order, over the letters of both.
ALIKE = 0.7


def near(word: str, among: Iterable[str], most: int = 1) -> list[str]:
    """The names that a word was probably meant to be, the nearest first; one in other case is nearer than any."""
    names = list(dict.fromkeys(among))
    same = [name for name in names if name.lower() == word.lower() and name != word]
    return same[:most] or get_close_matches(word, names, n=most, cutoff=ALIKE)
