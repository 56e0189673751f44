"""Attention weights: the softmaxes in the terms of a network, and the gradients of its logsumexps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from energyc.language.network import Network
from energyc.mathematics.ir import Input, LogSumExp, Node, Softmax, walk
from energyc.studies.inspection.parts import Nothing, Part

#: The most numbers of a sample's table of weights.
MOST = 2**22


@dataclass(frozen=True)
class Attention:
    """Weights over ``keys`` for each of ``heads`` and ``queries``: axes of ``node``, by number.

    ``term`` is the first term that is made of it. A query axis runs over the same dim as the key axis in its place;
    what has no such partner is a head. Keys of another kind, memories, are asked by the last axis, or by the sample.
    """

    term: str
    node: Softmax
    heads: tuple[int, ...]
    queries: tuple[int, ...]
    keys: tuple[int, ...]

    def dims(self, axes: Sequence[int]) -> tuple[str, ...]:
        """The dims of some of its axes."""
        return tuple(self.node.dims[axis] for axis in axes)


def find_attention(network: Network) -> list[Attention]:
    """Return the attention of a network, each once, in the order of its terms."""
    found: dict[Node, Attention] = {}
    for name, term in network.terms.items():
        for node in walk([term.node]):
            if isinstance(node, LogSumExp | Softmax) and _reads_state(node):
                softmax = network.graph.reduction(Softmax, node.argument, node.axes, node.guard)
                found.setdefault(softmax, _attention(name, softmax))
    return list(found.values())


def _reads_state(node: Node) -> bool:
    return any(isinstance(child, Input) and child.kind == "state" for child in walk([node]))


def _attention(term: str, node: Softmax) -> Attention:
    keys = tuple(node.axes)
    remaining = [axis for axis in range(len(node.dims)) if axis not in keys]
    queries: list[int] = []
    for key in keys:
        partner = next((a for a in remaining if node.dims[a] == node.dims[key] and a not in queries), None)
        queries += [] if partner is None else [partner]
    if len(queries) < len(keys):  # keys of another kind: every remaining axis but the last one is a head
        queries = remaining[-1:]
    heads = tuple(axis for axis in remaining if axis not in queries)
    return Attention(term, node, heads, tuple(queries), keys)


def weights(part: Part, attention: Attention) -> np.ndarray:
    """Return the weights at the end of the free phase: [batch, heads, *queries, *keys], all heads on one axis.

    They sum to 1 over the keys, or to 0 where a guard lets none in. Raises Nothing for a table that is too large, and
    for a relaxation that diverged.
    """
    node, sizes = attention.node, part.network.extents
    numbers = math.prod(sizes[dim] for dim in node.dims)
    if numbers > MOST:
        shown = " x ".join(f"{sizes[dim]:,}" for dim in node.dims)
        raise Nothing(f"the attention in {attention.term} has a table of {shown} weights, too many to be drawn")
    (array,) = part.values([node], part.rest())
    if not np.isfinite(array).all():
        raise Nothing(f"the weights in {attention.term} are not finite: the relaxation diverged")
    if not node.batched:
        array = array[None]
    order = (*attention.heads, *attention.queries, *attention.keys)
    array = array.transpose(0, *(axis + 1 for axis in order))
    return np.asarray(array.reshape(len(array), -1, *array.shape[1 + len(attention.heads) :]))
