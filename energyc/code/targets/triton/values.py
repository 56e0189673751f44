"""Expressions in a kernel with the facts beside their text: where they differ, and whether they have a type."""

from __future__ import annotations

from dataclasses import dataclass, field

from energyc.code.tree import expressions as e


@dataclass(frozen=True)
class Along:
    """Whether a value differs along the places of a program, and along the entries of a row.

    One that differs from program to program alone is a ``known`` number of Triton's, none of Python's.
    """

    places: bool = False
    row: bool = False
    known: bool = False

    def __or__(self, other: Along) -> Along:
        return Along(self.places or other.places, self.row or other.row, self.known or other.known)

    @property
    def block(self) -> bool:
        """Whether it is a block, and not one number."""
        return self.places or self.row

    @property
    def shape(self) -> Along:
        """Along which axes it is a block."""
        return Along(self.places, self.row)

    @property
    def tensor(self) -> bool:
        """Whether it is a value of Triton's."""
        return self.block or self.known


PLAIN, PLACES, ROW, KNOWN = Along(), Along(places=True), Along(row=True), Along(known=True)


@dataclass(frozen=True)
class Index:
    """An integer or a condition."""

    code: e.Expr
    along: Along = field(default=PLAIN)


@dataclass(frozen=True)
class Value:
    """A real number; one that is ``typed`` has the type of the states already, as a number of Python's has not."""

    code: e.Expr
    along: Along = field(default=PLAIN)
    typed: bool = True


def both(one: Index | None, other: Index | None) -> Index | None:
    """The condition that both hold; None holds always."""
    if one is None or other is None:
        return one or other
    return Index(e.Binary("&", one.code, other.code), one.along | other.along)


def negated(test: Index) -> Index:
    """The condition that it does not hold, for a block."""
    return Index(e.Unary("~", test.code), test.along)
