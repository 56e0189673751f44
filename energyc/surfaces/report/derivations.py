"""The equations of an explanation: terms, forces, local updates, the part that is not conservative."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from energyc.derivation.derive import Derivation
from energyc.derivation.notation import Derivative, Formula, Notation, Reduction, Reference, Sum
from energyc.derivation.notation import name as index
from energyc.language.diagnostics import listed
from energyc.language.network import Network, Repeat, Term
from energyc.mathematics.ir import Node
from energyc.surfaces.report.document import Block, Equation, Heading, Paragraph


def quantities(network: Network, notation: Notation) -> Iterator[Block]:
    """Yield the lets."""
    if network.lets:
        yield Heading("Named quantities")
    for quantity in network.lets.values():
        left = notation.element(quantity.node, quantity.indices)
        yield Equation(left, notation.formula(quantity.node, quantity.indices))


def terms(network: Network, notation: Notation) -> Iterator[Block]:
    """Yield the energies, and the forces and flows that are written as such."""
    yield Heading("Energy")
    if network.energies:
        yield Equation(Reference("E"), Sum(tuple(map(_added, network.energies.values()))))
    for term in network.energies.values():
        formula = notation.formula(term.family, term.indices) if term.is_family else notation.formula(term.node)
        yield Equation(element(term.name, term.indices if term.is_family else ()), formula)
    forces = [term for term in network.forces.values() if term.kind == "force"]
    if forces:
        yield Heading("Forces that are written as such")
    for term in forces:
        yield Equation(Reference(term.name), notation.formula(term.node, term.indices), f"on {term.state}")
    if network.flows:
        yield Heading("Flows")
        yield Paragraph("A state with a flow moves by it alone. A gradient holds all else fixed.")
    for term in network.flows.values():
        moves = element(f"flow {term.name}", term.indices)
        yield Equation(moves, notation.formula(term.family, term.indices))


def _added(term: Term) -> Formula:
    """A term of the energy: a family is summed over its indices."""
    if not term.is_family:
        return Reference(term.name)
    return Reduction("sum", term.indices, term.family.dims, None, (element(term.name, term.indices),))


def forces(network: Network, derivation: Derivation, notation: Notation) -> Iterator[Block]:
    """Yield the force on each state, and how the states relax."""
    yield Heading("The force on each state")
    yield Paragraph("Minus the gradient of the energy and the forces that are written as such, or a flow.")
    states = {name: state.node for name, state in network.states.items()}
    yield from _equations(notation, _named(notation, "F_", derivation.force, states))
    yield Heading("Equilibrium")
    yield Paragraph(_relaxation(network) + "".join(_proximal(derivation)))


def _relaxation(network: Network) -> str:
    relax = network.relax
    size = "chosen by the curvature" if relax.step is None else f"{relax.step:g}"
    steps = {size, *(f"{step:g} for {name}" for name, step in relax.step_of.items())}
    until = f"until the residual is at most {relax.tolerance:g}" if relax.tolerance else "exactly"
    constrained = [name for name, state in network.states.items() if state.constraint is not None]
    projected = f" {', '.join(constrained)} projected on its set after each step." if constrained else ""
    return (
        f"All states move at once by the step size ({', '.join(sorted(steps))}) times their force, "
        f"{relax.steps} steps {until}.{projected}"
    )


def _proximal(derivation: Derivation) -> Iterator[str]:
    for name, proximal in derivation.proximal.items():
        kink = f"the kink of {listed(proximal.energies)}"
        yield f" {name} moves without the force of {kink}, then to its proximal point ({proximal.operator})."


def answers(network: Network, derivation: Derivation, notation: Notation) -> Iterator[Block]:
    """Yield readouts, cost and metrics, and the nudges."""
    yield Heading("Readouts, cost and metrics")
    yield from answered(network, notation)
    states = {name: state.node for name, state in network.states.items()}
    nudge = "the nudge, but of ep along a flow" if derivation.descends else "the nudge"
    for left, node, indices in _slopes(notation, "C", derivation.cost_force, states):
        yield Equation(left, notation.formula(node, indices), nudge)
    nudges = derivation.nudge if derivation.descends else {}
    flows = {name: node for name, node in nudges.items() if name in network.flows}
    for left, node, indices in _named(notation, "n_", flows, states):
        yield Equation(left, notation.formula(node, indices), "the nudge of ep: the cost takes the energies' place")


def answered(network: Network, notation: Notation) -> Iterator[Block]:
    """Yield readouts, cost and metrics."""
    for quantity in (*network.readouts.values(), *network.costs.values(), *network.metrics.values()):
        yield Equation(element(quantity.name, quantity.indices), notation.formula(quantity.node, quantity.indices))


def updates(network: Network, derivation: Derivation, notation: Notation) -> Iterator[Block]:
    """Yield the slope of the energy, of the forces and of the cost by each param."""
    yield Heading("Local update of each param")
    yield Paragraph(
        "Equilibrium propagation contrasts these slopes of the energy at the two nudged equilibria; "
        "each reads only the terms its param is in."
    )
    params = {name: param.node for name, param in network.params.items()}
    contrasted = derivation.descent_gradient if derivation.descends else derivation.energy_gradient
    yield from _equations(notation, _slopes(notation, "E", contrasted, params))
    yield from _forced_updates(network, derivation, notation)
    for left, node, indices in _slopes(notation, "C", derivation.cost_gradient, params):
        yield Equation(left, notation.formula(node, indices), "directly")


def _forced_updates(network: Network, derivation: Derivation, notation: Notation) -> Iterator[Block]:
    gradients = derivation.vjp(derivation.user_forces, derivation.params)
    if not gradients:
        return
    stopped = (
        f", and {', '.join(derivation.stopped)} with a state that is held fixed in it," if derivation.stopped else ""
    )
    kinds = "With a correction the flows" if derivation.descends else "Forces and flows" if network.flows else "Forces"
    written = "" if network.flows else " that are written as such"
    yield Paragraph(f"{kinds}{written}{stopped} give the slope of a.F, where a is the contrast of the equilibria.")
    params = {name: param.node for name, param in network.params.items()}
    yield from _equations(notation, _slopes(notation, "(a.F)", gradients, params))


def correction(derivation: Derivation, notation: Notation) -> Iterator[Block]:
    """Yield how the Jacobian of the part that is not conservative acts, forwards and backwards."""
    forces = derivation.unproved_force
    if not forces:
        return
    yield Heading("The part that is not conservative")
    names = ", ".join(derivation.unproved)
    yield Paragraph(f"J is the Jacobian of {names} alone: how it moves along v, and how it pulls back a.")
    forward = derivation.jvp(forces)
    backward = derivation.vjp(forces, derivation.states)
    moved = _named(notation, "Jv_", forward, derivation.states)
    yield from _equations(notation, [*moved, *_named(notation, "JTa_", backward, derivation.states)])


def streams(network: Network, notation: Notation) -> Iterator[Block]:
    """Yield what goes from copy to copy of each repeat."""
    for repeat in (block for block in network.blocks if isinstance(block, Repeat)):
        layers = ", ".join(layer.name for layer in repeat.layers)
        yield Heading(f"{network.extents[repeat.dim]} copies of {layers or 'what is between them'}")
        yield Paragraph("What goes from copy to copy, first where it starts, then what the next copy gets.")
        for stream in repeat.streams.values():
            indices = notation.indices(stream.node)
            yield Equation(element(f"start {stream.name}", indices), notation.formula(stream.start, indices))
            yield Equation(element(f"next {stream.name}", indices), notation.formula(stream.next, indices))


#: The left side of an equation, the node on its right, and the names of its indices.
Side = tuple[Formula, Node, Sequence[str]]


def _named(
    notation: Notation, prefix: str, nodes: Mapping[str, Node], axes: Mapping[str, Node]
) -> list[tuple[Reference, Node, Sequence[str]]]:
    """Return ``F_s[j]`` for each node, with the indices of the node of the same name in ``axes``."""
    indices = {name: notation.indices(axes[name]) for name in nodes}
    return [(element(f"{prefix}{name}", indices[name]), node, indices[name]) for name, node in nodes.items()]


def _slopes(notation: Notation, of: str, nodes: Mapping[str, Node], params: Mapping[str, Node]) -> list[Side]:
    """Return ``dE/dW[i,j]`` for each node."""
    return [(Derivative(of, left), node, indices) for left, node, indices in _named(notation, "", nodes, params)]


def _equations(notation: Notation, sides: Sequence[Side]) -> Iterator[Block]:
    """Yield an equation for each side, and the definitions of shared subexpressions."""
    roots = [node for _, node, _ in sides]
    shared = notation.sharing(roots)
    yield from (Equation(left, shared.formula(node, indices)) for left, node, indices in sides)
    pieces = shared.definitions(roots)
    if pieces:
        yield Paragraph("where")
    yield from (Equation(element(piece.name, piece.indices), piece.formula) for piece in pieces)


def element(name: str, indices: Sequence[str]) -> Reference:
    """Return ``name[i,j]``."""
    return Reference(name, tuple(map(index, indices)))
