"""Whether a network has an equilibrium: a least energy, or a fixed point of its step by Brouwer's theorem."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from energyc.language.network import Network
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Input, Node
from energyc.proofs.claims.floor import Floor, is_compact, roaming
from energyc.proofs.enclosures.enclosure import Enclosures
from energyc.proofs.enclosures.growth import Growth
from energyc.proofs.fields.domain import Signs, jumps, poles
from energyc.proofs.fields.problem import Bounds, ForceField

CONVEX = ("box", "simplex", "nonnegative")


def reason_for_rest(
    network: Network,
    base: ForceField,
    forces: Mapping[str, Node],
    ranges: Mapping[Input, Bounds],
    conservative: bool,
    floor: Floor | None,
) -> str | None:
    """Why the network has an equilibrium at all weights, None where nothing shows one.

    ``forces`` is the whole force on each state. The floor is that of the energies alone.
    """
    if conservative and not network.forces and floor is not None and floor.attained:
        return "the energy takes its least value"
    signs = Signs(network.values, ranges)
    if poles(forces.values(), base.states, signs) or jumps(forces.values(), base.states):
        return None
    if not all(state.constraint is None or state.constraint.kind in CONVEX for state in network.states.values()):
        return None
    free = roaming(network)
    growth = Growth(base.graph, set(free), Enclosures(network.values, ranges))
    for name, state in network.states.items():
        if not is_compact(state.constraint) and not _is_damped(forces[name], state.node, growth, signs):
            return None
    if free:
        return "the states are damped, and what drives them grows more slowly than they do (Brouwer)"
    return "a step maps the compact convex sets of the states into themselves (Brouwer)"


def _is_damped(force: Node, state: Input, growth: Growth, signs: Signs) -> bool:
    """Whether a force is ``-c z`` with c > 0 and a remainder that grows by less than the first power."""
    damping, remainder = False, []
    for factor, node in _summands(force, ONE):
        if node is state:
            damping = True
            if not signs.positive_number(-factor):
                return False
        else:
            remainder.append(node)
    return damping and max((growth.of(node) for node in remainder), default=0.0) < 1


def _summands(node: Node, factor: Coefficient) -> Iterator[tuple[Coefficient, Node]]:
    match node:
        case Add():
            for inner, term in node.terms:
                yield from _summands(term, factor * inner)
        case Einsum(operands=(operand,)) if operand.axes == node.out:
            yield from _summands(operand.node, factor * node.coefficient)
        case _:
            yield factor, node
