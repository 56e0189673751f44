"""Edges of undirected graphs: each as two directed ones, once, without loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Edges:
    """Directed edges from ``sources`` to ``targets``, each ``[edges]``, sorted by target, then by source.

    ``loops`` edges from a node to itself were left out; ``mirrored`` ones were added because only their opposite
    was given.
    """

    sources: np.ndarray
    targets: np.ndarray
    loops: int = 0
    mirrored: int = 0

    def __len__(self) -> int:
        """The number of directed edges: two for each undirected one."""
        return len(self.sources)

    def notes(self) -> list[str]:
        """The edges left out or added, in words for the user."""
        counts = (
            (self.loops, "from a node to itself left out"),
            (self.mirrored, "added, whose opposite alone was given"),
        )
        return [f"{count:,} edge{'s' * (count > 1)} {what}" for count, what in counts if count]


def undirected(sources: np.ndarray, targets: np.ndarray, nodes: int) -> Edges:
    """The graph in which two nodes are joined if any edge between them is given, in either direction.

    ``sources`` and ``targets`` ``[any]`` are in ``range(nodes)``.
    """
    sources, targets = (np.asarray(ends).astype(np.int64) for ends in (sources, targets))
    loops = sources == targets
    forward = np.unique(targets[~loops] * nodes + sources[~loops])
    both = np.union1d(forward, sources[~loops] * nodes + targets[~loops])
    return Edges(both % nodes, both // nodes, int(loops.sum()), len(both) - len(forward))
