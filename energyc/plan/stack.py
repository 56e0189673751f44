"""Several products of one tensor with different weights as one larger product.

``q = n W_q``, ``k = n W_k``, ``v = n W_v`` become one product with the stacked weights, which depend on no state and
so are stacked once a relaxation. Products are put together where they read the same tensor in the same way, their
weights have the same dims, and the same routines need them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from energyc.calculus.substitute import rebuilt
from energyc.derive import Routine
from energyc.ir import ONE, Einsum, Facts, Graph, Node, Operand, walk
from energyc.plan.statics import Statics


@dataclass(frozen=True, eq=False, repr=False)
class Stack(Node):
    """Tensors of equal dims, one behind the other along a first axis."""

    facts = Facts()

    parts: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.parts


@dataclass(frozen=True, eq=False, repr=False)
class Part(Node):
    """The k-th along the first axis."""

    facts = Facts()

    argument: Node
    place: int

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.argument,)


@dataclass(frozen=True)
class Projection:
    """A product of a tensor of a sample with static weights."""

    node: Einsum
    tensor: Operand
    weights: Operand

    @staticmethod
    def of(node: Node, statics: Statics) -> Projection | None:
        """The projection that a node is, or None."""
        if not isinstance(node, Einsum) or len(node.operands) != 2 or node.coefficient != ONE:
            return None
        for tensor, weights in (node.operands, node.operands[::-1]):
            own = tensor.node.batched and not weights.node.batched
            if own and statics.moving(tensor.node) and statics.static(weights.node) and len(weights.axes) > 1:
                return Projection(node, tensor, weights)
        return None

    @property
    def form(self) -> Hashable:
        """What two projections must share to be stacked; labels are numbered by the result and the tensor."""
        number = {
            label: k for k, label in enumerate(dict.fromkeys([*self.node.out, *self.tensor.axes, *self.weights.axes]))
        }
        tensor, weights = (tuple(number[a] for a in o.axes) for o in (self.tensor, self.weights))
        return self.tensor.node, tensor, weights, self.weights.node.dims, len(self.node.out)


def stack_products(
    graph: Graph, routines: Sequence[Routine], statics: Statics
) -> tuple[list[Routine], Mapping[Node, Node]]:
    """Routines with their products stacked, and what became of each node."""
    new: dict[Node, Node] = {}
    for group in _groups(routines, statics):
        new.update(_stacked(graph, group))
    for node in walk(o.node for r in routines for o in r.outputs):
        if node not in new:
            new[node] = _rebuilt(graph, node, new)
    done = [replace(r, outputs=tuple(replace(o, node=new[o.node]) for o in r.outputs)) for r in routines]
    return done, new


def _groups(routines: Sequence[Routine], statics: Statics) -> list[list[Projection]]:
    """The projections of equal form that the same routines need, two or more, in the order of their making."""
    readers: dict[Node, list[str]] = {}
    for routine in routines:
        for node in walk(o.node for o in routine.outputs):
            readers.setdefault(node, []).append(routine.name)
    groups: dict[Hashable, list[Projection]] = {}
    for node in sorted(readers, key=lambda node: node.number):
        if (found := Projection.of(node, statics)) is not None:
            groups.setdefault((found.form, tuple(readers[node])), []).append(found)
    return [_independent(group) for group in groups.values() if len(_independent(group)) > 1]


def _independent(group: Iterable[Projection]) -> list[Projection]:
    """Those with weights of their own."""
    return list({projection.weights.node: projection for projection in group}.values())


def _stacked(graph: Graph, group: Sequence[Projection]) -> dict[Node, Node]:
    """The one product of a group, taken apart again."""
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
    return rebuilt(graph, node, new)
