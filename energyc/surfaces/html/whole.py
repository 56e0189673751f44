"""A network of layers as a picture: what is clamped, the layers, the streams between copies, and what is read out.

A layer relaxes by itself, so that an arrow has no way back within a layer's column: at a stream it means that the next
copy gets it from there, at a layer that the layer reads it. The colour of a layer is its class.
"""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from energyc.language.network import Network, Repeat
from energyc.mathematics.ir import Node
from energyc.proofs.claims.classes import Classes
from energyc.surfaces.html.boxes import Box, Line, drawing
from energyc.surfaces.html.diagram import answers, inputs, shape_of, source
from energyc.surfaces.tables import tone

_READ = ("clamp", "noise", "state", "value")


def whole_diagram(network: Network, classes: Classes) -> Markup:
    """Return the picture of a network of layers as SVG."""
    sources = {name: source(network, name) for name in (*network.clamps, *network.noises)}
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
    found = answers(network, outputs | streams, (*_READ, "target"))
    label = f"which layer of {network.name} reads what, and what goes from copy to copy"
    return drawing([*columns, list(streams.values()), found], label)


def _layer(network: Network, name: str, classes: Classes) -> Box:
    copies = network.copies.get(name)
    verdict = classes.layers[name].verdict
    return Box(name, f"{copies} copies" if copies else "", f"term {tone(verdict)}", f"layer {name}: {verdict}")


def _stream(network: Network, repeat: Repeat, name: str) -> Box:
    shape = f"{shape_of(repeat.streams[name].node)}, through {network.extents[repeat.dim]} copies"
    return Box(name, shape, "state", f"state {name}, which goes from copy to copy")


def _joined(layer: Box, stream: Box) -> None:
    """Let the next copy get a stream from a layer, by the line by which the layer reads it where it does."""
    line = next((line for line in layer.right if line.end is stream), None) or Line(layer, stream, "plain")
    line.forth, line.looks = True, layer.looks.removeprefix("term ")


def _read(nodes: Iterable[Node]) -> list[str]:
    """The names of what nodes read, each once."""
    return list(dict.fromkeys(name for node in nodes for name in inputs(node, _READ)))


def _depths(network: Network) -> dict[str, int]:
    """Of each layer, one more than that of the deepest layer that it reads, from 1; a layer reads earlier ones."""
    found: dict[str, int] = {}
    owners: dict[str, str] = {}
    for name, layer in network.layers.items():
        below = [found[owners[read]] for read in _read(layer.clamps.values()) if read in owners]
        found[name] = 1 + max(below, default=0)
        owners |= {output.name: name for output in layer.outputs.values()}
    return found
