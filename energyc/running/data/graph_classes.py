"""Graphs with a class each, padded to one size: ``graph_classes(nodes = M, inputs = F, classes = Z)``.

The text format of TUDataset (Morris et al. 2020, chrsmrrs.github.io/datasets) is a folder or a zip of tables.
``NAME_A.txt`` has an edge a line, as two nodes numbered from 1 through all graphs; ``NAME_graph_indicator.txt`` the
graph of each node; ``NAME_graph_labels.txt`` the label of each graph. ``NAME_node_labels.txt`` and
``NAME_node_attributes.txt`` may be missing.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path, PurePosixPath

import numpy as np

from energyc.running.data.arrays import SplitDataset, check_range, generator, held_out, standardise, swamping_value
from energyc.running.data.edges import Edges, undirected
from energyc.running.data.errors import malformed, wrong_size
from energyc.running.data.files import open_zip, read_bytes
from energyc.running.data.options import OptionReader
from energyc.running.data.schema import FieldSchema, Options, Schema

OPTIONS = ("nodes", "inputs", "classes", "eigenvectors", "flipped")
TEST_SHARE = 0.1
LARGEST_GRAPH = 4096  # nodes: a batch of adjacencies is dense
PLANTED, DRAWN = 400, 16  # graphs without a file, and the most nodes that one has by default
NEAR = 1e-6  # entries of an eigenvector this near to the largest count as equal to it


@dataclass(frozen=True)
class Layout:
    """The sizes that the spec gives."""

    nodes: int
    inputs: int
    classes: int
    eigenvectors: int
    flipped: Fraction = Fraction(0)


@dataclass(frozen=True)
class Graph:
    """A graph: the features of its nodes ``[n, inputs]``, its edges, and its class."""

    features: np.ndarray
    edges: Edges
    label: int


@dataclass(frozen=True)
class GraphClasses:
    """A graph with a class, padded to M = ``nodes``; token 0 is CLS, token n + 1 is node n.

    Fields: ``features`` ``[M, inputs]``; ``adjacency`` ``[M + 1, M + 1]`` in 2, with CLS joined to all nodes;
    ``eigenvectors`` ``[M + 1, eigenvectors]`` of D^-1/2 A D^-1/2, A this adjacency; ``mask`` ``[M]``, 1 for a node and
    0 for padding; ``label``. A share ``flipped`` of the eigenvectors has the other sign while training, drawn anew in
    each epoch. Without a path: rings and chains, half of them with a triangle, which is the class.
    """

    name: str = "graph_classes"

    def schema(self, options: Options) -> Schema:
        """Fields features, adjacency, eigenvectors, mask, label; sizes nodes, tokens, inputs, classes, eigenvectors."""
        return _schema(self._read(options))

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """The graphs of TUDataset's files, or drawn ones by this seed."""
        layout = self._read(options)
        graphs, notes = planted(layout, seed) if path is None else read_graphs(path, layout)
        held = held_out(np.array([graph.label for graph in graphs]), TEST_SHARE)
        train, test = (Padded([graphs[k] for k in np.flatnonzero(part)], layout) for part in (~held, held))
        origin = path or f"rings and chains, half of them with a triangle (seed {seed})"
        split = "fixed random split by class, 90 / 10"
        return SplitDataset(_schema(layout), origin, train, test, (*notes, split))

    def _read(self, options: Options) -> Layout:
        reader = OptionReader(self.name, options, OPTIONS)
        nodes = reader.size("nodes", DRAWN, most=LARGEST_GRAPH)
        inputs = reader.size("inputs", 1, most=1 << 12)
        classes = reader.size("classes", 2, least=2, most=1 << 16)
        vectors = reader.size("eigenvectors", 4, most=nodes + 1)
        return Layout(nodes, inputs, classes, vectors, reader.fraction("flipped", Fraction(0)))


def _schema(layout: Layout) -> Schema:
    tokens = layout.nodes + 1
    fields = {
        "features": FieldSchema((layout.nodes, layout.inputs)),
        "adjacency": FieldSchema((tokens, tokens), "integer", 2),
        "eigenvectors": FieldSchema((tokens, layout.eigenvectors)),
        "mask": FieldSchema((layout.nodes,)),
        "label": FieldSchema((), "integer", layout.classes),
    }
    sizes = {"nodes": layout.nodes, "tokens": tokens, "inputs": layout.inputs, "classes": layout.classes}
    return Schema(fields, {**sizes, "eigenvectors": layout.eigenvectors})


