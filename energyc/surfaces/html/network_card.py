"""The card of a network in a notebook: its equations, its tensors with their shapes, its classes, a diagram."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from energyc.derivation.derive import derive
from energyc.derivation.notation import Formula, Reference, Sum, latex, mathml, name, of_network
from energyc.language.network import Network
from energyc.mathematics.ir import Input
from energyc.proofs.claims.classes import Classes
from energyc.surfaces.html.diagram import diagram
from energyc.surfaces.html.pages import render
from energyc.surfaces.html.whole import whole_diagram
from energyc.surfaces.tables import Table, Verdict

#: A left side, what it is equal to, and the name of its term, if it is one.
Line = tuple[Formula, Formula, str]


def network_html(network: Network, classes: Classes, rules: Sequence[str] = ()) -> str:
    """Return the card of a network; ``rules`` are those that its module holds."""
    count = sum(_count(network, param.node) for param in network.params.values())
    held = f"; rules {', '.join(rules)}" if rules else ""
    layers = [_layer(name, layer.network, classes.layers[name]) for name, layer in network.layers.items()]
    return render(
        "network.html",
        title=network.name,
        verdict=Verdict(classes.verdict),
        description=network.description,
        facts=f"{count:,} learnable numbers{held}",
        whole=whole_diagram(network, classes) if network.layers else "",
        layers=layers or [_layer("", network, classes)],
        tensors=_tensors(network),
    )


def _layer(name: str, network: Network, classes: Classes) -> dict[str, object]:
    """Return what the card shows of a layer, or of a network without layers."""
    derivation = derive(network, classes.unproved, classes.descends)
    picture = diagram(network, derivation, classes)
    return {"name": name, "terms": _terms(network, classes), "lets": _lets(network), "diagram": picture}


def network_latex(network: Network) -> str:
    """Return the equations of a network, or of its layers, as LaTeX for display."""
    parts = [layer.network for layer in network.layers.values()] or [network]
    lines = [rf"{latex.write(left)} &= {latex.write(right)}" for part in parts for left, right, _ in _lines(part)]
    return r"$$\begin{aligned} " + " \\\\\n".join(lines) + r" \end{aligned}$$"


def _lines(network: Network) -> Iterator[Line]:
    """Yield the energy as a sum, each of its terms, and the forces and flows that are written as such."""
    notation = of_network(network)
    if len(network.energies) > 1:
        yield Reference("E"), Sum(tuple(Reference(term) for term in network.energies)), ""
    for term in network.energies.values():
        yield Reference(term.name), notation.formula(term.node), term.name
    for term in network.forces.values():
        node = term.family if term.kind == "flow" else term.node
        left = Reference(f"{term.kind} {term.name}", tuple(map(name, term.indices)))
        yield left, notation.formula(node, term.indices), term.name


def _terms(network: Network, classes: Classes) -> Table:
    verdicts = {term.name: term.verdict for term in classes.terms}
    rows = [
        (Markup(mathml.equation(left, right)), Verdict(verdicts[term]) if term in verdicts else "")
        for left, right, term in _lines(network)
    ]
    return Table(("energy, forces", "class"), tuple(rows))


def _lets(network: Network) -> Table:
    """Return the quantities that terms refer to by name."""
    notation = of_network(network)
    return Table(
        (),
        tuple(
            (Markup(mathml.equation(notation.element(q.node, q.indices), notation.formula(q.node, q.indices))),)
            for q in network.lets.values()
        ),
    )


def _tensors(network: Network) -> Table:
    groups = (
        ("clamp", network.clamps),
        ("noise", network.noises),
        ("state", network.states),
        ("param", network.params),
        ("readout", network.readouts),
        ("target", network.targets),
    )
    rows = [
        (kind, Markup("<code>{}</code>").format(item), _shape(network, each.node))
        for kind, items in groups
        for item, each in items.items()
    ]
    return Table(("kind", "name", "shape"), tuple(rows))


def _shape(network: Network, node: object) -> str:
    dims = getattr(node, "dims", ())
    sizes = ", ".join(f"{dim} = {network.extents[dim]}" for dim in dims)
    over = f" in {network.extents[str(node.over)]}" if isinstance(node, Input) and node.over else ""
    return (f"[{sizes}]" if sizes else "scalar") + over


def _count(network: Network, node: Input) -> int:
    return math.prod(network.extents[dim] for dim in node.dims)
