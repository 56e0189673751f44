"""Proximal steps as data: the convex kinks by which the steps of a state move, and those that stay in its force.

With the set of its state the operator has to be known (docs/rules.md, proximal steps).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from energyc.language.network import ConstraintSet
from energyc.mathematics.ir import Node


@dataclass(frozen=True)
class Corner:
    """A kink of an energy at a number: its slope rises from ``-below`` to ``above`` there.

    The weights have the dims of the state; None is 0.
    """

    energy: str
    at: float
    below: Node | None
    above: Node | None


@dataclass(frozen=True)
class Norm:
    """``weight * sqrt(sum of squares along axes)``; the weight has the dims of the state and is the same along axes."""

    energy: str
    axes: tuple[int, ...]
    weight: Node


@dataclass(frozen=True)
class Proximal:
    """The kinks of a state that its steps treat proximally: corners in the order of their numbers, and a norm.

    With F_s the force without them and P the projection on its set, which commutes with them, a step is
    ``prox(z + step F_s)``: first the corners, then the set, then the norm.
    """

    state: str
    corners: tuple[Corner, ...]
    norm: Norm | None
    constraint: ConstraintSet | None

    @property
    def kinks(self) -> tuple[Corner | Norm, ...]:
        """All kinks."""
        return (*self.corners, *((self.norm,) if self.norm else ()))

    @property
    def energies(self) -> tuple[str, ...]:
        """The energies that have the kinks."""
        return tuple(dict.fromkeys(kink.energy for kink in self.kinks))

    @cached_property
    def weights(self) -> tuple[Node, ...]:
        """The weights of all kinks, each once."""
        sides = [side for corner in self.corners for side in (corner.below, corner.above)]
        whole = [*sides, self.norm.weight if self.norm else None]
        return tuple(dict.fromkeys(node for node in whole if node is not None))

    def with_weights(self, made: Mapping[Node, Node]) -> Proximal:
        """The same with other nodes for the weights."""
        corners = tuple(
            replace(c, below=made[c.below] if c.below else None, above=made[c.above] if c.above else None)
            for c in self.corners
        )
        norm = replace(self.norm, weight=made[self.norm.weight]) if self.norm else None
        return replace(self, corners=corners, norm=norm)

    @property
    def operator(self) -> str:
        """The name of the operator."""
        soft = all(corner.below is corner.above and corner.at == 0 for corner in self.corners)
        one_sided = "a threshold at " + " and ".join(dict.fromkeys(f"{corner.at:.6g}" for corner in self.corners))
        parts = [("soft threshold" if soft else one_sided)] if self.corners else []
        return " and ".join([*parts, *(["group threshold"] if self.norm else [])])


@dataclass(frozen=True)
class Staying:
    """A kink that stays in the gradient of an energy by a state, and why it is not taken."""

    energy: str
    state: str
    why: str


@dataclass(frozen=True)
class Kinks:
    """The kinks of a network: those that move proximally, by state, those that stay, and the force without the former.

    ``smooth`` has the force of an energy on a state for each pair of them that has kinks which are taken.
    """

    proximal: Mapping[str, Proximal]
    staying: tuple[Staying, ...]
    smooth: Mapping[tuple[str, str], Node]
