"""Graphs with a class each, several to a sample as one disjoint union: ``graph_bags(graphs = G, nodes = N)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from energyc.running.data.arrays import SplitDataset, check_range, held_out, stacked
from energyc.running.data.errors import bad_option, wrong_size
from energyc.running.data.graph_classes import (
    DRAWN,
    TEST_SHARE,
    Graph,
    Layout,
    adjacency,
    eigenvectors,
    planted,
    random_signs,
    read_graphs,
)
from energyc.running.data.options import OptionReader
from energyc.running.data.schema import FieldSchema, Options, Schema

OPTIONS = ("graphs", "nodes", "edges", "inputs", "classes", "eigenvectors", "flipped")
LARGEST = 1 << 20


@dataclass(frozen=True)
class Budget:
    """The capacity of a sample; its last graph and its last node are padding always.

    With ``eigenvectors`` a graph has a CLS token before its nodes, joined to them all; ``flipped`` is the share of them
    that have the other sign while training.
    """

    graphs: int
    nodes: int
    edges: int
    inputs: int
    classes: int
    eigenvectors: int | None
    flipped: Fraction


@dataclass(frozen=True)
class GraphBags:
    """Up to G - 1 graphs side by side, with their nodes in one dim N and their directed edges in one dim E.

    Fields: ``features`` ``[N, inputs]``; ``sources`` and ``targets`` ``[E]`` in N; ``graph`` ``[N]`` in G, the graph of
    each node; ``label`` ``[G]`` in ``classes``; ``present`` ``[G]``, 1 for a graph and 0 for padding. Nodes that are
    missing belong to the last graph, which is not a graph; edges that are missing lead from the last node to itself. So
    sums over the nodes of a graph, and over the edges into a node, need no mask; costs do, over graphs. With
    ``eigenvectors = V`` each graph begins with a CLS token, joined to its nodes, and there are ``cls`` ``[G]`` in N,
    the CLS of a graph (the last node for padding), and ``eigenvectors`` ``[N, V]``, those of ``graph_classes``.
    """

    name: str = "graph_bags"

    def schema(self, options: Options) -> Schema:
        """Fields as the class says; the sizes are graphs, nodes, edges, inputs, classes, and eigenvectors if given."""
        return _schema(self._read(options))

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """The graphs of TUDataset's files, or drawn ones by this seed; which graphs are together is fixed."""
        budget = self._read(options)
        layout = Layout(DRAWN if path is None else LARGEST, budget.inputs, budget.classes, 1)
        graphs, notes = planted(layout, seed) if path is None else read_graphs(path, layout)
        pieces = [Piece.of(graph, budget.eigenvectors) for graph in graphs]
        _check_room(path or self.name, pieces, budget)
        held = held_out(np.array([piece.label for piece in pieces]), TEST_SHARE)
        order = np.random.RandomState(0).permutation(len(graphs))
        train, test = (Bags(fill([pieces[k] for k in order if held[k] == part], budget), budget) for part in (0, 1))
        origin = path or f"rings and chains, half of them with a triangle (seed {seed})"
        full = f"{len(graphs):,} graphs in {len(train):,} training and {len(test):,} test samples"
        return SplitDataset(_schema(budget), origin, train, test, (*notes, full))

    def _read(self, options: Options) -> Budget:
        reader = OptionReader(self.name, options, OPTIONS)
        if reader.is_set("flipped") and not reader.is_set("eigenvectors"):
            problem = "is a share of the eigenvectors, and there are none"
            raise bad_option(self.name, "flipped", problem, "for specs that set eigenvectors too")
        return Budget(
            reader.size("graphs", 33, least=2, most=1 << 16),
            reader.size("nodes", 512, least=2, most=LARGEST),
            reader.size("edges", 1024, most=LARGEST),
            reader.size("inputs", 1, most=1 << 10),
            reader.size("classes", 2, least=2, most=1 << 16),
            reader.size("eigenvectors", 1, most=1 << 12) if "eigenvectors" in options else None,
            reader.fraction("flipped", Fraction(0)),
        )


@dataclass(frozen=True)
class Piece:
    """One graph of a sample: features ``[n, inputs]`` and edges of its tokens, their eigenvectors, the label.

    ``targets`` and ``sources`` ``[edges]`` count its tokens from 0; ``vectors`` ``[n, at most V]`` has no column
    without CLS.
    """

    features: np.ndarray
    sources: np.ndarray
    targets: np.ndarray
    vectors: np.ndarray
    label: int

    @classmethod
    def of(cls, graph: Graph, count: int | None) -> Piece:
        """The graph alone, or with a CLS token and ``count`` eigenvectors."""
        edges = graph.edges
        if count is None:
            return cls(graph.features, edges.sources, edges.targets, np.empty((len(graph.features), 0)), graph.label)
        joined = adjacency(graph)
        targets, sources = np.nonzero(joined)
        features = np.concatenate([np.zeros((1, graph.features.shape[1])), graph.features])
        return cls(features, sources, targets, eigenvectors(joined, count), graph.label)


