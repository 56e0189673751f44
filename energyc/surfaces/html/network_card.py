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
from energyc.surfaces.html.card import card
from energyc.surfaces.html.diagram import diagram
from energyc.surfaces.html.markup import Content, tag
from energyc.surfaces.html.tables import to_html
from energyc.surfaces.html.verdicts import verdict
from energyc.surfaces.html.whole import whole_diagram
from energyc.surfaces.tables import Table, Verdict

#: A left side, what it is equal to, and the name of its term, if it is one.
Line = tuple[Formula, Formula, str]


def network_html(network: Network, classes: Classes, rules: Sequence[str] = ()) -> str:
    """Return the card of a network; ``rules`` are those that its module holds."""
    parts = {"": (network, classes)} if not network.layers else {
        name: (layer.network, classes.layers[name]) for name, layer in network.layers.items()
    }  # fmt: skip
    count = sum(_count(network, param.node) for param in network.params.values())
    held = f"; rules {', '.join(rules)}" if rules else ""
    body: list[Content] = [tag("p", network.description)] if network.description else []
    body.append(tag("p", f"{count:,} learnable numbers{held}", class_="soft"))
    if network.layers:
        body.append(tag("div", whole_diagram(network, classes), class_="wide"))
    for label, (part, own) in parts.items():
        body += [tag("p", f"layer {label}", class_="title")] if label else []
        body += [_terms(part, own), _lets(part), _diagram(part, own)]
    body.append(tag("details", tag("summary", "tensors"), _tensors(network)))
    return card([network.name, " ", verdict(classes.verdict)], body)


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


def _terms(network: Network, classes: Classes) -> Markup:
    verdicts = {term.name: term.verdict for term in classes.terms}
    rows = [
        (Markup(mathml.equation(left, right)), Verdict(verdicts[term]) if term in verdicts else "")
        for left, right, term in _lines(network)
    ]
    return to_html(Table(("energy, forces", "class"), tuple(rows)))


def _lets(network: Network) -> Content:
    """Return the quantities that terms refer to by name, on request."""
    if not network.lets:
        return None
    notation = of_network(network)
    rows = [
        (Markup(mathml.equation(notation.element(q.node, q.indices), notation.formula(q.node, q.indices))),)
        for q in network.lets.values()
    ]
    return tag("details", tag("summary", "named quantities"), to_html(Table((), tuple(rows))))


def _diagram(network: Network, classes: Classes) -> Markup:
    derivation = derive(network, classes.unproved, classes.descends)
    picture = tag("div", diagram(network, derivation, classes), class_="wide")
    return tag("details", tag("summary", "who acts on whom"), picture)


def _tensors(network: Network) -> Markup:
    groups = (
        ("clamp", network.clamps),
        ("noise", network.noises),
        ("state", network.states),
        ("param", network.params),
        ("readout", network.readouts),
        ("target", network.targets),
    )
    rows = [
        (kind, tag("code", item), _shape(network, each.node)) for kind, items in groups for item, each in items.items()
    ]
    return to_html(Table(("kind", "name", "shape"), tuple(rows)))


def _shape(network: Network, node: object) -> str:
    dims = getattr(node, "dims", ())
    sizes = ", ".join(f"{dim} = {network.extents[dim]}" for dim in dims)
    over = f" in {network.extents[str(node.over)]}" if isinstance(node, Input) and node.over else ""
    return (f"[{sizes}]" if sizes else "scalar") + over


def _count(network: Network, node: Input) -> int:
    return math.prod(network.extents[dim] for dim in node.dims)
