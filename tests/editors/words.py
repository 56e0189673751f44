"""The words of the language by their use, as the grammars of editors colour them."""

from __future__ import annotations

from collections.abc import Iterable

from energyc.highlight import LOGIC
from energyc.language.syntax.scan import DECLARATION_WORDS, EQUATION_WORDS, RESERVED

INSIDE = frozenset({"in", "on"})
#: Words that open neither a declaration nor an equation.
OTHERS = RESERVED - DECLARATION_WORDS - EQUATION_WORDS - INSIDE - set(LOGIC)


def one_of(words: Iterable[str], sign: str = "|") -> str:
    """The words in order, as alternatives."""
    return sign.join(sorted(words))