def _schema(budget: Budget) -> Schema:
    fields = {
        "features": FieldSchema((budget.nodes, budget.inputs)),
        "sources": FieldSchema((budget.edges,), "integer", budget.nodes),
        "targets": FieldSchema((budget.edges,), "integer", budget.nodes),
        "graph": FieldSchema((budget.nodes,), "integer", budget.graphs),
        "label": FieldSchema((budget.graphs,), "integer", budget.classes),
        "present": FieldSchema((budget.graphs,)),
    }
    sizes = {"graphs": budget.graphs, "nodes": budget.nodes, "edges": budget.edges, "inputs": budget.inputs}
    sizes["classes"] = budget.classes
    if budget.eigenvectors is not None:
        fields["cls"] = FieldSchema((budget.graphs,), "integer", budget.nodes)
        fields["eigenvectors"] = FieldSchema((budget.nodes, budget.eigenvectors))
        sizes["eigenvectors"] = budget.eigenvectors
    return Schema(fields, sizes)


def _check_room(origin: str, graphs: Sequence[Piece], budget: Budget) -> None:
    """Raise ``UserError`` unless each graph alone fits into a sample."""
    nodes, edges = max(len(graph.features) for graph in graphs), max(len(graph.sources) for graph in graphs)
    if nodes + 1 > budget.nodes or edges > budget.edges:
        tokens = "nodes" if budget.eigenvectors is None else "tokens with CLS"
        problem = f"its largest graph has {nodes:,} {tokens}, and one has {edges:,} directed edges"
        given = f"which nodes = {budget.nodes} (one of them padding) and edges = {budget.edges} have no room for"
        sizes = {"nodes": max(nodes + 1, budget.nodes), "edges": max(edges, budget.edges)}
        raise wrong_size(origin, f"{problem}, {given}", ", or more", **sizes)


def fill(graphs: Sequence[Piece], budget: Budget) -> list[list[Piece]]:
    """Bags of graphs in their order, each as full as the budget allows."""
    bags: list[list[Piece]] = []
    nodes = edges = 0
    for graph in graphs:
        nodes, edges = nodes + len(graph.features), edges + len(graph.sources)
        full = not bags or len(bags[-1]) == budget.graphs - 1 or nodes > budget.nodes - 1 or edges > budget.edges
        if full:
            bags.append([])
            nodes, edges = len(graph.features), len(graph.sources)
        bags[-1].append(graph)
    return bags


@dataclass(frozen=True)
class Bags:
    """Samples of several graphs, joined as they are taken."""

    bags: Sequence[Sequence[Piece]]
    budget: Budget

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.bags)

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The samples at ``indices``; ``augment`` flips eigenvectors at random."""
        check_range(indices, len(self))
        joined = [union(self.bags[index], self.budget) for index in indices]
        if augment and self.budget.flipped:
            for sample, index in zip(joined, indices, strict=True):
                shape = (self.budget.graphs, self.budget.eigenvectors or 0)
                signs = random_signs(self.budget.flipped, shape, seed, epoch, int(index))
                sample["eigenvectors"] = sample["eigenvectors"] * signs.astype(np.float32)[sample["graph"]]
        return stacked(_schema(self.budget), joined)


def union(graphs: Sequence[Piece], budget: Budget) -> dict[str, np.ndarray]:
    """One sample: the nodes and edges of the graphs one after another, then padding."""
    features = np.zeros((budget.nodes, budget.inputs), np.float32)
    ends = np.full((2, budget.edges), budget.nodes - 1)
    graph = np.full(budget.nodes, budget.graphs - 1)
    label, present = np.zeros(budget.graphs, np.int64), np.zeros(budget.graphs, np.float32)
    start, vectors = np.full(budget.graphs, budget.nodes - 1), np.zeros((budget.nodes, budget.eigenvectors or 0))
    node = edge = 0
    for number, each in enumerate(graphs):
        nodes, edges = slice(node, node + len(each.features)), slice(edge, edge + len(each.sources))
        features[nodes], graph[nodes] = each.features, number
        ends[:, edges] = np.stack([each.sources, each.targets]) + node
        vectors[nodes, : each.vectors.shape[1]], start[number] = each.vectors, node
        label[number], present[number] = each.label, 1
        node, edge = nodes.stop, edges.stop
    joined = {
        "features": features,
        "sources": ends[0],
        "targets": ends[1],
        "graph": graph,
        "label": label,
        "present": present,
    }
    if budget.eigenvectors is not None:
        joined |= {"cls": start, "eigenvectors": vectors.astype(np.float32)}
    return joined
