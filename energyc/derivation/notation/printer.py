"""The base of all printers of formulas: precedence, and brackets where a part binds weaker than its place asks."""

from __future__ import annotations

from energyc.derivation.notation.formula import Formula
from energyc.mathematics.expressions import Traverser

#: How tightly a text binds.
SUM, TERM, FACTOR, ATOM = range(4)
Written = tuple[str, int]


class Printer(Traverser[Written]):
    """A formula as a text and how tightly it binds; a language has a rule for each kind of node."""

    def bracketed(self, text: str) -> str:
        """A text in brackets."""
        return f"({text})"

    def at(self, formula: Formula, least: int) -> str:
        """In brackets if it binds weaker than its place asks."""
        text, level = self(formula)
        return text if level >= least else self.bracketed(text)

    def plain(self, formula: Formula) -> str:
        """Without brackets."""
        return self(formula)[0]
