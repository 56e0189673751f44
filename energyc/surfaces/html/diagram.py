"""A network as a picture: what is clamped, the terms, the states that they move, and what is read out, left to right.

An arrow at a state: the term moves it. An arrow at a term: the term reads it. The colour of a term is its class.

A network of layers has its layers in place of terms, and the streams between copies. A layer relaxes by itself, so that
an arrow has no way back within a layer's column: at a stream it means that the next copy gets it from there, at a layer
that the layer reads it. The colour of a layer is its class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup

from energyc.derivation.derive import Derivation
from energyc.derivation.derive.influence import SOURCES, Influence, influences
from energyc.language.network import Network, Repeat
from energyc.mathematics.ir import Input, Node, walk
from energyc.proofs.claims.classes import Classes
from energyc.surfaces.html.boxes import Box, Line, drawing
from energyc.surfaces.tables import tone

#: The kinds of inputs that layers and streams read.
_READ = ("clamp", "noise", "state", "value")


def diagram(network: Network, derivation: Derivation, classes: Classes) -> Markup:
    """Return the picture of a network without layers, or of a layer, as SVG."""
    columns = _columns(network, derivation, classes)
    return drawing(columns, f"which state of {network.name} acts on which, through which terms")


def _columns(network: Network, derivation: Derivation, classes: Classes) -> list[list[Box]]:
    """Return the boxes in columns, with the lines between them."""
    verdicts = {term.name: term.verdict for term in classes.terms}
    found = [each for each in influences(derivation) if each.moves]
    sources = {name: _source(network, name) for name in (*network.clamps, *network.noises)}
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
    return [list(sources.values()), terms, list(states.values()), _answers(network, states, (*SOURCES, "target"))]


def _source(network: Network, name: str) -> Box:
    """Return the box of a clamp or of noise."""
    node = (network.clamps.get(name) or network.noises[name]).node
    word = "clamp" if name in network.clamps else "noise"
    return Box(name, _shape_of(node), word, f"{word} {name}")


def _state(network: Network, name: str) -> Box:
    state = network.states[name]
    kept = "" if state.constraint is None else f" in {state.constraint.kind}"
    return Box(name, _shape_of(state.node) + kept, "state", f"state {name}")


def _term(network: Network, influence: Influence, looks: str, verdict: str) -> Box:
    named = {energy for slope in network.terms[influence.term].slopes for energy in slope.energies}
    down = f"down {' + '.join(sorted(named))}" if named else ""
    params = ", ".join(influence.params)
    word = influence.kind if influence.kind in ("flow", "next") else ""
    name = f"{word} {influence.term}".strip()
    title = f"{influence.kind} {influence.term}: {verdict}" + (f"; params {params}" if params else "")
    return Box(name, down or params, f"term {looks}", title)


def _answers(network: Network, given: Mapping[str, Box], kinds: Iterable[str]) -> list[Box]:
    """Return a box for each readout and cost, joined with the boxes of those inputs of some kinds that it reads."""
    boxes = []
    for word, quantities in (("readout", network.readouts.values()), ("cost", network.costs.values())):
        for quantity in quantities:
            read = _inputs(quantity.node, kinds)
            targets = ", ".join(name for name in read if name in network.targets)
            below = f"against {targets}" if targets else _shape_of(quantity.node)
            box = Box(quantity.name, below, word, f"{word} {quantity.name}")
            boxes.append(box)
            for name in read:
                if name in given:
                    Line(given[name], box, "plain")
    return boxes


def _inputs(node: Node, kinds: Iterable[str]) -> list[str]:
    """Return the names of the inputs of some kinds that a node reads, in the order of the graph."""
    chosen = {each for each in walk([node]) if isinstance(each, Input) and each.kind in set(kinds)}
    return [each.name for each in sorted(chosen, key=lambda each: each.number)]


def _shape_of(node: Node) -> str:
    """Return the dims of a node, and what an index of its values counts."""
    over = f" : {node.over}" if isinstance(node, Input) and node.over else ""
    return (f"[{', '.join(node.dims)}]" if node.dims else "scalar") + over


# ------------------------------------------------------------------ layers


def whole_diagram(network: Network, classes: Classes) -> Markup:
    """Return the picture of a network of layers as SVG."""
    sources = {name: _source(network, name) for name in (*network.clamps, *network.noises)}
    layers = {name: _layer(network, name, classes) for name in network.layers}
    repeats = [block for block in network.blocks if isinstance(block, Repeat)]
    streams = {name: _stream(network, repeat, name) for repeat in repeats for name in repeat.streams}
    starts = {name: Box(f"start {name}", "", "term plain", f"start {name}") for name in streams}
    outputs = {output.name: layers[name] for name, layer in network.layers.items() for output in layer.outputs.values()}
    for name, layer in network.layers.items():
        for read in _read(layer.clamps.values()):
            if read in streams:
                Line(layers[name], streams[read], "plain", forth=False, back=True)
            elif read in sources or read in outputs:
                Line((sources | outputs)[read], layers[name], "plain")
    for stream in (stream for repeat in repeats for stream in repeat.streams.values()):
        for read in _read([stream.start]):
            if read in sources or read in outputs:
                Line((sources | outputs)[read], starts[stream.name], "plain")
        Line(starts[stream.name], streams[stream.name], "plain")
        for box in {id(outputs[read]): outputs[read] for read in _read([stream.next]) if read in outputs}.values():
            _joined(box, streams[stream.name])
    columns: list[list[Box]] = [list(sources.values()), list(starts.values())]
    for name, depth in _depths(network).items():
        columns += [[] for _ in range(depth + 1 - len(columns))]
        columns[depth].append(layers[name])
    found = _answers(network, outputs | streams, (*_READ, "target"))
    label = f"which layer of {network.name} reads what, and what goes from copy to copy"
    return drawing([*columns, list(streams.values()), found], label)


def _layer(network: Network, name: str, classes: Classes) -> Box:
    copies = network.copies.get(name)
    verdict = classes.layers[name].verdict
    return Box(name, f"{copies} copies" if copies else "", f"term {tone(verdict)}", f"layer {name}: {verdict}")


def _stream(network: Network, repeat: Repeat, name: str) -> Box:
    shape = f"{_shape_of(repeat.streams[name].node)}, through {network.extents[repeat.dim]} copies"
    return Box(name, shape, "state", f"state {name}, which goes from copy to copy")


def _joined(layer: Box, stream: Box) -> None:
    """Let the next copy get a stream from a layer, by the line by which the layer reads it where it does."""
    line = next((line for line in layer.right if line.end is stream), None) or Line(layer, stream, "plain")
    line.forth, line.looks = True, layer.looks.removeprefix("term ")


def _read(nodes: Iterable[Node]) -> list[str]:
    """The names of what nodes read, each once."""
    return list(dict.fromkeys(name for node in nodes for name in _inputs(node, _READ)))


def _depths(network: Network) -> dict[str, int]:
    """Of each layer, one more than that of the deepest layer that it reads, from 1; a layer reads earlier ones."""
    found: dict[str, int] = {}
    owners: dict[str, str] = {}
    for name, layer in network.layers.items():
        below = [found[owners[read]] for read in _read(layer.clamps.values()) if read in owners]
        found[name] = 1 + max(below, default=0)
        owners |= {output.name: name for output in layer.outputs.values()}
    return found
