"""Write the derivations of a network and its model table as a document."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from energyc.analysis.classes import Classes, SumReport, TermReport
from energyc.derive import Derivation
from energyc.diagnostics import stage
from energyc.ir import Node
from energyc.notation import Derivative, Formula, Notation, Reference, Total, of_network
from energyc.notation import name as index
from energyc.pipeline import classify, derive
from energyc.report.check import CheckReport, StateReport, check_report, layered_report
from energyc.report.check_text import evidence, sum_evidence
from energyc.report.document import Block, Document, Equation, Heading, Paragraph, Table, to_html, to_latex, to_markdown
from energyc.report.witness_text import entries, point
from energyc.resolve.network import Layer, Network, Param, Repeat

#: The length of the longest point of a witness shown in full.
POINT = 600


#: Form -> layout.
LAYOUTS: Mapping[str, Callable[[Document], str]] = MappingProxyType(
    {"markdown": to_markdown, "latex": to_latex, "html": to_html}
)


def explain(network: Network, form: str = "markdown") -> str:
    """Write the derivations and the model table of a network as ``markdown``, ``latex`` or ``html``."""
    classes = classify(network)
    with stage("explain", network.source.name):
        if network.layers:
            return LAYOUTS[form](layered_explanation(network, classes))
        return LAYOUTS[form](explanation(network, derive(network, classes), classes))


def explanation(network: Network, derivation: Derivation, classes: Classes) -> Document:
    """Return model table, energies, forces, equilibrium, the local update of each param and the rules' verdicts."""
    notation = of_network(network)
    blocks: list[Block] = [Paragraph(network.description)] if network.description else []
    blocks += _model(network, derivation, classes)
    blocks += _quantities(network, notation)
    blocks += _terms(network, notation)
    blocks += _forces(network, derivation, notation)
    blocks += _answers(network, derivation, notation)
    blocks += _updates(network, derivation, notation)
    blocks += _correction(derivation, notation)
    blocks += _evidence(classes)
    blocks += _rules(classes)
    return Document(network.name, tuple(blocks))


def layered_explanation(network: Network, classes: Classes) -> Document:
    """Return model table, what goes from block to block, each layer, the answers and the rules' verdicts."""
    notation = of_network(network)
    blocks: list[Block] = [Paragraph(network.description)] if network.description else []
    blocks += _layered_model(network, classes)
    blocks += _quantities(network, notation)
    blocks += _streams(network, notation)
    for name, layer in network.layers.items():
        blocks += _layer(layer, network.copies.get(name), classes.layers[name])
    blocks.append(Heading("Readouts, cost and metrics"))
    blocks += _answered(network, notation)
    blocks += _rules(classes)
    return Document(network.name, tuple(blocks))


def _layered_model(network: Network, classes: Classes) -> Iterator[Block]:
    report = layered_report(network, classes)
    yield Heading("The network at a glance")
    yield Table(("dim", "size", "from"), tuple(_dim(network, name) for name in network.sizes))
    yield Table(("kind", "name", "dims", "numbers", "kept in"), _tensors(network, report))
    yield Paragraph(
        f"{report.params:,} learnable numbers; for one sample {report.flops_per_step:,} operations in a step of every "
        f"layer, in matrix products and scalar functions. Only the layers relax, each with what reaches it fixed; "
        f"they are {', '.join(f'{name} ({own.verdict})' for name, own in classes.layers.items())}."
    )


def _streams(network: Network, notation: Notation) -> Iterator[Block]:
    """Yield what goes from copy to copy of each repeat."""
    for repeat in (block for block in network.blocks if isinstance(block, Repeat)):
        layers = ", ".join(layer.name for layer in repeat.layers)
        yield Heading(f"{network.extents[repeat.dim]} copies of {layers or 'what is between them'}")
        yield Paragraph("What goes from copy to copy, first where it starts, then what the next copy gets.")
        for stream in repeat.streams.values():
            indices = notation.indices(stream.node)
            yield Equation(_element(f"start {stream.name}", indices), notation.formula(stream.start, indices))
            yield Equation(_element(f"next {stream.name}", indices), notation.formula(stream.next, indices))


