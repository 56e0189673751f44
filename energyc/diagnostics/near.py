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


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """The help for an unknown name: the known one that is spelt like it, or ``otherwise``."""
    similar = near(name, known)
    return f"did you mean `{similar[0]}`?" if similar else otherwise


def listed(names: Iterable[str], conjunction: str = "and") -> str:
    """``a, b and c``."""
    items = list(names)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"


def quoted(names: Iterable[str], conjunction: str = "and") -> str:
    """```a`, `b` and `c```."""
    return listed((f"`{name}`" for name in names), conjunction)
