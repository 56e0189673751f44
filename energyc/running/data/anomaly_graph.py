"""A graph, some of whose nodes are anomalies: ``anomaly_graph(nodes = N, edges = E, inputs = F, labelled = 2/5)``.

All samples are the same graph. Training, validation and test differ in ``part``, the nodes whose labels count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from energyc.language.diagnostics import near
from energyc.running.data.arrays import ArraySplit, SplitDataset, generator, held_out, standardise, swamping_value
from energyc.running.data.edges import Edges, undirected
from energyc.running.data.errors import bad_option, malformed, wrong_size
from energyc.running.data.files import held_in, open_npz
from energyc.running.data.matlab import read_matlab
from energyc.running.data.options import OptionReader
from energyc.running.data.schema import FieldSchema, Options, Schema

OPTIONS = ("nodes", "edges", "inputs", "labelled", "validation", "split", "unlabelled", "relation")
LARGEST_NODES, LARGEST_EDGES = 1 << 22, 1 << 26
ANOMALIES = 0.1  # of the drawn graph
COMMUNITY = 400  # nodes of a community of the drawn graph
ACROSS = 0.1  # the share of its edges that lead anywhere
CENTRES, SHIFT = 2.0, 1.0  # deviation of the communities' mean features, and the shift of an anomaly


@dataclass(frozen=True)
class Layout:
    """The sizes and the parts that the spec gives; the first ``unlabelled`` nodes are in no part."""

    nodes: int
    edges: int
    inputs: int
    labelled: Fraction
    validation: Fraction
    split: int
    unlabelled: int
    relation: str


@dataclass(frozen=True)
class AnomalyGraph:
    """One graph with N = ``nodes`` and E = ``edges`` directed edges, two for each pair of neighbours.

    Fields: ``features`` ``[N, inputs]``, standardised; ``sources`` and ``targets`` ``[E]`` in N; ``labels`` ``[N]``, 1
    for an anomaly; ``part`` ``[N]``, 1 for the nodes whose labels count in this part. Training has the share
    ``labelled`` (2/5) of the nodes, validation the share ``validation`` (1/3) of the others, the test the rest; each
    has the same share of anomalies. ``split`` (0) selects one of many such partitions.

    A file may have fewer nodes than N; the others are isolated, and in no part. It may then have fewer edges than E as
    well: the missing ones go from the last node, which is isolated otherwise, to itself.
    """

    name: str = "anomaly_graph"

    def schema(self, options: Options) -> Schema:
        """Fields features, sources, targets, labels, part; sizes nodes, edges, inputs."""
        return _schema(self._read(options))

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """The graph of a MATLAB file or an npz, or one drawn by this seed."""
        layout = self._read(options)
        graph = planted(layout, seed) if path is None else read_graph(path, layout.relation)
        fields = _fields(graph, layout)
        parts = [ArraySplit({**fields, "part": part[None].astype(np.float32)}) for part in _parts(graph, layout)]
        train, validation, test = parts
        counts = ", ".join(
            f"{name} {int(part.fields['part'].sum()):,} ({int((part.fields['part'] * fields['labels']).sum()):,})"
            for name, part in (("training", train), ("validation", validation), ("test", test))
        )
        notes = (*graph.notes, f"nodes (anomalies) of the parts: {counts}")
        own = validation if layout.validation else None
        return SplitDataset(_schema(layout), graph.origin, train, test, notes, own)

    def _read(self, options: Options) -> Layout:
        reader = OptionReader(self.name, options, OPTIONS)
        nodes = reader.size("nodes", 2000, least=2, most=LARGEST_NODES)
        return Layout(
            nodes,
            reader.size("edges", 24000, most=LARGEST_EDGES),
            reader.size("inputs", 8, most=min(1 << 16, LARGEST_CELLS // nodes)),
            reader.fraction("labelled", Fraction(2, 5)),
            reader.fraction("validation", Fraction(1, 3)),
            reader.size("split", 0, least=0),
            reader.size("unlabelled", 0, least=0, most=nodes),
            reader.word("relation", ALL),
        )


def _schema(layout: Layout) -> Schema:
    fields = {
        "features": FieldSchema((layout.nodes, layout.inputs)),
        "sources": FieldSchema((layout.edges,), "integer", layout.nodes),
        "targets": FieldSchema((layout.edges,), "integer", layout.nodes),
        "labels": FieldSchema((layout.nodes,)),
        "part": FieldSchema((layout.nodes,)),
    }
    return Schema(fields, {"nodes": layout.nodes, "edges": layout.edges, "inputs": layout.inputs})


def _fields(graph: AttributedGraph, layout: Layout) -> dict[str, np.ndarray]:
    """The fields that all parts share, each with a sample axis of 1; raises ``UserError`` where they do not fit."""
    _check_sizes(graph, layout)
    nodes, inputs = graph.features.shape
    features = np.zeros((layout.nodes, inputs))
    features[:nodes] = _standardised(graph)
    labels = np.zeros(layout.nodes, np.float32)
    labels[:nodes] = graph.labels
    missing = np.full(layout.edges - len(graph.edges), layout.nodes - 1)
    sources, targets = (np.concatenate([ends, missing]) for ends in (graph.edges.sources, graph.edges.targets))
    fields = {"features": features.astype(np.float32), "sources": sources, "targets": targets, "labels": labels}
    return {name: values[None] for name, values in fields.items()}


def _check_sizes(graph: AttributedGraph, layout: Layout) -> None:
    """Raise ``UserError`` unless the graph fits, with the sizes that it needs."""
    (nodes, inputs), edges = graph.features.shape, len(graph.edges)
    if inputs != layout.inputs:
        problem = f"its nodes have {inputs} features but the spec says inputs = {layout.inputs}"
        raise wrong_size(graph.origin, problem, inputs=inputs)
    if nodes > layout.nodes or edges > layout.edges:
        problem = f"it has {nodes:,} nodes and {edges:,} directed edges"
        given = f"more than nodes = {layout.nodes}, edges = {layout.edges}"
        raise wrong_size(graph.origin, f"{problem}, {given}", nodes=nodes, edges=edges)
    if edges < layout.edges and nodes == layout.nodes:
        problem = f"it has {edges:,} directed edges, fewer than edges = {layout.edges}, and no node to spare for them"
        spare = f", or nodes = {nodes + 1}: the last node then takes the edges that are missing"
        raise wrong_size(graph.origin, problem, spare, nodes=nodes, edges=edges)


def _standardised(graph: AttributedGraph) -> np.ndarray:
    """Features of mean 0 and deviation 1 over all nodes, whose features are all known; labels play no part."""
    standard = standardise(graph.features, np.arange(len(graph.features))).values
    place = swamping_value(graph.features, standard)
    if place is not None:
        problem = f"feature {place[1]} of node {place[0]} is {graph.features[place]:g}, far from all others"
        raise malformed(graph.origin, problem, "values of one scale", "repair the value")
    return standard


def _parts(graph: AttributedGraph, layout: Layout) -> list[np.ndarray]:
    """Whether a node is of the training, the validation, the test part, each ``[nodes]``; raises ``UserError``."""
    known = np.arange(layout.unlabelled, len(graph.labels))
    train = _share(known, graph.labels, layout.labelled, 2 * layout.split)
    others = np.setdiff1d(known, train)
    validation = _share(others, graph.labels, layout.validation, 2 * layout.split + 1)
    parts = [train, validation, np.setdiff1d(others, validation)]
    for name, part in zip(("training", "validation", "test"), parts, strict=True):
        kinds = len(np.unique(graph.labels[part]))
        if kinds < 2 and (name != "validation" or layout.validation):
            problem = f"its {name} part has {len(part):,} node{'s' * (len(part) != 1)}, all of one label"
            raise wrong_size(graph.origin, problem, "change labelled or validation, so that each part has both")
    masks = np.zeros((3, layout.nodes), bool)
    for mask, part in zip(masks, parts, strict=True):
        mask[part] = True
    return list(masks)


def _share(nodes: np.ndarray, labels: np.ndarray, share: Fraction, stream: int) -> np.ndarray:
    return nodes[held_out(labels[nodes], share, stream)] if share and len(nodes) else nodes[:0]


# ------------------------------------------------------------------ drawn


def planted(layout: Layout, seed: int) -> AttributedGraph:
    """Communities of about 400 nodes, in which 10% of the nodes are strangers: the anomalies.

    A node's features are N(c, I) about the mean c ~ N(0, 4 I) of its community, and 9 of 10 of its edges lead into it.
    An anomaly has the features of one community, shifted by 1 along one direction, and links as a member of another
    one. All nodes have one expected degree. So the features alone tell an anomaly by its shift only, and its neighbours
    alone tell nothing. Raises ``UserError`` for an odd number of edges, or more than a tenth of all pairs.
    """
    _check_drawn(layout)
    random = generator(seed)
    nodes, groups = layout.nodes, max(2, layout.nodes // COMMUNITY)
    community = random.permutation(np.arange(nodes) % groups)
    labels = np.zeros(nodes, np.int64)
    labels[random.permutation(nodes)[: round(ANOMALIES * nodes)]] = 1
    centres = CENTRES * random.standard_normal((groups, layout.inputs))
    direction = random.standard_normal(layout.inputs)
    shift = SHIFT * direction / np.linalg.norm(direction)
    features = centres[community] + random.standard_normal((nodes, layout.inputs)) + labels[:, None] * shift
    linked = (community + labels * random.integers(1, groups, nodes)) % groups
    edges = _drawn_edges(random, linked, layout.edges)
    origin = f"a drawn graph of {groups} communities with planted anomalies (seed {seed})"
    counts = f"{nodes:,} nodes, {len(edges):,} directed edges, {labels.sum():,} anomalies"
    return AttributedGraph(origin, features, edges, labels, (counts,))


def _check_drawn(layout: Layout) -> None:
    if layout.edges % 2:
        raise bad_option("anomaly_graph", "edges", f"is {layout.edges}", "even for the drawn graph, two for each pair")
    if layout.nodes < 100 or 10 * layout.edges > layout.nodes**2:
        allowed = "at most nodes^2 / 10 for the drawn graph, of 100 nodes or more"
        raise bad_option("anomaly_graph", "edges", f"is {layout.edges} with nodes = {layout.nodes}", allowed)


def _drawn_edges(random: np.random.Generator, community: np.ndarray, count: int) -> Edges:
    """Exactly ``count`` directed edges: pairs of nodes are drawn until enough of them are different ones."""
    nodes = len(community)
    kept = np.empty(0, np.int64)
    while len(kept) < count // 2:
        one, other = random.integers(nodes, size=(2, count))
        stays = random.random(count) >= ACROSS
        for group in range(community.max() + 1):
            edges = np.flatnonzero(stays & (community[one] == group))
            other[edges] = random.choice(np.flatnonzero(community == group), len(edges))
        pairs = (np.minimum(one, other) * nodes + np.maximum(one, other))[one != other]
        kept = np.concatenate([kept, pairs])
        _, first = np.unique(kept, return_index=True)
        kept = kept[np.sort(first)]
    kept = kept[: count // 2]
    return undirected(kept // nodes, kept % nodes, nodes)


# ------------------------------------------------------------------ files: MATLAB (Network, or CARE-GNN's), or npz

EXPECTED = "a MATLAB file or npz with features, labels, and a relation or several"
REMEDY = "Network, Attributes, Label; or net_upu, ..., features, label; or x, y and arrays of edges [2, edges]"
FEATURES, LABELS = ("Attributes", "features", "x"), ("Label", "labels", "label", "y")
ALL = "all"  # the union of the relations of a file
UNION = "homo"  # CARE-GNN's own union of its relations
PREFIX = "net_"
RELATIONS = ("Network", "adjacency", "edges", UNION, *(PREFIX + name for name in "upu usu uvu rur rtr rsr".split()))
MOST_NODES = 1 << 24
LARGEST_CELLS = 1 << 28  # of the features, once they are dense


@dataclass(frozen=True)
class AttributedGraph:
    """Features ``[nodes, inputs]`` as they came, edges, and labels ``[nodes]`` of 0 and 1."""

    origin: str
    features: np.ndarray
    edges: Edges
    labels: np.ndarray
    notes: tuple[str, ...] = ()


def read_graph(path: str, relation: str) -> AttributedGraph:
    """The graph of a file with the edges of one relation, or of ``all``; raises ``UserError``."""
    arrays = _read(Path(path))
    features = _features(path, arrays)
    labels = _labels(path, arrays, len(features))
    relations = {name: array for name, array in arrays.items() if name not in (*FEATURES, *LABELS)}
    chosen = _chosen(path, relations, relation)
    ends = [_ends(path, name, relations[name], len(features)) for name in chosen]
    sources, targets = (np.concatenate([pair[k] for pair in ends]) for k in (0, 1))
    edges = undirected(sources, targets, len(features))
    of = f"{'relation' if len(chosen) == 1 else 'relations'} {', '.join(name.removeprefix(PREFIX) for name in chosen)}"
    counts = f"{len(features):,} nodes, {len(edges):,} directed edges ({of}), {int(labels.sum()):,} anomalies"
    return AttributedGraph(path, features, edges, labels, (counts, *edges.notes()))


def _read(path: Path) -> dict[str, Any]:
    """The arrays of numbers by name: all of an npz, those of a MATLAB file whose names are known."""
    if path.suffix.lower() != ".npz":
        return read_matlab(path, (*FEATURES, *LABELS, *RELATIONS))
    with open_npz(path, EXPECTED, REMEDY) as arrays:
        known = (*FEATURES, *LABELS)
        wanted = [name for name, held in held_in(arrays).items() if held.dtype.kind in "biuf" or name in known]
        return {name: arrays[name] for name in wanted}


def _named(path: str, arrays: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    found = [name for name in names if name in arrays]
    if len(found) != 1:
        held = ", ".join(found) or f"{', '.join(sorted(arrays)[:10]) or 'no known name'}"
        raise malformed(path, f"it holds {held}", f"one of {', '.join(names)}", REMEDY)
    return arrays[found[0]]


def _features(path: str, arrays: Mapping[str, Any]) -> np.ndarray:
    """The features ``[nodes, inputs]``, dense."""
    features = _named(path, arrays, FEATURES)
    shape = features.shape
    if len(shape) != 2 or not 0 < shape[0] <= MOST_NODES or not 0 < shape[0] * shape[1] <= LARGEST_CELLS:
        raise malformed(path, f"its features are {list(shape)}", "[nodes, inputs]", REMEDY)
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    if dense.dtype.kind not in "biuf" or not np.isfinite(dense).all():
        raise malformed(path, "its features are not finite numbers", EXPECTED, REMEDY)
    return dense.astype(float)


def _labels(path: str, arrays: Mapping[str, Any], nodes: int) -> np.ndarray:
    labels = _named(path, arrays, LABELS)
    if (count := math.prod(labels.shape)) != nodes:
        raise malformed(path, f"{count:,} labels of {nodes:,} nodes", "a label for each node", REMEDY)
    flat = (labels if isinstance(labels, np.ndarray) else labels.toarray()).reshape(-1)
    if not np.isin(flat, (0, 1)).all():
        raise malformed(path, "labels other than 0 and 1", "1 for an anomaly, 0 for any other node", REMEDY)
    return flat.astype(np.int64)


def _chosen(path: str, relations: Mapping[str, Any], relation: str) -> list[str]:
    """The names of the arrays that make up the relation; raises ``UserError`` if there is no such one."""
    edges = [name for name, array in relations.items() if len(array.shape) == 2]
    if relation == ALL:
        chosen = [UNION] if UNION in edges else sorted(edges)
    else:
        chosen = [name for name in edges if relation in (name, name.removeprefix(PREFIX))]
    if not edges:
        raise malformed(path, "no relation", EXPECTED, REMEDY)
    if not chosen:
        names = [name.removeprefix(PREFIX) for name in edges]
        suggestion = "".join(f"; did you mean {nearest}?" for nearest in near(relation, names)[:1])
        allowed = f"one of {', '.join([ALL, *names])}{suggestion}"
        raise bad_option("anomaly_graph", "relation", f"is {relation}, which {path} does not have", allowed)
    return chosen


def _ends(path: str, name: str, array: Any, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets of a relation: a square matrix, sparse or dense, or a list of edges ``[2, edges]``."""
    if array.shape == (nodes, nodes):
        targets, sources = array.nonzero()
        return sources, targets
    if isinstance(array, np.ndarray) and array.shape[0] == 2 and array.dtype.kind in "iu":
        if array.size and not 0 <= array.min() <= array.max() < nodes:
            problem = f"{name} has nodes from {array.min()} to {array.max()}"
            raise malformed(path, problem, f"0 to {nodes - 1}, as there are {nodes:,} rows of features", REMEDY)
        return array[0], array[1]
    problem = f"{name} is {array.dtype} {list(array.shape)}"
    raise malformed(path, problem, f"[{nodes}, {nodes}], or integers [2, edges]", REMEDY)