class Padded:
    """Graphs, padded as they are taken; only their edges and eigenvectors are held."""

    def __init__(self, graphs: Sequence[Graph], layout: Layout) -> None:
        self._graphs = graphs
        self._layout = layout
        self._vectors = [eigenvectors(adjacency(graph), layout.eigenvectors) for graph in graphs]

    def __len__(self) -> int:
        """The number of graphs."""
        return len(self._graphs)

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The padded graphs at ``indices``; ``augment`` flips eigenvectors at random."""
        check_range(indices, len(self))
        flipped = self._layout.flipped if augment else Fraction(0)
        fields = {name: field.zeros(len(indices)) for name, field in _schema(self._layout).fields.items()}
        for row, index in enumerate(indices):
            graph, nodes = self._graphs[index], len(self._graphs[index].features)
            fields["features"][row, :nodes] = graph.features
            fields["adjacency"][row, : nodes + 1, : nodes + 1] = adjacency(graph)
            vectors = self._vectors[index]
            signs = random_signs(flipped, (vectors.shape[1],), seed, epoch, int(index))
            fields["eigenvectors"][row, : nodes + 1, : vectors.shape[1]] = vectors * signs
            fields["mask"][row, :nodes] = 1
            fields["label"][row] = graph.label
        return fields


def random_signs(flipped: Fraction, shape: tuple[int, ...], *key: int) -> np.ndarray:
    """Factors of this shape, -1 for a share ``flipped`` and 1 for the others, drawn from the key."""
    return np.where(generator(*key).random(shape) < float(flipped), -1.0, 1.0) if flipped else np.ones(shape)


def adjacency(graph: Graph) -> np.ndarray:
    """The adjacency ``[n + 1, n + 1]`` of CLS and the nodes, 0 or 1: CLS is joined to all, nothing to itself."""
    matrix = np.ones((len(graph.features) + 1,) * 2, np.int8)
    matrix[1:, 1:] = 0
    matrix[graph.edges.targets + 1, graph.edges.sources + 1] = 1
    matrix[0, 0] = 0
    return matrix


def eigenvectors(matrix: np.ndarray, count: int) -> np.ndarray:
    """The eigenvectors ``[n, count]`` (fewer of a smaller matrix) of D^-1/2 A D^-1/2, by falling eigenvalue.

    The sign of each is fixed: its largest entry, the first of those that are equal in size, is positive. Those of an
    eigenvalue that several share are a basis that the linear algebra library chose.
    """
    scale = 1 / np.sqrt(matrix.sum(1, dtype=float))
    _, vectors = np.linalg.eigh(scale[:, None] * matrix * scale[None, :])
    vectors = vectors[:, ::-1][:, :count]
    sizes = np.abs(vectors)
    first = np.argmax(sizes >= (1 - NEAR) * sizes.max(0), axis=0)
    signs: np.ndarray = np.sign(vectors[first, np.arange(vectors.shape[1])])
    return vectors * signs


# ------------------------------------------------------------------ TUDataset


def read_graphs(path: str, layout: Layout) -> tuple[list[Graph], list[str]]:
    """The graphs of a file, and notes; raises ``UserError`` where they do not fit the spec."""
    tables = read_tu(path)
    sizes = tables.sizes
    if sizes.min() < 1:
        raise malformed(tables.path, f"graph {int(np.argmin(sizes)) + 1} has no node", "a node in each graph", REMEDY)
    if sizes.max() > layout.nodes:
        problem = f"{np.sum(sizes > layout.nodes):,} of its {len(sizes):,} graphs have more than {layout.nodes} nodes"
        bags = "take graph_bags, which pads no graph to the size of the largest"
        problem = f"{problem} (nodes = {layout.nodes}), the largest {sizes.max()}"
        if sizes.max() > LARGEST_GRAPH:
            raise wrong_size(tables.path, problem, bags)
        raise wrong_size(tables.path, problem, f", or more; or {bags}", nodes=sizes.max())
    kinds, labels = np.unique(tables.labels, return_inverse=True)
    if len(kinds) > layout.classes:
        problem = f"its graphs have {len(kinds)} labels, more than classes = {layout.classes}"
        raise wrong_size(tables.path, problem, classes=len(kinds))
    features, notes = _features(tables)
    if features.shape[1] != layout.inputs:
        problem = f"its nodes have {features.shape[1]} features ({notes[0]}) but the spec says inputs = {layout.inputs}"
        raise wrong_size(tables.path, problem, inputs=features.shape[1])
    edges = undirected(tables.edges[:, 0], tables.edges[:, 1], len(tables.graph))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    cuts = np.searchsorted(edges.targets, starts)
    graphs = []
    for k, label in enumerate(labels):
        nodes, own = slice(starts[k], starts[k + 1]), slice(cuts[k], cuts[k + 1])
        inner = Edges(edges.sources[own] - starts[k], edges.targets[own] - starts[k])
        graphs.append(Graph(features[nodes], inner, int(label)))
    most = f"{len(graphs):,} graphs of {sizes.min()} to {sizes.max()} nodes"
    return graphs, [most, *notes, *edges.notes()]


def _features(tables: Tables) -> tuple[np.ndarray, list[str]]:
    """Node labels as 0/1 columns, then standardised attributes; the degree where a file has neither."""
    columns, notes = [], []
    if tables.node_labels is not None:
        for column in tables.node_labels.T:
            kinds = np.unique(column)
            columns.append((column[:, None] == kinds).astype(float))
            notes.append(f"{len(kinds)} node labels")
    if tables.attributes is not None:
        columns.append(_standardised(tables, tables.attributes))
        count = tables.attributes.shape[1]
        notes.append(f"{count} attribute{'s' * (count > 1)}, standardised over all nodes")
    if not columns:
        edges = undirected(tables.edges[:, 0], tables.edges[:, 1], len(tables.graph))
        degree = np.bincount(edges.targets, minlength=len(tables.graph)).astype(float)
        columns.append(_standardised(tables, degree[:, None]))
        notes.append("the degree, standardised, since nodes have neither labels nor attributes")
    return np.column_stack(columns), [", ".join(notes)]


def _standardised(tables: Tables, columns: np.ndarray) -> np.ndarray:
    standard = standardise(columns, np.arange(len(columns))).values
    place = swamping_value(columns, standard)
    if place is not None:
        problem = f"attribute {place[1] + 1} of node {place[0] + 1} is {columns[place]:g}, far from all others"
        raise malformed(tables.path, problem, "values of one scale", "repair the value")
    return standard


# ------------------------------------------------------------------ drawn


def planted(layout: Layout, seed: int) -> tuple[list[Graph], list[str]]:
    """Rings and chains of 6 to ``nodes`` nodes; class 1 has a triangle planted in it, class 0 as many edges.

    A graph of class 0 has its extra edge between nodes three apart, which makes a square, so that neither the number of
    nodes, nor of edges, nor the degrees tell the classes apart. The feature is the degree, standardised; further
    ones are noise. Raises ``UserError`` for sizes that leave no room.
    """
    if layout.nodes < 6 or layout.classes != 2:
        raise wrong_size("graph_classes", "rings and chains have 6 nodes or more, and 2 classes", "give a file")
    graphs = []
    for number in range(PLANTED):
        random = generator(seed, number)
        nodes, ring, label = int(random.integers(6, layout.nodes + 1)), bool(random.integers(2)), number % 2
        ends = np.arange(nodes if ring else nodes - 1)
        first = int(random.integers(nodes - 3))
        extra = first, first + (2 if label else 3)
        names = random.permutation(nodes)
        pairs = names[np.vstack([np.column_stack([ends, (ends + 1) % nodes]), [extra]])]
        edges = undirected(pairs[:, 0], pairs[:, 1], nodes)
        features = random.standard_normal((nodes, layout.inputs))
        features[:, 0] = np.bincount(edges.targets, minlength=nodes) - 2
        graphs.append(Graph(features, edges, label))
    return graphs, ["class 1 has a triangle, class 0 a square", "the first feature is the degree less 2, others noise"]


# ------------------------------------------------------------------ the files of TUDataset

EXPECTED = "a folder or zip of TUDataset: NAME_A.txt, NAME_graph_indicator.txt, NAME_graph_labels.txt"
REMEDY = "give the zip of chrsmrrs.github.io/datasets as it is, or the folder that it unpacks to"
TABLES = ("A", "graph_indicator", "graph_labels", "node_labels", "node_attributes")
NEEDED = TABLES[:3]

Read = Callable[[str], bytes]


@dataclass(frozen=True)
class Tables:
    """The tables as numbers: the nodes of a graph stand together, in the order of the graphs.

    ``edges`` ``[edges, 2]`` are nodes from 0, ``graph`` ``[nodes]`` is the graph of each node from 0, ``labels``
    ``[graphs]`` are as in the file; ``node_labels`` and ``attributes`` are ``[nodes, columns]`` or None.
    """

    path: str
    edges: np.ndarray
    graph: np.ndarray
    labels: np.ndarray
    node_labels: np.ndarray | None
    attributes: np.ndarray | None

    @property
    def sizes(self) -> np.ndarray:
        """The number of nodes of each graph."""
        return np.bincount(self.graph, minlength=len(self.labels))


def read_tu(path: str) -> Tables:
    """The tables of a folder or zip; raises ``UserError``."""
    place = Path(path)
    if place.is_dir():
        names = {item.name: item for item in place.iterdir()}
        return _tables(path, list(names), lambda name: read_bytes(names[name], EXPECTED, REMEDY))
    with open_zip(place, EXPECTED, REMEDY) as archive:
        texts = {name: archive.read(name) for name in archive.namelist() if PurePosixPath(name).suffix == ".txt"}
    return _tables(path, list(texts), texts.__getitem__)


def _tables(path: str, names: list[str], read: Read) -> Tables:
    tables: dict[str, np.ndarray] = {}
    for table, name in _found(path, names).items():
        kind = float if table == "node_attributes" else np.int64
        tables[table] = _table(f"{path}: {PurePosixPath(name).name}", read(name), kind)
    return _checked(path, tables)


def _found(path: str, names: list[str]) -> dict[str, str]:
    """The name of the file of each table that is there."""
    heads = [name.removesuffix("_A.txt") for name in names if name.endswith("_A.txt")]
    if len(heads) != 1:
        raise malformed(path, f"{len(heads) or 'no'} files named NAME_A.txt", EXPECTED, REMEDY)
    found = {table: f"{heads[0]}_{table}.txt" for table in TABLES if f"{heads[0]}_{table}.txt" in names}
    for table in NEEDED:
        if table not in found:
            raise malformed(path, f"no {PurePosixPath(heads[0]).name}_{table}.txt", EXPECTED, REMEDY)
    return found


def _table(place: str, text: bytes, kind: type) -> np.ndarray:
    """The numbers of a table ``[rows, columns]``; cells are separated by commas."""
    if not text.strip():
        raise malformed(place, "empty", "a row of numbers a line", REMEDY)
    try:
        table: np.ndarray = np.loadtxt(
            io.BytesIO(text), dtype=kind, delimiter=",", ndmin=2, comments=None, encoding="latin-1"
        )
    except (ValueError, OverflowError) as error:
        raise malformed(place, str(error).split(";")[0], "a row of numbers a line", REMEDY) from None
    if not np.isfinite(table).all():
        raise malformed(place, "a number that is not finite", "a row of numbers a line", REMEDY)
    return table


def _checked(path: str, tables: dict[str, np.ndarray]) -> Tables:
    """The tables with numbers from 0 and the nodes in the order of their graphs; raises ``UserError``."""
    edges, graph, labels = (tables[name] for name in NEEDED)
    nodes, graphs = len(graph), len(labels)
    shapes = {"A": (len(edges), 2), "graph_indicator": (nodes, 1), "graph_labels": (graphs, 1)}
    shapes |= {name: (nodes, tables[name].shape[1]) for name in TABLES[3:] if name in tables}
    for name, shape in shapes.items():
        if tables[name].shape != shape:
            problem = f"its table {name} is {list(tables[name].shape)}, not {list(shape)}"
            raise malformed(path, problem, "a row for each node, and for each graph", REMEDY)
    for name, most, what in (("A", nodes, "nodes"), ("graph_indicator", graphs, "graphs")):
        low, high = int(tables[name].min()), int(tables[name].max())
        if low < 1 or high > most:
            raise malformed(path, f"its table {name} has numbers from {low} to {high}", f"1 to {most} {what}", REMEDY)
    ends = graph[edges[:, 0] - 1, 0], graph[edges[:, 1] - 1, 0]
    if (ends[0] != ends[1]).any():
        row = int(np.argmax(ends[0] != ends[1]))
        raise malformed(path, f"the edge in line {row + 1} of its table A joins two graphs", EXPECTED, REMEDY)
    order = np.argsort(graph[:, 0], kind="stable")
    place = np.empty(nodes, np.int64)
    place[order] = np.arange(nodes)
    columns = (tables[name][order] if name in tables else None for name in TABLES[3:])
    return Tables(path, place[edges - 1], graph[order, 0] - 1, labels[:, 0], *columns)
