"""A force field near a point, as a function of one vector of all state entries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from energyc.mathematics.ir import BatchStatistic, Indicator, Input, Map, Node, walk
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.sampling import Array, Point, batched

#: The most vectors that are evaluated at once.
CHUNK = 512


@dataclass(frozen=True)
class LocalField:
    """A force field as a function of one vector of ``length`` state entries, all else held at a point.

    Means over a batch are held too, at their values in a batch of that point alone: they are constant in derivatives.
    """

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
        chunks = (vectors[k : k + CHUNK] for k in range(0, max(1, len(vectors)), CHUNK))
        return [np.concatenate(parts) for parts in zip(*(self._values(nodes, chunk) for chunk in chunks), strict=True)]

    def forces(self, vectors: Array) -> Array:
        """The force at each vector, ``[count, length]``."""
        return np.concatenate(self.values(self.field.roots, vectors), axis=1)

    def _values(self, nodes: Sequence[Node], vectors: Array) -> list[Array]:
        count = len(vectors)
        inputs = batched(self.point, count)
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        for state, part, shape in zip(self.field.states, np.split(vectors, ends, axis=1), self.shapes, strict=True):
            inputs[state.kind, state.name] = part.reshape(count, *shape)
        known = {
            node: np.broadcast_to(array, (count, *array.shape[1:])) if node.batched else array
            for node, array in self._held(tuple(nodes)).items()
        }
        with np.errstate(all="ignore"):
            arrays = evaluate(nodes, inputs, sizes=self.sizes, values=self.field.values, known=known)
        flat = (
            np.ravel(a) if not node.batched else a.reshape(count, -1) for node, a in zip(nodes, arrays, strict=True)
        )
        return [np.broadcast_to(a, (count, a.shape[-1])) for a in flat]

    def _held(self, roots: tuple[Node, ...]) -> Mapping[Node, Array]:
        """The arrays, at the point, of what does not move with the states, as far as the moving nodes read it."""
        if roots not in self._held_by_roots:
            moving = _moving(roots, self.field.states)
            read = {*roots, *(child for node in moving for child in node.children)}
            # An indicator absorbs through a softmax, beside the nodes that are read.
            held = [n for n in walk(roots) if n not in moving and (n in read or isinstance(n, Indicator))]
            with np.errstate(all="ignore"):
                arrays = evaluate(held, batched(self.point), sizes=self.sizes, values=self.field.values)
            self._held_by_roots[roots] = dict(zip(held, arrays, strict=True))
        return self._held_by_roots[roots]

    @cached_property
    def _held_by_roots(self) -> dict[tuple[Node, ...], Mapping[Node, Array]]:
        return {}


def _moving(roots: Iterable[Node], states: Collection[Input]) -> set[Node]:
    """The nodes whose value depends on the states of one sample."""
    moving: set[Node] = set(states)
    for node in walk(roots):
        inner = walk(node.function.bodies) if isinstance(node, Map) else ()
        if not isinstance(node, BatchStatistic) and any(child in moving for child in (*node.children, *inner)):
            moving.add(node)
    return moving
