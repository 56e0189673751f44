"""The derived quantities of a network, all by forward and reverse mode (:mod:`energyc.mathematics.calculus`).

Notation (docs/rules.md): states z, params theta, force ``F = -dE/dz + user forces``, cost C, J = dF/dz.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from energyc.derivation.derive.blocks import Blocks, blocks_of
from energyc.derivation.derive.kink_search import kinks_of, may_have_kinks
from energyc.derivation.derive.predictions import Prediction, predictions
from energyc.derivation.derive.proximal import Kinks, Proximal
from energyc.derivation.derive.sums import Sums, summed_over_steps
from energyc.language.network import Network, Slope
from energyc.mathematics.calculus import adjoint, depends, difference, is_cut, substitute, tangent
from energyc.mathematics.ir import ONE, Coefficient, Graph, Input, Node, walk


@dataclass(frozen=True)
class Output:
    """One result of a routine; ``summed`` means summed over the batch (gradients by params).

    ``key`` is the quantity it belongs to (a state, a param), ``wish`` the preferred name of its variable.
    """

    key: str
    node: Node
    summed: bool = False
    wish: str = ""


@dataclass(frozen=True)
class Routine:
    """A function of the generated module, by its outputs."""

    name: str
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Derivation:
    """The derived graphs of a network. Everything is a node of ``network.graph``, derived on first access and cached.

    ``unproved`` names the terms that are not known to be gradients; J_nc is the Jacobian of their sum. ``descends``:
    all flows go down the energies in a metric. ``names`` holds the names of the nodes derived so far: a let q itself,
    ``v_q`` its tangent, ``pull_q`` its adjoint.
    """

    network: Network
    unproved: tuple[str, ...] = ()
    descends: bool = False
    names: dict[Node, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names.update({quantity.node: name for name, quantity in self.network.lets.items()})

    @property
    def graph(self) -> Graph:
        """The graph that holds all nodes."""
        return self.network.graph

    @cached_property
    def states(self) -> dict[str, Input]:
        """The inputs for the states, by name."""
        return {name: state.node for name, state in self.network.states.items()}

    @cached_property
    def descending(self) -> dict[str, Input]:
        """The inputs for the states without a flow, which move down the energies."""
        return {name: state.node for name, state in self.network.descending.items()}

    @cached_property
    def params(self) -> dict[str, Input]:
        """The inputs for the untied params, by name."""
        return {name: param.node for name, param in self.network.params.items()}

    @cached_property
    def real_clamps(self) -> dict[str, Input]:
        """The clamps with real elements, which can be differentiated by."""
        return {name: clamp.node for name, clamp in self.network.clamps.items() if clamp.node.over is None}

    @cached_property
    def energy(self) -> Node:
        """The sum of the energies that move states by themselves: a number for each sample."""
        return self.graph.add([(ONE, term.node) for term in self.network.acting.values()], ())

    @cached_property
    def term_forces(self) -> dict[str, dict[str, Node]]:
        """For each term, the force on each state that it moves."""
        return {name: self._term_force(name) for name in self.network.terms}

    def _term_force(self, name: str) -> dict[str, Node]:
        term = self.network.terms[name]
        if term.kind != "energy":
            assert term.state is not None
            return {term.state: term.node}
        if name not in self.network.acting:
            return {}
        return self._by(self.descending, {term.node: self.graph.constant(-1)}, frozen=False)

    def _by(
        self, wanted: Mapping[str, Input], cotangents: Mapping[Node, Node], *, frozen: bool = True
    ) -> dict[str, Node]:
        """The adjoints of the ``wanted`` inputs, by name, without those that do not occur."""
        bars: dict[Node, Node] = {}
        adjoints = adjoint(self.graph, cotangents, list(wanted.values()), frozen=frozen, strict=False, bars=bars)
        self._name("pull", bars)
        return {name: adjoints[node] for name, node in wanted.items() if node in adjoints}

    def _name(self, prefix: str, derived: Mapping[Node, Node]) -> None:
        """Name what was derived from each let by a prefix and the let's name, unless it has a name already."""
        for name, quantity in self.network.lets.items():
            if quantity.node in derived:
                self.names.setdefault(derived[quantity.node], f"{prefix}_{name}")

    @cached_property
    def force(self) -> dict[str, Node]:
        """F: the force on each state, from the sum of all energies and from the terms written as forces."""
        slopes = self._by(self.descending, {self.energy: self.graph.constant(-1)}, frozen=False)
        total = {}
        for name, node in self.states.items():
            parts = [(ONE, slopes[name])] if name in slopes else []
            parts += [(ONE, term.node) for term in self.network.forces.values() if term.state == name]
            total[name] = self.graph.add(parts, node.dims)
        return total

    @cached_property
    def kinks(self) -> Kinks:
        """The kinks of the energies, and which of them move proximally."""
        network = self.network
        if network.relax.proximal == "off":
            return Kinks({}, (), {})
        looked_at = [name for name in network.acting if name not in self.stopped and may_have_kinks(network, name)]
        apart = replace(network, graph=network.graph.fork())
        forces = derive(apart).term_forces if looked_at else {}
        found = kinks_of(apart, {name: forces[name] for name in looked_at})
        if not found.proximal:
            return found
        return kinks_of(network, {name: self.term_forces[name] for name in looked_at})

    @property
    def proximal(self) -> Mapping[str, Proximal]:
        """The kinks that move proximally, of each state that has any."""
        return self.kinks.proximal

    @cached_property
    def smooth(self) -> dict[str, Node]:
        """F_s: the force on each state without the kinks that move proximally, which is what a step adds to it."""
        parts = self.kinks.smooth
        if not parts:
            return self.force
        kinked = {energy for energy, _ in parts}
        others = [(ONE, term.node) for name, term in self.network.acting.items() if name not in kinked]
        slopes = self._by(self.descending, {self.graph.add(others, ()): self.graph.constant(-1)}, frozen=False)
        total = {}
        for name, node in self.states.items():
            terms = [slopes[name]] if name in slopes else []
            terms += [parts.get((e, name), f[name]) for e, f in self.term_forces.items() if e in kinked and name in f]
            terms += [term.node for term in self.network.forces.values() if term.state == name]
            total[name] = self.graph.add([(ONE, term) for term in terms], node.dims)
        return total

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks in which states move one after another, and which of them move exactly."""
        return blocks_of(self.network, self.smooth, self.cost_force, self.proximal)

    @cached_property
    def weights(self) -> dict[str, Node]:
        """The weights of the kinks that move proximally, by names that tell their states."""
        named: dict[str, Node] = {}
        for name, proximal in self.proximal.items():
            several = len(proximal.weights) > 1
            named |= {f"{name}.{k}" if several else name: node for k, node in enumerate(proximal.weights, 1)}
        return named

    @cached_property
    def pulls(self) -> dict[str, Input]:
        """For each weight of a kink what multiplies its slopes."""
        return {name: self.graph.input(f"pull of {name}", "cotangent", n.dims) for name, n in self.weights.items()}

    @cached_property
    def weights_gradient(self) -> dict[str, Node]:
        """``<pulls, d weights / d theta>`` of one sample."""
        return self._by(self.params, self._with_cotangents(self.weights, self.pulls))

    @cached_property
    def cotangents(self) -> dict[str, Input]:
        """For each state a vector that the transposed Jacobian multiplies."""
        return {name: self.graph.input(name, "cotangent", node.dims) for name, node in self.states.items()}

    @cached_property
    def directions(self) -> dict[str, Input]:
        """For each state a vector that the Jacobian multiplies."""
        return {name: self.graph.input(name, "direction", node.dims) for name, node in self.states.items()}

    @cached_property
    def plus(self) -> dict[str, Input]:
        """For each state where one of two phases ended."""
        return {name: self.graph.input(name, "plus", node.dims) for name, node in self.states.items()}

    @cached_property
    def minus(self) -> dict[str, Input]:
        """For each state where the other of two phases ended."""
        return {name: self.graph.input(name, "minus", node.dims) for name, node in self.states.items()}

    def _with_cotangents(self, forces: Mapping[str, Node], vectors: Mapping[str, Input]) -> dict[Node, Node]:
        """``<vector, force>`` as cotangents of reverse mode; the force on two states gets the sum of both vectors."""
        cotangents: dict[Node, Node] = {}
        for name, node in forces.items():
            cotangent: Node = vectors[name]
            cotangents[node] = self.graph.plus(cotangents[node], cotangent) if node in cotangents else cotangent
        return cotangents

    def vjp(self, forces: Mapping[str, Node], wanted: Mapping[str, Input]) -> dict[str, Node]:
        """``<cotangent, d forces / d input>`` for each wanted input on which a force depends."""
        return self._by(wanted, self._with_cotangents(forces, self.cotangents))

    def jvp(self, forces: Mapping[str, Node]) -> dict[str, Node]:
        """``(d forces / dz) direction`` for each state."""
        directions: dict[Node, Node] = {self.states[name]: self.directions[name] for name in self.states}
        moves: dict[Node, Node] = {}
        moved = tangent(self.graph, list(forces.values()), directions, moves=moves)
        self._name("v", moves)
        return dict(zip(forces, moved, strict=True))

    @cached_property
    def unproved_force(self) -> dict[str, Node]:
        """The sum of the unproved terms, for each state that they move."""
        terms: dict[str, list[Node]] = {}
        for term in self.unproved:
            for state, node in self.term_forces[term].items():
                terms.setdefault(state, []).append(self.kinks.smooth.get((term, state), node))
        return {state: self.graph.plus(*nodes) for state, nodes in terms.items()}

    @cached_property
    def correction(self) -> dict[str, Node]:
        """``(J_nc - J_nc^T) direction`` for each state where it is not zero."""
        forces = self.unproved_force
        forward = self.jvp(forces)
        backward = self._by(self.states, self._with_cotangents(forces, self.directions))
        difference = {}
        for state, node in self.states.items():
            parts = [(ONE, forward[state])] if state in forward else []
            parts += [(-ONE, backward[state])] if state in backward else []
            if parts:
                difference[state] = self.graph.add(parts, node.dims)
        return difference

    @property
    def antisymmetric_by_unproved(self) -> bool:
        """Whether J - J^T of the whole force is that of the unproved terms: all others are gradients in all states."""
        return not self.network.flows and not self.stopped

    @cached_property
    def slopes(self) -> dict[str, Node]:
        """The gradients by whose length a step is measured, by the names of their energies and what they are by."""
        return {slope.stand_in.name: slope.node for slopes in self.network.sloped.values() for slope in slopes}

    @cached_property
    def start(self) -> dict[str, Node]:
        """The initial value of each state."""
        return {n: s.start or self.graph.zero(s.node.dims) for n, s in self.network.states.items()}

    @cached_property
    def predictions(self) -> dict[str, Prediction]:
        """The prediction of each state. Raises NoPredictions where the energies are not prediction errors."""
        return {prediction.state: prediction for prediction in predictions(self.network)}

    @cached_property
    def predicted(self) -> dict[str, Node]:
        """The prediction of each state, from those before it."""
        return {name: self.predictions[name].node for name in self.states}

    @cached_property
    def clamped(self) -> dict[str, Node]:
        """Where states are held in a clamped phase."""
        return self.network.clamped

    @cached_property
    def cost_force(self) -> dict[str, Node]:
        """dC/dz of one sample, for the states that the cost reads."""
        return self._by(self.states, self._cost_cotangent)

    @cached_property
    def nudge(self) -> dict[str, Node]:
        """The nudge of each state of a network that ``descends``, times -beta.

        In a flow ``-P grad(E, g)`` the cost takes the place of the energies: ``P dC/dg``.
        """
        nudges = dict(self.cost_force)
        for name, flow in self.network.flows.items():
            values: dict[Node, Node] = {slope.stand_in: self._cost_slope(slope) for slope in flow.slopes}
            nudges[name] = self.graph.scale(-1, substitute(self.graph, flow.family, values))
        return nudges

    def _cost_slope(self, slope: Slope) -> Node:
        slopes = adjoint(self.graph, self._cost_cotangent, [slope.at], strict=False)
        return slopes.get(slope.at) or self.graph.zero(slope.at.dims)

    @cached_property
    def descent_gradient(self) -> dict[str, Node]:
        """dE/dtheta of one sample, of all energies, those that flows name included."""
        terms = [(ONE, term.node) for term in self.network.energies.values()]
        return self._by(self.params, {self.graph.add(terms, ()): self.graph.constant(1)})

    @cached_property
    def cost_gradient(self) -> dict[str, Node]:
        """The direct dC/dtheta of one sample."""
        return self._by(self.params, self._cost_cotangent)

    @property
    def _cost_cotangent(self) -> dict[Node, Node]:
        return {self.network.cost.node: self.graph.constant(1)} if self.network.cost else {}

    @cached_property
    def stopped(self) -> tuple[str, ...]:
        """The acting energies for which d(dE/dtheta)/dz is not -dF/dtheta.

        A state is frozen or detached in them, or has a flow and so does not move down them.
        """
        network = self.network
        return tuple(n for n, t in network.acting.items() if self._stops(t.node) or not network.acts_fully(t))

    def _stops(self, root: Node) -> bool:
        stops = [node.argument for node in walk([root]) if is_cut(node)]
        moving = depends(stops, set(self.states.values()))
        return any(argument in moving for argument in stops)

    @cached_property
    def energy_gradient(self) -> dict[str, Node]:
        """dE/dtheta of one sample, for the energies that are not ``stopped``, whose gradients a contrast may use."""
        read = [(ONE, term.node) for name, term in self.network.acting.items() if name not in self.stopped]
        return self._by(self.params, {self.graph.add(read, ()): self.graph.constant(1)})

    @cached_property
    def energy_contrast(self) -> dict[str, Node]:
        """The ``energy_gradient`` at ``plus`` minus that at ``minus``, where it is linear or bilinear in the states."""
        ends: dict[Node, tuple[Node, Node]] = {
            self.states[name]: (self.plus[name], self.minus[name]) for name in self.states
        }
        found = {name: difference(self.graph, node, ends) for name, node in self.energy_gradient.items()}
        return {name: node for name, node in found.items() if node is not None}

    @cached_property
    def sums(self) -> Sums:
        """The sums over steps for ``<cotangent, dF/dtheta>`` and ``<cotangent, dF/dx>``, and which read them."""
        inward = self.vjp(self.smooth, self.real_clamps)
        slopes, sizes = {**self.vjp(self.smooth, self.params), **inward}, self.network.extents
        largest = max(prod(sizes[dim] for dim in node.dims) for node in self.states.values())
        handed_on = inward if self.network.hands_on else ()
        return summed_over_steps(self.graph, slopes, self.names, sizes, largest, whole=handed_on)

    @cached_property
    def user_forces(self) -> dict[str, Node]:
        """The sum of the terms whose params are trained through their force: user forces and ``stopped`` energies."""
        terms: dict[str, list[tuple[Coefficient, Node]]] = {}
        for name in (*self.stopped, *self.network.forces):
            for state, node in self.term_forces[name].items():
                terms.setdefault(state, []).append((ONE, node))
        return {name: self.graph.add(parts, self.states[name].dims) for name, parts in terms.items()}


def derive(network: Network, unproved: tuple[str, ...] | None = None, descends: bool = False) -> Derivation:
    """The derivations of a network, computed on access.

    ``unproved`` names the terms that are not known to be gradients; by default all terms written as forces or flows.
    """
    return Derivation(network, tuple(network.forces) if unproved is None else unproved, descends)
