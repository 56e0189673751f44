"""A network as a picture: what is clamped, the terms, the states that they move, and what is read out, left to right.

An arrow at a state: the term moves it. An arrow at a term: the term reads it. The colour of a term is its class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup

from energyc.derivation.derive import Derivation
from energyc.derivation.derive.influence import SOURCES, Influence, influences
from energyc.language.network import Network
from energyc.mathematics.ir import Input, Node, walk
from energyc.proofs.claims.classes import Classes
from energyc.surfaces.html.boxes import Box, Line, drawing
from energyc.surfaces.tables import tone


def diagram(network: Network, derivation: Derivation, classes: Classes) -> Markup:
    """Return the picture of a network without layers, or of a layer, as SVG."""
    columns = _columns(network, derivation, classes)
    return drawing(columns, f"which state of {network.name} acts on which, through which terms")


def _columns(network: Network, derivation: Derivation, classes: Classes) -> list[list[Box]]:
    """Return the boxes in columns, with the lines between them."""
    verdicts = {term.name: term.verdict for term in classes.terms}
    found = [each for each in influences(derivation) if each.moves]
    sources = {name: source(network, name) for name in (*network.clamps, *network.noises)}
    states = {name: _state(network, name) for name in network.states}
    terms = []
    for each in found:
        looks = tone(verdicts.get(each.term, "undecided"))
        box = _term(network, each, looks, verdicts.get(each.term, ""))
        terms.append(box)
        for name in each.reads:
            if name in sources:
                Line(sources[name], box, "plain")
        for name in (*each.moves, *(name for name in each.reads if name in states and name not in each.moves)):
            moved = name in each.moves
            Line(box, states[name], looks if moved else "plain", forth=moved, back=name in each.reads)
    return [list(sources.values()), terms, list(states.values()), answers(network, states, (*SOURCES, "target"))]


def source(network: Network, name: str) -> Box:
    """Return the box of a clamp or of noise."""
    node = (network.clamps.get(name) or network.noises[name]).node
    word = "clamp" if name in network.clamps else "noise"
    return Box(name, shape_of(node), word, f"{word} {name}")


def _state(network: Network, name: str) -> Box:
    state = network.states[name]
    kept = "" if state.constraint is None else f" in {state.constraint.kind}"
    return Box(name, shape_of(state.node) + kept, "state", f"state {name}")


def _term(network: Network, influence: Influence, looks: str, verdict: str) -> Box:
    named = {energy for slope in network.terms[influence.term].slopes for energy in slope.energies}
    down = f"down {' + '.join(sorted(named))}" if named else ""
    params = ", ".join(influence.params)
    word = influence.kind if influence.kind in ("flow", "next") else ""
    name = f"{word} {influence.term}".strip()
    title = f"{influence.kind} {influence.term}: {verdict}" + (f"; params {params}" if params else "")
    return Box(name, down or params, f"term {looks}", title)


def answers(network: Network, given: Mapping[str, Box], kinds: Iterable[str]) -> list[Box]:
    """Return a box for each readout and cost, joined with the boxes of those inputs of some kinds that it reads."""
    boxes = []
    for word, quantities in (("readout", network.readouts.values()), ("cost", network.costs.values())):
        for quantity in quantities:
            read = inputs(quantity.node, kinds)
            targets = ", ".join(name for name in read if name in network.targets)
            below = f"against {targets}" if targets else shape_of(quantity.node)
            box = Box(quantity.name, below, word, f"{word} {quantity.name}")
            boxes.append(box)
            for name in read:
                if name in given:
                    Line(given[name], box, "plain")
    return boxes


def inputs(node: Node, kinds: Iterable[str]) -> list[str]:
    """Return the names of the inputs of some kinds that a node reads, in the order of the graph."""
    chosen = {each for each in walk([node]) if isinstance(each, Input) and each.kind in set(kinds)}
    return [each.name for each in sorted(chosen, key=lambda each: each.number)]


def shape_of(node: Node) -> str:
    """Return the dims of a node, and what an index of its values counts."""
    over = f" : {node.over}" if isinstance(node, Input) and node.over else ""
    return (f"[{', '.join(node.dims)}]" if node.dims else "scalar") + over
