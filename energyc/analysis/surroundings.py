"""A force field near a point, as a function of one vector of all state entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from energyc.analysis.problem import ForceField
from energyc.analysis.sampling import Array, Point, batched
from energyc.ir import Input, Node
from energyc.ir.interpreter import evaluate

#: The most vectors that are evaluated at once.
CHUNK = 512


@dataclass(frozen=True)
class Surroundings:
    """A force field as a function of one vector of ``length`` state entries, all other inputs held at a point."""

    field: ForceField
    sizes: Mapping[str, int]
    point: Point

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of each state."""
        return [tuple(self.sizes[dim] for dim in state.dims) for state in self.field.states]

    @property
    def length(self) -> int:
        """The number of entries of all states."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def start(self) -> Array:
        """The states of the point as one vector."""
        return np.concatenate([np.ravel(self.point[state]) for state in self.field.states])

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The least and the largest value of each entry of the vector."""
        ends = [self.field.ranges.get(state, (None, None)) for state in self.field.states]
        low, high = (
            np.concatenate(
                [
                    np.full(int(np.prod(shape)), outside if end[k] is None else end[k])
                    for end, shape in zip(ends, self.shapes, strict=True)
                ]
            )
            for k, outside in ((0, -np.inf), (1, np.inf))
        )
        return low, high

    def inside(self, vectors: Array) -> Array:
        """Vectors projected onto the ranges of the states."""
        return np.clip(vectors, *self.bounds)

    def states_of(self, vector: Array) -> dict[Input, Array]:
        """The values of the states in a vector."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = zip(self.field.states, np.split(vector, ends), self.shapes, strict=True)
        return {state: part.reshape(shape) for state, part, shape in parts}

    def values(self, nodes: Sequence[Node], vectors: Array) -> list[Array]:
        """The value of each node at vectors ``[count, length]``, as ``[count, entries of the node]``."""
        count = len(vectors)
        inputs = batched(self.point, count)
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        for state, part, shape in zip(self.field.states, np.split(vectors, ends, axis=1), self.shapes, strict=True):
            inputs[state.kind, state.name] = part.reshape(count, *shape)
        with np.errstate(all="ignore"):
            arrays = evaluate(nodes, inputs, sizes=self.sizes, values=self.field.values)
        flat = (
            np.ravel(a) if not node.batched else a.reshape(count, -1) for node, a in zip(nodes, arrays, strict=True)
        )
        return [np.broadcast_to(a, (count, a.shape[-1])) for a in flat]

    def forces(self, vectors: Array) -> Array:
        """The force at each vector, ``[count, length]``."""
        chunks = (vectors[k : k + CHUNK] for k in range(0, max(1, len(vectors)), CHUNK))
        return np.concatenate([np.concatenate(self.values(self.field.roots, chunk), axis=1) for chunk in chunks])
