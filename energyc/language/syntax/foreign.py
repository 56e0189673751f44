"""Remedies for the signs and words of other notations and libraries."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from energyc import resources

#: The tables of grammar/foreign.toml that map a word to its counterpart here.
Table = Literal["functions", "names", "dims", "laws", "sets", "statements", "attributes"]
_INDEXED_BY_UNDERSCORE = re.compile(r"(sum|mean|max|min|prod|logsumexp|softmax)_([a-z]+)")


def counterpart(table: Table, word: str) -> str | None:
    """The help for a word of another library, or None for one that is not known."""
    help: str | None = resources.table("foreign")[table].get(word.lower())
    return help


def function_counterpart(name: str) -> str | None:
    """The help for a function of another library, or for ``sum_j``; None for one that is not known."""
    indexed = _INDEXED_BY_UNDERSCORE.fullmatch(name)
    if indexed is not None:
        return f"write `{indexed[1]}[{','.join(indexed[2])}](...)`"
    return counterpart("functions", name)


def has_no_counterpart(function: str) -> bool:
    """Whether other libraries have this function and the language has none like it, however similarly spelt."""
    return function.lower() in resources.table("foreign")["absent"]["functions"]


def is_module(name: str) -> bool:
    """Whether this is how other libraries are imported: ``np``, ``torch``."""
    return name in resources.table("foreign")["modules"]["names"]


def sign_counterpart(sign: str) -> str:
    """The help for a sign of another notation: from grammar/mistakes.toml, or by what Unicode calls it."""
    signs: dict[str, str] = resources.table("mistakes")["characters"]
    if sign in signs:
        return signs[sign]
    words = unicodedata.name(sign, "").lower().split()
    if len(words) >= 4 and words[0] == "greek" and words[2] == "letter":
        letter = words[3].replace("lamda", "lambda")
        return f"write it in letters: `{letter.capitalize() if words[1] == 'capital' else letter}`"
    if sign.isalpha():
        return "a name contains the letters a to z and A to Z, digits and `_`"
    plain = unicodedata.normalize("NFKC", sign)
    return f"write `{plain}`" if plain.isascii() and plain.isprintable() and plain != sign else "remove it"
