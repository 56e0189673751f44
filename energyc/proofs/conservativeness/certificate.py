"""Certificates of a symmetric Jacobian: the bilinear form u . J w as a list of terms, each paired with its mirror.

A certificate consists of an expansion (u . J w is the sum of the terms, whose atoms have the symmetries listed) and a
pairing: exchanging u and w turns term k, its labels renamed, into term ``mirror``. The pairing is checked
symbolically, the expansion and the symmetries numerically.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from energyc.mathematics.ir import Coefficient, Input, Node
from energyc.proofs.fields.problem import ForceField

#: A permutation of an atom's axes, and the sign by which it multiplies the atom.
Symmetry = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class AtomEntry:
    """``node / scale`` with its axes in ``order``; each symmetry is a permutation of those axes and a sign."""

    node: Node
    order: tuple[int, ...]
    scale: Fraction
    symmetries: tuple[Symmetry, ...]


@dataclass(frozen=True)
class FactorEntry:
    """An atom with labels for its axes, raised to a power."""

    atom: int
    labels: tuple[int, ...]
    exponent: Fraction


@dataclass(frozen=True)
class TermEntry:
    """``coefficient * product``, summed over all labels; ``dims`` gives each label's dim.

    Exchanging u and w turns it into the term with index ``mirror``; ``renaming`` maps its labels to those of that term.
    """

    coefficient: Coefficient
    factors: tuple[FactorEntry, ...]
    dims: tuple[tuple[int, str], ...]
    mirror: int
    renaming: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Certificate:
    """A proof that a Jacobian is symmetric. ``left`` and ``right`` are the atoms of u and w for each state.

    With ``impulses`` the terms include the distributional derivatives of jumps, which are zero off the jumps. The
    proof holds for all sizes of the dims except those in ``pinned``. Of these the ``square`` dims matter only in that
    orthogonal params are as high as wide.
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
    square: tuple[str, ...] = ()
