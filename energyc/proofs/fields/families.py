"""Families of energies, ``energy att[k] = ...``: each member as an energy of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

from energyc.language.network import Term
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Graph, Indicator, Node
from energyc.mathematics.ir.indexing import axis, equal, integer
from energyc.mathematics.ir.interpreter import evaluate

#: A family with more members is reported as a whole.
MOST_MEMBERS = 32


def members_of(graph: Graph, family: Term, extents: Mapping[str, int]) -> dict[str, Node]:
    """The members of a family of energies, by the names that reports give them; none of a large family."""
    dims, axes = family.family.dims, range(len(family.family.dims))
    if math.prod(extents[dim] for dim in dims) > MOST_MEMBERS:
        return {}
    members = {}
    for places in product(*(range(extents[dim]) for dim in dims)):
        parts = [(c, part) for c, part in _parts(family.family) if not _is_left_out(part, places, extents)]
        left = graph.add(parts, dims)
        chosen = [(graph.indicator([dims[k]], equal(axis(0), integer(places[k]))), (k,)) for k in axes]
        node = graph.einsum(ONE, [(left, axes), *chosen], dict(enumerate(dims)), ())
        members[f"{family.name}[{','.join(map(str, places))}]"] = node
    return members


def _parts(node: Node) -> Sequence[tuple[Coefficient, Node]]:
    return node.terms if isinstance(node, Add) else [(ONE, node)]


def _is_left_out(part: Node, places: Sequence[int], extents: Mapping[str, int]) -> bool:
    """Whether a condition on indices makes a part of a family 0 at a place: ``where(k == 1, ..., 0)``."""
    if not isinstance(part, Einsum):
        return False
    for operand in part.operands:
        known = isinstance(operand.node, Indicator) and not operand.node.children
        if known and all(label in part.out for label in operand.axes):
            (holds,) = evaluate([operand.node], {}, sizes=extents, values={})
            if not holds[tuple(places[part.out.index(label)] for label in operand.axes)]:
                return True
    return False