def _layer(layer: Layer, copies: int | None, classes: Classes) -> Iterator[Block]:
    network = layer.network
    derivation, notation = derive(network, classes), of_network(network)
    yield Heading(f"The layer {layer.name}" + (f", {copies} copies" if copies else ""))
    yield Paragraph(f"What reaches it is fixed while it relaxes: {', '.join(layer.clamps) or 'params alone'}.")
    yield from _quantities(network, notation)
    yield from _terms(network, notation)
    yield from _forces(network, derivation, notation)
    yield from _correction(derivation, notation)
    yield from _evidence(classes)


def _model(network: Network, derivation: Derivation, classes: Classes) -> Iterator[Block]:
    report = check_report(network, derivation, classes)
    yield Heading("The network at a glance")
    yield Table(("dim", "size", "from"), tuple(_dim(network, name) for name in network.sizes))
    yield Table(("kind", "name", "dims", "numbers", "kept in"), _tensors(network, report))
    yield Paragraph(
        f"{report.params:,} learnable numbers; for one sample {report.flops_per_step:,} operations a step "
        "in matrix products and scalar functions; "
        f"the network as a whole is {classes.verdict}."
    )


def _tensors(network: Network, report: CheckReport) -> tuple[tuple[str, ...], ...]:
    rows = [("state", name, *_shape(state)) for name, state in report.states.items()]
    rows += [("param", name, *_sized(network, param.node)[:2], _kept(param)) for name, param in network.params.items()]
    rows += [("clamp", name, *_sized(network, clamp.node)) for name, clamp in network.clamps.items()]
    rows += [("noise", name, *_sized(network, noise.node)) for name, noise in network.noises.items()]
    rows += [("target", name, *_sized(network, target.node)) for name, target in network.targets.items()]
    return tuple(rows)


def _dim(network: Network, name: str) -> tuple[str, str, str]:
    size = network.sizes[name]
    return name, str(size.value), ", ".join(size.derived_from)


def _shape(state: StateReport) -> tuple[str, str, str]:
    return ", ".join(state.dims) or "scalar", f"{math.prod(state.sizes):,}", state.constraint or ""


def _kept(param: Param) -> str:
    """The sets of a param."""
    low, high = ("" if bound is None else f"{bound:g}" for bound in (param.low, param.high))
    return " and ".join(filter(None, [param.sets, f"[{low or '-inf'}, {high or 'inf'}]" if low or high else ""]))


def _sized(network: Network, node: Node) -> tuple[str, str, str]:
    return ", ".join(node.dims) or "scalar", f"{math.prod(network.extents[d] for d in node.dims):,}", ""


def _quantities(network: Network, notation: Notation) -> Iterator[Block]:
    if network.lets:
        yield Heading("Named quantities")
    for quantity in network.lets.values():
        left = notation.element(quantity.node, quantity.indices)
        yield Equation(left, notation.formula(quantity.node, quantity.indices))


def _terms(network: Network, notation: Notation) -> Iterator[Block]:
    yield Heading("Energy")
    if network.energies:
        yield Equation(Reference("E"), Total(tuple(Reference(name) for name in network.energies)))
    for term in network.energies.values():
        yield Equation(Reference(term.name), notation.formula(term.node))
    forces = [term for term in network.forces.values() if term.kind == "force"]
    if forces:
        yield Heading("Forces that are written as such")
    for term in forces:
        yield Equation(Reference(term.name), notation.formula(term.node, term.indices), f"on {term.state}")
    if network.flows:
        yield Heading("Flows")
        yield Paragraph("A state with a flow moves by it alone. A gradient holds all else fixed.")
    for term in network.flows.values():
        moves = _element(f"flow {term.name}", term.indices)
        yield Equation(moves, notation.formula(term.family, term.indices))


def _forces(network: Network, derivation: Derivation, notation: Notation) -> Iterator[Block]:
    yield Heading("Force on each state")
    yield Paragraph("Minus the gradient of the energy and the forces that are written as such, or a flow.")
    states = {name: state.node for name, state in network.states.items()}
    yield from _equations(notation, _named(notation, "F_", derivation.force, states))
    yield Heading("Equilibrium")
    yield Paragraph(_relaxation(network))


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


