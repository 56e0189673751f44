"""The energy of a network as claims read it: whole, and term by term."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from energyc.language.network import Network
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Input, Node
from energyc.proofs.conservativeness.forces import stops_a_state
from energyc.proofs.fields.problem import ForceField, field_of


def whole_energy(network: Network, base: ForceField) -> Node:
    """The sum of all energies."""
    return base.graph.add([(ONE, term.node) for term in network.energies.values()], ())


def whole_forces(network: Network, base: ForceField, terms: Mapping[str, Mapping[Input, Node]]) -> dict[str, Node]:
    """The whole force on each state that has one, from the forces of ``terms``."""
    parts = [(state, node) for forces in terms.values() for state, node in forces.items()]
    whole = field_of(base, parts).force
    return {name: whole[state.node] for name, state in network.states.items() if state.node in whole}


def has_cuts(network: Network, base: ForceField) -> bool:
    """Whether part of an energy is held constant in derivatives though a state moves it."""
    return any(stops_a_state(term.node, base) for term in network.energies.values())


def summands(node: Node, factor: Coefficient = ONE) -> Iterator[tuple[Coefficient, Node]]:
    """The terms of a sum, each with its factor, through sums in it and multiples of them."""
    match node:
        case Add():
            for inner, term in node.terms:
                yield from summands(term, factor * inner)
        case Einsum(operands=(operand,)) if operand.axes == node.out:
            yield from summands(operand.node, factor * node.coefficient)
        case _:
            yield factor, node
