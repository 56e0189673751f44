"""The derived quantities of a network, every one by the two functions of :mod:`energyc.calculus`.

Notation (rules.md): states z, params theta, force ``F = -dE/dz + user forces``, cost C, J = dF/dz.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from energyc.calculus import adjoint, tangent
from energyc.ir import ONE, Graph, Input, Node
from energyc.resolve.network import Network


@dataclass(frozen=True)
class Output:
    """One result of a routine; ``summed`` ones are added up over the batch (gradients by params)."""

    key: str
    node: Node
    summed: bool = False


@dataclass(frozen=True)
class Routine:
    """A function of the generated module: what it computes, and names for nodes on the way (adjoints of lets)."""

    name: str
    outputs: tuple[Output, ...]
    hints: Mapping[Node, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Derivation:
    """The derived graphs of a network. Everything is a node of ``network.graph``; nothing is computed twice."""

    network: Network

    @property
    def graph(self) -> Graph:
        """The maker of all nodes."""
        return self.network.graph

    @cached_property
    def states(self) -> dict[str, Input]:
        """The inputs that stand for states."""
        return {name: state.node for name, state in self.network.states.items()}

    @cached_property
    def params(self) -> dict[str, Input]:
        """The inputs that stand for untied params."""
        return {name: param.node for name, param in self.network.params.items()}

    @cached_property
    def real_clamps(self) -> dict[str, Input]:
        """The clamps one may differentiate by."""
        return {name: clamp.node for name, clamp in self.network.clamps.items() if clamp.node.over is None}

    @cached_property
    def energy(self) -> Node:
        """E, the sum of the energy terms: a number for each sample."""
        return self.graph.add([(ONE, term.node) for term in self.network.energies.values()], ())

    @cached_property
    def term_forces(self) -> dict[str, dict[str, Node]]:
        """For each term the force on each state it moves."""
        return {name: self._term_force(name)[0] for name in self.network.terms}

    def _term_force(self, name: str) -> tuple[dict[str, Node], dict[Node, Node]]:
        term = self.network.terms[name]
        if term.kind == "force":
            assert term.state is not None
            return {term.state: term.node}, {}
        bars: dict[Node, Node] = {}
        slopes = self._by(self.states, {term.node: self.graph.constant(-1)}, frozen=False, bars=bars)
        return slopes, bars

    def _by(
        self, wanted: Mapping[str, Input], seeds: Mapping[Node, Node], *, frozen: bool = True, bars: dict[Node, Node] | None = None
    ) -> dict[str, Node]:
        """Adjoints by named inputs; those that do not occur are left out."""
        found = adjoint(self.graph, seeds, list(wanted.values()), frozen=frozen, strict=False, bars=bars)
        return {name: found[node] for name, node in wanted.items() if node in found}

    @cached_property
    def _energy_adjoint(self) -> tuple[dict[str, Node], dict[Node, Node]]:
        bars: dict[Node, Node] = {}
        return self._by(self.states, {self.energy: self.graph.constant(-1)}, frozen=False, bars=bars), bars

    @cached_property
    def force(self) -> dict[str, Node]:
        """F: the force on each state, of all energies together and its user forces."""
        slopes, _ = self._energy_adjoint
        total = {}
        for name, node in self.states.items():
            parts = [(ONE, slopes[name])] if name in slopes else []
            parts += [(ONE, term.node) for term in self.network.forces.values() if term.state == name]
            total[name] = self.graph.add(parts, node.dims)
        return total

    @cached_property
    def seeds(self) -> dict[str, Input]:
        """A vector for each state, to be multiplied by the transposed Jacobian."""
        return {name: self.graph.input(name, "seed", node.dims) for name, node in self.states.items()}

    @cached_property
    def directions(self) -> dict[str, Input]:
        """A vector for each state, to be multiplied by the Jacobian."""
        return {name: self.graph.input(name, "direction", node.dims) for name, node in self.states.items()}

    @cached_property
    def readout_seeds(self) -> dict[str, Input]:
        """A vector for each readout, to be multiplied by its transposed derivative."""
        return {name: self.graph.input(name, "seed", q.node.dims) for name, q in self.network.readouts.items()}

    def readout_pullback(self, wanted: Mapping[str, Input]) -> dict[str, Node]:
        """``<seed, d readouts / d input>`` for each wanted input that a readout reads."""
        seeds: dict[Node, Node] = {}
        for name, quantity in self.network.readouts.items():
            seed: Node = self.readout_seeds[name]
            seeds[quantity.node] = self.graph.plus(seeds[quantity.node], seed) if quantity.node in seeds else seed
        return self._by(wanted, seeds)

    def _seeded(self, forces: Mapping[str, Node]) -> dict[Node, Node]:
        """``<seed, force>`` as seeds of reverse mode; a force node shared by two states gets both seeds."""
        seeds: dict[Node, Node] = {}
        for name, node in forces.items():
            seed: Node = self.seeds[name]
            seeds[node] = self.graph.plus(seeds[node], seed) if node in seeds else seed
        return seeds

    def pullback(self, forces: Mapping[str, Node], wanted: Mapping[str, Input]) -> dict[str, Node]:
        """``<seed, d forces / d input>`` for each wanted input on which a force depends."""
        return self._by(wanted, self._seeded(forces))

    def pushforward(self, forces: Mapping[str, Node]) -> dict[str, Node]:
        """``(d forces / dz) direction`` for each state."""
        moves = {self.states[name]: self.directions[name] for name in self.states}
        return dict(zip(forces, tangent(self.graph, list(forces.values()), moves), strict=True))

    @cached_property
    def start(self) -> dict[str, Node]:
        """Where each state starts."""
        return {n: s.start or self.graph.zero(s.node.dims) for n, s in self.network.states.items()}

    @cached_property
    def cost_force(self) -> dict[str, Node]:
        """dC/dz of one sample, for the states that the cost reads."""
        return self._by(self.states, self._cost_seed)

    @cached_property
    def cost_gradient(self) -> dict[str, Node]:
        """The direct dC/dtheta of one sample."""
        return self._by(self.params, self._cost_seed)

    @property
    def _cost_seed(self) -> dict[Node, Node]:
        return {self.network.cost.node: self.graph.constant(1)} if self.network.cost else {}

    @cached_property
    def energy_gradient(self) -> dict[str, Node]:
        """dE/dtheta of one sample."""
        return self._by(self.params, {self.energy: self.graph.constant(1)})

    @cached_property
    def user_forces(self) -> dict[str, Node]:
        """The sum of the terms written as forces, for the states that have any."""
        found: dict[str, list[tuple[object, Node]]] = {}
        for term in self.network.forces.values():
            found.setdefault(str(term.state), []).append((ONE, term.node))
        return {name: self.graph.add(parts, self.states[name].dims) for name, parts in found.items()}  # type: ignore[arg-type]

    def adjoint_names(self) -> dict[Node, str]:
        """Names for what the force computes on the way: ``pull_q`` is -dE/dq of the let q."""
        _, bars = self._energy_adjoint
        names = {quantity.node: name for name, quantity in self.network.lets.items()}
        return {bar: f"pull_{names[node]}" for node, bar in bars.items() if node in names}


def derive(network: Network) -> Derivation:
    """The derivations of a network, made as they are asked for."""
    return Derivation(network)