def _answers(network: Network, derivation: Derivation, notation: Notation) -> Iterator[Block]:
    yield Heading("Readouts, cost and metrics")
    yield from _answered(network, notation)
    states = {name: state.node for name, state in network.states.items()}
    nudge = "the nudge, but of ep along a flow" if derivation.descends else "the nudge"
    for left, node, indices in _slopes(notation, "C", derivation.cost_force, states):
        yield Equation(left, notation.formula(node, indices), nudge)
    nudges = derivation.nudge if derivation.descends else {}
    flows = {name: node for name, node in nudges.items() if name in network.flows}
    for left, node, indices in _named(notation, "n_", flows, states):
        yield Equation(left, notation.formula(node, indices), "the nudge of ep: the cost takes the energies' place")


def _answered(network: Network, notation: Notation) -> Iterator[Block]:
    costs = [network.cost] if network.cost else []
    for quantity in (*network.readouts.values(), *costs, *network.metrics.values()):
        yield Equation(_element(quantity.name, quantity.indices), notation.formula(quantity.node, quantity.indices))


def _updates(network: Network, derivation: Derivation, notation: Notation) -> Iterator[Block]:
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
    gradients = derivation.pullback(derivation.user_forces, derivation.params)
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


def _correction(derivation: Derivation, notation: Notation) -> Iterator[Block]:
    forces = derivation.unproved_force
    if not forces:
        return
    yield Heading("The part that is not conservative")
    names = ", ".join(derivation.unproved)
    yield Paragraph(f"J is the Jacobian of {names} alone: how it moves along v, and how it pulls back a.")
    forward = derivation.pushforward(forces)
    backward = derivation.pullback(forces, derivation.states)
    moved = _named(notation, "Jv_", forward, derivation.states)
    yield from _equations(notation, [*moved, *_named(notation, "JTa_", backward, derivation.states)])


def _evidence(classes: Classes) -> Iterator[Block]:
    yield Heading("What is a gradient")
    rows = [(t.name, t.kind, t.verdict, evidence(replace(t, witness=None))) for t in classes.terms]
    yield Table(("term", "written as", "class", "evidence"), tuple(rows))
    for term in classes.terms:
        yield from _shown(term.name, term, written=term.kind == "energy")
    together = classes.together
    for group in (together, *together.parts) if together else ():
        yield Paragraph(sum_evidence(group) + ".")
        yield from _shown(", ".join(group.terms), group)


def _shown(name: str, report: TermReport | SumReport, written: bool = False) -> Iterator[Block]:
    """Yield the witness with its point, or the potential unless the term is ``written`` as an energy."""
    if report.witness is not None:
        yield Paragraph(f"Witness against {name}: {entries(report.witness)}, {point(report.witness, POINT)}.")
    if report.potential is not None and not written:
        defined = "".join(f", with {definition}" for definition in report.functions)
        yield Paragraph(f"Potential of {name}: {report.potential}{defined}.")


#: The left side of an equation, the node on its right, and the names of its indices.
Side = tuple[Formula, Node, Sequence[str]]


def _named(
    notation: Notation, prefix: str, nodes: Mapping[str, Node], axes: Mapping[str, Node]
) -> list[tuple[Reference, Node, Sequence[str]]]:
    """Return ``F_s[j]`` for each node, with the indices of the node of the same name in ``axes``."""
    indices = {name: notation.indices(axes[name]) for name in nodes}
    return [(_element(f"{prefix}{name}", indices[name]), node, indices[name]) for name, node in nodes.items()]


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
    yield from (Equation(_element(piece.name, piece.indices), piece.formula) for piece in pieces)


def _rules(classes: Classes) -> Iterator[Block]:
    yield Heading("Learning rules on this network")
    rows = tuple((name, rule.verdict, rule.why or "") for name, rule in classes.rules.items())
    yield Table(("rule", "verdict", "because of"), rows)


def _element(name: str, indices: Sequence[str]) -> Reference:
    return Reference(name, tuple(map(index, indices)))
