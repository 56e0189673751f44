"""The equations of a spec: terms, quantities, gradients in flows, selections whose sides meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from energyc.language.syntax import ast
from energyc.mathematics.ir import Input, Node


@dataclass(frozen=True)
class Slope:
    """``grad(E1 + E2, q[...])`` in a flow: the gradient of energies by a let or state ``by``, all else held.

    ``stand_in`` stands for it in the flow as written; ``at`` is the node it is taken by, ``node`` its value.
    """

    stand_in: Input
    energies: tuple[str, ...]
    by: str
    at: Node
    node: Node


@dataclass(frozen=True)
class Term:
    """An energy (a node without dims, already summed over its family), or a force or the flow of one state.

    The node of a force or flow has the dims of its state. ``family`` is the node before the sum, with the names of its
    indices. A flow is called like its state; its ``family`` holds the stand-ins of its ``slopes``.
    """

    name: str
    kind: Literal["energy", "force", "flow"]
    node: Node
    state: str | None
    family: Node
    indices: tuple[str, ...]
    tree: ast.Equation
    slopes: tuple[Slope, ...] = ()

    @property
    def word(self) -> str:
        """Its statement; a flow may be written as the ``next`` value."""
        return self.tree.word

    @property
    def is_family(self) -> bool:
        """Whether it is an energy for each of its indices, of which ``node`` is the sum."""
        return self.kind == "energy" and bool(self.family.dims)


@dataclass(frozen=True)
class Quantity:
    """A let, readout, cost or metric: its node and the names of its indices, one for each dim."""

    name: str
    node: Node
    indices: tuple[str, ...]
    tree: ast.Equation


@dataclass(frozen=True)
class ContinuityCondition:
    """A sufficient condition for the sides of a selection, or these and their slopes, to be equal at an edge.

    They are if all ``gaps`` are 0, and all that must be ``positive`` is: then the sides have a value there.
    """

    gaps: tuple[Node, ...]
    positive: tuple[Node, ...]


@dataclass(frozen=True)
class RealSelection:
    """``where(condition, a, b)`` of a ``condition`` on real values, which is computed by the ``masks``.

    It is continuous, where its sides are, if at each of its ``edges`` one of the conditions holds, and has continuous
    slopes, where these have, if one of those of ``slopes`` does; there are none where its sides meet by construction.
    """

    masks: frozenset[Node]
    condition: str
    edges: tuple[tuple[ContinuityCondition, ...], ...]
    slopes: tuple[tuple[ContinuityCondition, ...], ...] | None = None
