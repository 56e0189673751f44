"""The words of the language by their use, as the grammars of editors colour them."""

from __future__ import annotations

from collections.abc import Iterable

from energyc.highlight import LOGIC, SPECIAL
from energyc.language.resolve.words import LANGUAGE_FUNCTIONS, LAWS, SETS
from energyc.language.syntax.scan import DECLARATION_WORDS, EQUATION_WORDS, RESERVED, SETTINGS_WORDS

INSIDE = frozenset({"in", "on"})
#: Words that open neither a declaration nor an equation.
OTHERS = RESERVED - DECLARATION_WORDS - EQUATION_WORDS - INSIDE - set(LOGIC)

__all__ = [
    "DECLARATION_WORDS",
    "EQUATION_WORDS",
    "INSIDE",
    "LANGUAGE_FUNCTIONS",
    "LAWS",
    "LOGIC",
    "OTHERS",
    "SETS",
    "SETTINGS_WORDS",
    "SPECIAL",
    "one_of",
]


def one_of(words: Iterable[str], sign: str = "|") -> str:
    """The words in order, as alternatives."""
    return sign.join(sorted(words))
