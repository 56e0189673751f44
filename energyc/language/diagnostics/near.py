"""The name that was probably meant by an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from energyc.language.diagnostics.remedy import Remedy, writing
from energyc.language.diagnostics.source import Span
from energyc.resources import table

#: The least similarity of two words: twice the letters they share in order, over the letters of both.
SIMILARITY = 0.7
#: Among more names than these none is looked for: thousands of unknown names would be compared with thousands.
MOST_KNOWN = 500


def near(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names most similar to a word, the most similar first.

    A synonym (grammar/foreign.toml) is more similar than another case, and that more than another spelling.
    """
    names = list(dict.fromkeys(known))
    if len(names) > MOST_KNOWN:
        return []
    synonym = table("foreign")["synonyms"].get(word.lower().replace("-", "_"))
    same = [name for name in names if name.lower() == word.lower() and name != word]
    return [synonym] if synonym in names else same[:most] or get_close_matches(word, names, n=most, cutoff=SIMILARITY)


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None, at: Span | None = None) -> str | None:
    """The help for an unknown name: the known one that is spelt like it, or ``otherwise``.

    ``at`` is where the name stands; the help then has the fix that writes the known one.
    """
    similar = near(name, known)
    if not similar:
        return otherwise
    help = f"did you mean `{similar[0]}`?"
    return help if at is None else Remedy(help, writing(similar[0], at))


def listed(names: Iterable[str], conjunction: str = "and") -> str:
    """``a, b and c``."""
    items = list(names)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"


def quoted(names: Iterable[str], conjunction: str = "and") -> str:
    """```a`, `b` and `c```."""
    return listed((f"`{name}`" for name in names), conjunction)
