"""Merging several products of one tensor with different weights into one larger product.

``q = n W_q``, ``k = n W_k``, ``v = n W_v`` become one product with the stacked weights. These depend on no state, so
they are stacked once per relaxation. Products are merged if they read the same tensor in the same way, their weights
have the same dims, and the same routines need them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from energyc.code.plan.rebuild import planned_anew
from energyc.code.plan.statics import Statics
from energyc.derivation.derive import Routine
from energyc.mathematics.ir import ONE, Einsum, Facts, Graph, Node, Operand, walk


@dataclass(frozen=True, eq=False, repr=False)
class Stack(Node):
    """Tensors of equal dims, stacked along a new first axis."""

    facts = Facts()

    parts: tuple[Node, ...]

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return self.parts


@dataclass(frozen=True, eq=False, repr=False)
class Part(Node):
    """The slice at ``place`` along the first axis."""

    facts = Facts()

    argument: Node
    place: int

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return (self.argument,)


@dataclass(frozen=True)
class Projection:
    """A product of a batched tensor with static weights."""

    node: Einsum
    tensor: Operand
    weights: Operand

    @staticmethod
    def of(node: Node, statics: Statics) -> Projection | None:
        """The node as a projection, or None if it is not one."""
        if not isinstance(node, Einsum) or len(node.operands) != 2 or node.coefficient != ONE:
            return None
        for tensor, weights in (node.operands, node.operands[::-1]):
            per_sample = tensor.node.batched and not weights.node.batched
            if per_sample and statics.moving(tensor.node) and statics.static(weights.node) and len(weights.axes) > 1:
                return Projection(node, tensor, weights)
        return None

    @property
    def form(self) -> Hashable:
        """The common signature of stacked projections; labels are numbered in order of result, tensor, weights."""
        number = {
            label: k for k, label in enumerate(dict.fromkeys([*self.node.out, *self.tensor.axes, *self.weights.axes]))
        }
        tensor, weights = (tuple(number[a] for a in o.axes) for o in (self.tensor, self.weights))
        return self.tensor.node, tensor, weights, self.weights.node.dims, len(self.node.out)


def stack_products(
    graph: Graph, routines: Sequence[Routine], statics: Statics
) -> tuple[list[Routine], Mapping[Node, Node]]:
    """The routines with their products stacked, and the new node for each old one."""
    new: dict[Node, Node] = {}
    for group in _groups(routines, statics):
        new.update(_stacked(graph, group))
    for node in walk(o.node for r in routines for o in r.outputs):
        if node not in new:
            new[node] = _rebuilt(graph, node, new)
    stacked = [replace(r, outputs=tuple(replace(o, node=new[o.node]) for o in r.outputs)) for r in routines]
    return stacked, new


def _groups(routines: Sequence[Routine], statics: Statics) -> list[list[Projection]]:
    """Groups of two or more projections of equal form that the same routines need, in the order of creation."""
    readers: dict[Node, list[str]] = {}
    for routine in routines:
        for node in walk(o.node for o in routine.outputs):
            readers.setdefault(node, []).append(routine.name)
    groups: dict[Hashable, list[Projection]] = {}
    for node in sorted(readers, key=lambda node: node.number):
        if (projection := Projection.of(node, statics)) is not None:
            groups.setdefault((projection.form, tuple(readers[node])), []).append(projection)
    independent = map(_independent, groups.values())
    return [group for group in independent if len(group) > 1]


def _independent(group: Iterable[Projection]) -> list[Projection]:
    """One projection for each weight."""
    return list({projection.weights.node: projection for projection in group}.values())


def _stacked(graph: Graph, group: Sequence[Projection]) -> dict[Node, Node]:
    """For each projection of a group its slice of the one merged product."""
    first = group[0]
    dim = f"stack:{len(group)}"
    weights = [projection.weights.node for projection in group]
    stack = graph.share(Stack, (dim, *weights[0].dims), False, tuple(weights))
    label = len(first.node.labels)
    labels = {**dict(enumerate(first.node.labels)), label: dim}
    factors = [(first.tensor.node, first.tensor.axes), (stack, (label, *first.weights.axes))]
    product = graph.einsum(ONE, factors, labels, (label, *first.node.out))
    return {p.node: graph.share(Part, p.node.dims, True, product, k) for k, p in enumerate(group)}


def _rebuilt(graph: Graph, node: Node, new: Mapping[Node, Node]) -> Node:
    if isinstance(node, Stack | Part):
        return node
    return planned_anew(graph, node, new)
