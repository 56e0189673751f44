"""The verdict on a force and its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from energyc.language.network import Structure
from energyc.mathematics.ir import Node

Kind = Literal["conservative", "not-conservative", "undecided"]
Class = Literal["conservative", "metric-descent", "not-conservative", "undecided"]
Evidence = Literal["gradient", "proof", "witness", "none"]
Entry = Fraction | float


@dataclass(frozen=True)
class Place:
    """One coordinate of the stacked state: a state's name and the position in it."""

    state: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.state}[{', '.join(map(str, self.index))}]"


@dataclass(frozen=True)
class Enclosure:
    """Bounds that enclose a number; equal bounds, as fractions, are exact."""

    low: Entry
    high: Entry

    @property
    def middle(self) -> float:
        """The midpoint as a float, which rounding may place just outside."""
        return (float(self.low) + float(self.high)) / 2

    def disjoint(self, other: Enclosure) -> bool:
        """Whether no number lies in both."""
        return self.high < other.low or other.high < self.low


@dataclass(frozen=True)
class Witness:
    """Two mirrored entries of the Jacobian that differ: ``d F[row] / d z[column]`` and ``d F[column] / d z[row]``.

    ``sizes`` are the dims they were computed at, ``point`` the value of every input there, as exact numbers in
    nested lists. ``dims`` are the dims to set in the spec for these sizes, None if its formulas do not allow them.
    ``certified``: the enclosures are disjoint; otherwise only floats differ, by far more than rounding.
    """

    row: Place
    column: Place
    entry: Enclosure
    mirror: Enclosure
    certified: bool
    arithmetic: Literal["fractions", "intervals", "floats"]
    sizes: tuple[tuple[str, int], ...]
    point: tuple[tuple[str, object], ...]
    dims: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True)
class LoopWitness:
    """A closed polygon around which a force does ``work``, known up to ``error``; a gradient would do none.

    ``corners`` are the states' values by name, in nested lists, at each corner in order; the last edge returns to
    the first corner. ``sizes``, ``point`` (every other input) and ``dims`` are as in a :class:`Witness`.
    """

    work: float
    error: float
    corners: tuple[tuple[tuple[str, object], ...], ...]
    sizes: tuple[tuple[str, int], ...]
    point: tuple[tuple[str, object], ...]
    dims: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True)
class Tie:
    """One identification: axis k of ``target`` is axis ``axes[k]`` of ``source``; a symmetry if both are the same."""

    target: str
    source: str
    axes: tuple[int, ...]

    @property
    def symmetry(self) -> Structure | None:
        """The symmetry of a tensor that is tied to itself by an exchange of axes; None for any other tie."""
        rows = tuple(k for k, axis in enumerate(self.axes) if axis > k)
        exchange = self.target == self.source and all(self.axes[axis] == k for k, axis in enumerate(self.axes))
        return Structure("symmetric", rows, tuple(self.axes[k] for k in rows)) if rows and exchange else None

    def __str__(self) -> str:
        places = "abcdefgh"[: len(self.axes)]
        turned = (places[self.axes.index(k)] for k in range(len(places)))
        return f"{self.target}[{','.join(places)}] = {self.source}[{','.join(turned)}]"


@dataclass(frozen=True)
class SuggestedTie:
    """Ties that, applied together, provably make a force conservative."""

    ties: tuple[Tie, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.ties))


@dataclass(frozen=True)
class Verdict:
    """Whether a force is minus a gradient. ``potential`` is an energy E with F = -dE/dz, if one is known.

    ``certificate`` is the one that the kernel accepts. ``tried`` describes the attempts in sentences, mainly for
    undecided verdicts. ``on_set``: the force is a gradient along the set of its states but not in all space;
    ``pinned``: the proof holds only at these sizes.
    """

    kind: Kind
    evidence: Evidence
    witness: Witness | LoopWitness | None = None
    certificate: Mapping[str, Any] | None = None
    potential: Node | None = None
    ties: tuple[SuggestedTie, ...] = ()
    tried: tuple[str, ...] = ()
    on_set: bool = False

    @property
    def pinned(self) -> tuple[tuple[str, int], ...]:
        """The sizes to which a proof is restricted; empty if it holds at all sizes."""
        known = self.certificate is not None and self.evidence == "proof"
        return tuple(self.certificate["statement"]["sizes"].items()) if known and self.certificate else ()
