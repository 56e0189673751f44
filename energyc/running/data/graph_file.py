"""One attributed graph with anomalies from a file: MATLAB (a Network with Attributes, or CARE-GNN's), or npz."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from energyc.language.diagnostics import near
from energyc.running.data.edges import Edges, undirected
from energyc.running.data.errors import bad_option, malformed
from energyc.running.data.files import held_in, open_npz
from energyc.running.data.matlab import read_matlab

EXPECTED = "a MATLAB file or npz with features, labels, and a relation or several"
REMEDY = "Network, Attributes, Label; or net_upu, ..., features, label; or x, y and arrays of edges [2, edges]"
FEATURES, LABELS = ("Attributes", "features", "x"), ("Label", "labels", "label", "y")
ALL = "all"  # the union of the relations of a file
UNION = "homo"  # CARE-GNN's own union of its relations
PREFIX = "net_"
RELATIONS = ("Network", "adjacency", "edges", UNION, *(PREFIX + name for name in "upu usu uvu rur rtr rsr".split()))
LARGEST_NODES = 1 << 24
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
    if len(shape) != 2 or not 0 < shape[0] <= LARGEST_NODES or not 0 < shape[0] * shape[1] <= LARGEST_CELLS:
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
