"""The quantities of a network that are shown, as nodes: its terms, forces, Jacobian products, updates, costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from energyc.derivation.derive import Derivation, derive
from energyc.derivation.notation import Notation
from energyc.language.network import Network, Quantity, Repeat
from energyc.mathematics.ir import Node

#: What each section holds, in the order in which they are shown; ``a`` and ``v`` are vectors on the states.
SECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "terms": "each energy, summed over its indices, and each force or flow that is written as such",
        "forces": "F: minus the slope of the energy by each state, and the forces that are written as such",
        "vjp": "a dF/dz by each state z, and a dF/dtheta by each param theta: the adjoint",
        "jvp": "dF/dz v for each state: the tangent",
        "updates": "dE/dtheta by each param: what equilibrium propagation contrasts at two equilibria",
        "cost": "each cost",
        "cost_slopes": "dC by each state, which a nudge adds, and by each param that the cost itself reads",
        "readouts": "each readout",
        "streams": "what goes from copy to copy of a repeat: where it starts, and what the next copy gets",
        "inputs": "what the clamps and shared params of each layer are",
    }
)


class Section:
    """A section of a network's formulas, made when it is asked for; ``SECTIONS`` says what it holds."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.__doc__ = name, SECTIONS[name]

    def __get__(self, formulas: Sections | None, owner: type) -> Any:
        if formulas is None:
            return self
        made = formulas.__dict__
        if self.name not in made:
            made[self.name] = formulas.section(self.name)
        return made[self.name]


class Sections(ABC):
    """The sections of a network's formulas, by name."""

    terms = Section()
    forces = Section()
    vjp = Section()
    jvp = Section()
    updates = Section()
    cost = Section()
    cost_slopes = Section()
    readouts = Section()
    streams = Section()
    inputs = Section()

    @abstractmethod
    def section(self, name: str) -> dict[str, Any]:
        """Make a section of ``SECTIONS``. Raises UserError E0971 for what is too large."""


@dataclass(frozen=True)
class Side:
    """A node, and the names of the indices of its axes."""

    node: Node
    indices: tuple[str, ...]


Sides = dict[str, Side]


@dataclass(frozen=True)
class Quantities:
    """The sections of a network, each derived when it is asked for."""

    network: Network
    notation: Notation

    @cached_property
    def derivation(self) -> Derivation:
        """The derived graphs."""
        return derive(self.network)

    def section(self, name: str) -> Sides:
        """A section of ``SECTIONS``."""
        made: Sides = getattr(self, f"_{name}")()
        return made

    def _terms(self) -> Sides:
        return {name: Side(t.node, t.indices if t.state else ()) for name, t in self.network.terms.items()}

    def _forces(self) -> Sides:
        return self._like(self.derivation.states, self.derivation.force)

    def _vjp(self) -> Sides:
        d = self.derivation
        return {
            **self._like(d.states, d.vjp(d.force, d.states)),
            **self._like(d.params, d.vjp(d.force, d.params)),
        }

    def _jvp(self) -> Sides:
        return self._like(self.derivation.states, self.derivation.jvp(self.derivation.force))

    def _updates(self) -> Sides:
        """Energies that flows name move no state by themselves, but are contrasted all the same."""
        d = self.derivation
        return self._like(d.params, d.descent_gradient if self.network.flows else d.energy_gradient)

    def _cost(self) -> Sides:
        return _of(self.network.costs)

    def _cost_slopes(self) -> Sides:
        d = self.derivation
        return {**self._like(d.states, d.cost_force), **self._like(d.params, d.cost_gradient)}

    def _readouts(self) -> Sides:
        return _of(self.network.readouts)

    def _streams(self) -> Sides:
        repeats = (block for block in self.network.blocks if isinstance(block, Repeat))
        streams = [stream for repeat in repeats for stream in repeat.streams.values()]
        starts = {f"start {s.name}": self._side(s.node, s.start) for s in streams}
        return {**starts, **{f"next {s.name}": self._side(s.node, s.next) for s in streams}}

    def _inputs(self) -> Sides:
        return {
            f"{name}.{given}": self._side(node, node)
            for name, layer in self.network.layers.items()
            for given, node in {**layer.clamps, **layer.params}.items()
        }

    def _like(self, axes: Mapping[str, Node], nodes: Mapping[str, Node]) -> Sides:
        """Nodes with the indices of the nodes that they are slopes by."""
        return {name: self._side(axes[name], node) for name, node in nodes.items()}

    def _side(self, axes: Node, node: Node) -> Side:
        return Side(node, self.notation.indices(axes))


def _of(quantities: Mapping[str, Quantity]) -> Sides:
    return {name: Side(quantity.node, quantity.indices) for name, quantity in quantities.items()}
