"""Which state acts on which: what is said of it is what numbers say."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest

from energyc import pipeline
from energyc.derivation.derive.influence import SOURCES, influences
from energyc.language.network import Network
from energyc.mathematics.ir import Input, walk
from energyc.mathematics.ir.interpreter import evaluate, key
from energyc.pipeline import Choices
from energyc.resources import resource
from energyc.surfaces.html.boxes import Box, Line, drawing
from energyc.surfaces.html.diagram import _depths, diagram, whole_diagram
from tests.html.hostile import SPEC

SIZES = {
    "hopfield": {"I": 4, "J": 3},
    "thick": {"T": 3, "D": 4, "H": 2},
    "deep_hopfield": {},
    "tel": {},
    "predictive_coding": {},
    "deq": {},
}


def resolved(name: str) -> Network:
    return pipeline.resolve(pipeline.read(resource("specs", f"{name}.energy")), Choices(None, SIZES[name]))


@pytest.mark.parametrize("name", ["hopfield", "thick", "deep_hopfield", "predictive_coding"])
def test_a_force_changes_with_what_acts_on_it_and_with_nothing_else(name: str) -> None:
    network = resolved(name)
    derivation = pipeline.derive(network)
    random = np.random.default_rng(7)
    for each in influences(derivation):
        for state, sources in each.moves.items():
            force = derivation.term_forces[each.term][state]
            inputs = {node for node in walk([force]) if isinstance(node, Input)}
            arrays = {key(node): _drawn(node, network, random) for node in inputs}
            found = {node.name for node in inputs if node.kind in SOURCES and _moves(force, node, arrays, network)}
            assert found == set(sources), (each.term, state)


def _drawn(node: Input, network: Network, random: np.random.Generator) -> np.ndarray:
    shape = [network.extents[dim] for dim in node.dims]
    shape = [1, *shape] if node.batched else shape
    if node.over is not None:
        return random.integers(0, network.extents[str(node.over)], shape)
    return random.uniform(0.2, 0.9, shape)


def _moves(force: object, node: Input, arrays: dict, network: Network) -> bool:
    """Whether the force takes another value for another value of an input."""
    random = np.random.default_rng(8)

    def value(given: dict) -> np.ndarray:
        return evaluate([force], given, sizes=network.extents, values=network.values)[0]

    base = value(arrays)
    others = (value({**arrays, key(node): _drawn(node, network, random)}) for _ in range(5))
    return any(not np.allclose(base, other, rtol=1e-12, atol=1e-12) for other in others)


def drawn(text: str) -> ElementTree.Element:
    network = pipeline.resolve(pipeline.read(text))
    classes = pipeline.classify(network)
    svg = diagram(network, pipeline.derive(network, classes), classes)
    return ElementTree.fromstring(svg)


def test_every_name_is_drawn_once_with_its_class() -> None:
    svg = drawn(SPEC.replace("energy pull", "force twist on s[j] = s[j]^2 * sum[k](s[k])\nenergy pull"))
    boxes = {box.findtext("title"): box.get("class") for box in svg.findall("g") if "box" in box.get("class", "")}
    assert boxes == {
        "clamp x": "box clamp",
        "energy leak: conservative": "box term good",
        "energy pull: conservative; params W": "box term good",
        "force twist: not-conservative": "box term bad",
        "state s": "box state",
        "readout y": "box readout",
        "cost mse": "box cost",
    }


def test_lines_say_who_acts_on_whom() -> None:
    svg = drawn(SPEC)
    lines = {}
    for line in svg.findall("g"):
        if "line" in line.get("class", ""):
            arrows = [path for path in line.findall("path") if path.get("class") == "arrow"]
            names = re.findall(r"(?:clamp|energy|state|readout|cost) (\w+)", line.findtext("title") or "")
            lines[tuple(names)] = len(arrows)
    assert lines == {("x", "pull"): 1, ("leak", "s"): 2, ("pull", "s"): 2, ("s", "y"): 1, ("s", "mse"): 1}


def test_every_one_of_several_costs_is_drawn() -> None:
    svg = drawn(SPEC.replace("relax {", "cost size = 1/10 * sum[j](s[j]^2)\nrelax {"))
    assert {"cost mse", "cost size"} <= {box.findtext("title") for box in svg.findall("g")}


@pytest.mark.slow
def test_boxes_do_not_overlap() -> None:
    for name in SIZES:
        network = resolved(name)
        classes = pipeline.classify(network)
        svg = ElementTree.fromstring(diagram(network, pipeline.derive(network, classes), classes))
        places = [[float(rect.get(a, "0")) for a in ("x", "y", "width", "height")] for rect in svg.iter("rect")]
        width, height = float(svg.get("width", 0)), float(svg.get("height", 0))
        for k, (x, y, w, h) in enumerate(places):
            assert x >= 0 and y >= 0 and x + w <= width and y + h <= height
            for x2, y2, w2, h2 in places[:k]:
                assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y, name


#: Line -> its arrows (at its end, at its start), as the specs say it: what a layer reads, what the next copy gets.
WHOLE = {
    "cem": {
        ("clamp idx", "start h"): "forth",
        ("start h", "state h"): "forth",
        ("layer attention", "layer mlp"): "forth",
        ("layer attention", "state h"): "back",
        ("layer mlp", "state h"): "forth",
        ("state h", "readout logits"): "forth",
        ("state h", "cost ce"): "forth",
    },
    "et_graph": {
        ("clamp feature", "start stream"): "forth",
        ("clamp eig", "start stream"): "forth",
        ("clamp feature", "layer block"): "forth",
        ("clamp eig", "layer block"): "forth",
        ("clamp adj", "layer block"): "forth",
        ("start stream", "state stream"): "forth",
        ("layer block", "state stream"): "both",
        ("state stream", "readout logits"): "forth",
        ("state stream", "cost ce"): "forth",
    },
}


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_of_a_network_of_layers(name: str) -> None:
    network = pipeline.resolve(pipeline.read(name), Choices("small" if name == "cem" else None, {}))
    svg = ElementTree.fromstring(str(whole_diagram(network, pipeline.classify(network))))
    found: dict[tuple[str, str], set[str]] = {}
    for line in (group for group in svg.iter("g") if group.get("class", "").startswith("line")):
        start, end = (re.split(r"[:,]", part)[0] for part in line.findtext("title", "").split(" \N{EN DASH} "))
        arrows = [path.get("d", "") for path in line.iter("path") if path.get("class") == "arrow"]
        found.setdefault((start, end), set()).update("forth" if "l-8" in path else "back" for path in arrows)
    assert {pair: "both" if len(ways) == 2 else ways.pop() for pair, ways in found.items()} == WHOLE[name]


def test_no_line_goes_behind_a_box() -> None:
    """In ``cem`` what the attention reads, and where the stream starts, go past the MLP."""
    network = pipeline.resolve(pipeline.read("cem"), Choices("small", {}))
    svg = ElementTree.fromstring(str(whole_diagram(network, pipeline.classify(network))))
    boxes = [tuple(float(rect.get(side, "")) for side in ("x", "y", "width", "height")) for rect in svg.iter("rect")]
    for path in (path for path in svg.iter("path") if path.get("class") == "wire"):
        numbers = np.array([float(x) for x in re.findall(r"-?[\d.]+", path.get("d", ""))]).reshape(4, 2)
        for t in np.linspace(0.02, 0.98, 49):
            weights = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3]
            x, y = np.dot(weights, numbers)
            inside = [box for box in boxes if box[0] < x < box[0] + box[2] and box[1] < y < box[1] + box[3]]
            assert not inside, (path.get("d"), inside)


def test_layers_that_each_read_all_before_them_are_drawn_in_one_walk() -> None:
    """Each way through them would be two to the power of their number."""
    count = 30
    text = "network dense\ndim D = 1\nclamp x[D]\nparam w = 1\n"
    for k in range(count):
        read = " + ".join(["x[d]", *(f"l{j}.z[d]" for j in range(k))])
        text += f"layer l{k} {{\n  state z[D]\n  energy e = 1/2 * sum[d]((z[d] - w * ({read}))^2)\n}}\n"
    network = pipeline.resolve(pipeline.read(text + f"readout out[d] = l{count - 1}.z[d]\n"))
    assert list(_depths(network).values()) == list(range(1, count + 1))


def test_ways_past_boxes_are_bounded_and_go_to_the_shortest_lines() -> None:
    count = 40
    boxes = [Box(f"l{k}", "", "term plain", f"layer l{k}") for k in range(count)]
    for k, end in enumerate(boxes):
        for start in boxes[:k]:
            Line(start, end, "plain")
    svg = ElementTree.fromstring(str(drawing([[box] for box in boxes], "all")))
    pieces = Counter(line.findtext("title", "") for line in svg.iter("g") if line.get("class") == "line plain")
    assert len(pieces) == count * (count - 1) // 2 < sum(pieces.values()) <= len(pieces) + 1000
    assert pieces["layer l0 \N{EN DASH} layer l2"] == 2 and pieces["layer l0 \N{EN DASH} layer l39"] == 1
