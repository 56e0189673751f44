"""The text format of TUDataset (Morris et al. 2020, chrsmrrs.github.io/datasets): a folder or a zip of tables.

``NAME_A.txt`` has an edge a line, as two nodes numbered from 1 through all graphs; ``NAME_graph_indicator.txt`` the
graph of each node; ``NAME_graph_labels.txt`` the label of each graph. ``NAME_node_labels.txt`` and
``NAME_node_attributes.txt`` may be missing.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from energyc.running.data.errors import malformed
from energyc.running.data.files import open_zip, read_bytes

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
