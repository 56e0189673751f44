"""A proof written down: the bilinear form u . J w term by term, and for each term its mirror image among them.

Its claim is that F has a symmetric Jacobian. It consists of an expansion (u . J w is the sum of the terms, with the
symmetries of the atoms in them) and of a pairing: exchanging u and w turns term k, its labels renamed, into term
``mirror``. The pairing is checked symbol by symbol, the expansion and the symmetries by numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from energyc.analysis.problem import ForceField
from energyc.ir import Coefficient, Input, Node

#: A permutation of an atom's axes and the sign that it gives the atom.
Symmetry = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class AtomEntry:
    """``node / scale`` with its axes in ``order``; each symmetry is a permutation of those and a sign."""

    node: Node
    order: tuple[int, ...]
    scale: Fraction
    symmetries: tuple[Symmetry, ...]


@dataclass(frozen=True)
class FactorEntry:
    """An atom at labels, to a power."""

    atom: int
    labels: tuple[int, ...]
    exponent: Fraction


@dataclass(frozen=True)
class TermEntry:
    """``coefficient * product``, summed over all labels; ``dims`` gives each label's dim.

    ``mirror`` is the term that it becomes when u and w change places, ``renaming`` what its labels are called there.
    """

    coefficient: Coefficient
    factors: tuple[FactorEntry, ...]
    dims: tuple[tuple[int, str], ...]
    mirror: int
    renaming: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Certificate:
    """A symmetric Jacobian, provable again. ``left`` and ``right`` are the atoms of u and w for each state.

    With ``impulses`` the terms hold the slopes of jumps too, as of a distribution; off the jumps these are zero. It
    speaks of all sizes of the dims but those ``pinned`` to one.
    """

    field: ForceField
    u: tuple[Input, ...]
    w: tuple[Input, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    atoms: tuple[AtomEntry, ...]
    terms: tuple[TermEntry, ...]
    impulses: bool = False
    pinned: tuple[tuple[str, int], ...] = ()
