"""Contraction of einsums of many factors into products of two, in a cheap order; windows and gathers become accesses.

After this pass an einsum has one operand (a sum, a transposition, a scaling) or two. An :class:`Indicator` that is an
equality ``[u == f(i, p)]`` is bound to the one operand that runs over u (a window, a fixed position), or
applied last if u is an index of the result (the adjoint of a window). One that reads u from an integer input is a
gather or a sum over segments, whichever comes first in the cheapest order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import TypeGuard

from energyc.code.plan.order import Leaf, best_order, form_of
from energyc.code.plan.statics import Statics
from energyc.mathematics.calculus.substitute import lift, rebuilt
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Graph, Indicator, Map, Node, Stop, walk
from energyc.mathematics.sparse import Segment, Selection, selection_of

#: The batch size assumed when costs are compared.
NOMINAL_BATCH = 32


def is_view(node: Node) -> TypeGuard[Einsum]:
    """Whether a node has one operand and no sum: a scaling, a transposition, a diagonal, a broadcast."""
    return isinstance(node, Einsum) and len(node.operands) == 1 and not node.contracted


@dataclass(frozen=True, eq=False)
class Factor:
    """A node and the label of each of its axes, compared by identity: the factors of a square are distinct."""

    node: Node
    axes: tuple[int, ...]


@dataclass
class Contractor:
    """Rewrites graphs so that every einsum has at most two operands; results are cached.

    What is detached stays so, since autograd differentiates some of the code that is printed.
    """

    graph: Graph
    sizes: Mapping[str, int]
    statics: Statics
    named: frozenset[Node] = frozenset()
    _done: dict[Node, Node] = field(default_factory=dict)

    def rewrite(self, roots: Iterable[Node]) -> list[Node]:
        """The roots, rewritten."""
        roots = list(roots)
        for node in walk(roots):
            if node not in self._done:
                self._done[node] = self._node(node)
        return [self._done[root] for root in roots]

    def renamed(self, names: Mapping[Node, str]) -> dict[Node, str]:
        """The names, transferred to the rewritten nodes; if two nodes became one, it has the first name."""
        new_names: dict[Node, str] = {}
        for node, name in names.items():
            if node in self._done:
                new_names.setdefault(self._done[node], name)
        return new_names

    def _node(self, node: Node) -> Node:
        if isinstance(node, Einsum) and node.operands:
            return _Contraction(self, node).contracted(keep_order=node in self.named)
        if isinstance(node, Add):
            return self._split_add(self.graph.add([(c, self._done[n]) for c, n in node.terms], node.dims))
        if isinstance(node, Map) and node.function.primitive is not None:
            return self.rewrite([lift(self.graph, node.function.primitive, self._done[node.argument])])[0]
        if isinstance(node, Stop):
            kept = node.mode == "detach"
            return self.graph.stop(self._done[node.argument], "detach") if kept else self._done[node.argument]
        if isinstance(node, Map):
            return self._map(node)
        if isinstance(node, Segment):
            fields = (self._done[node.argument], node.count, node.place, node.over, node.guard)
            return self.graph.share(Segment, node.dims, node.batched, node.kind, *fields)
        return rebuilt(self.graph, node, self._done)

    def _map(self, node: Map) -> Node:
        """Move a transposition from the argument of a function to its result."""
        argument = self._done[node.argument]
        if isinstance(argument, Einsum) and argument.coefficient == ONE and len(argument.operands) == 1:
            (operand,) = argument.operands
            if sorted(operand.axes) == sorted(argument.out) and len(set(argument.out)) == len(argument.out):
                mapped = self.graph.map(node.function, operand.node)
                return self.graph.einsum(ONE, [(mapped, operand.axes)], dict(enumerate(argument.labels)), argument.out)
        return self.graph.map(node.function, argument)

    def _split_add(self, node: Node) -> Node:
        """Collect the static terms of a sum in a separate sum, which can be hoisted as a whole."""
        if not isinstance(node, Add):
            return node
        fixed = [term for term in node.terms if self.statics.static(term[1])]
        if len(fixed) < 2 or len(fixed) == len(node.terms):
            return node
        moving = [term for term in node.terms if term not in fixed]
        return self.graph.add([*moving, (ONE, self.graph.add(fixed, node.dims))], node.dims)

    def size(self, node: Node) -> int:
        """The number of entries of a node, with the nominal batch size."""
        return self.extent(node.dims, node.batched)

    def extent(self, dims: Iterable[str], batched: bool) -> int:
        """The number of entries of a tensor of these dims, with the nominal batch size."""
        return prod(self.sizes[dim] for dim in dims) * (NOMINAL_BATCH if batched else 1)


class _Contraction:
    """One einsum while it is contracted into products of two."""

    def __init__(self, owner: Contractor, node: Einsum) -> None:
        self.owner = owner
        self.graph = owner.graph
        self.labels = dict(enumerate(node.labels))
        self.out = node.out
        self.coefficient = node.coefficient
        self.factors = [Factor(owner._done[o.node], o.axes) for o in node.operands]
        self.scatters: list[Factor] = []
        self._absorb()

    def _absorb(self) -> None:
        """Move the scalings of rewritten operands into the coefficient, which is applied last."""
        flat = []
        for factor in self.factors:
            node, axes = factor.node, factor.axes
            if is_view(node) and len(set(node.out)) == len(node.out):
                names = dict(zip(node.out, axes, strict=True))
                self.coefficient = self.coefficient * node.coefficient
                (operand,) = node.operands
                node, axes = operand.node, tuple(names[a] for a in operand.axes)
            flat.append(Factor(node, axes))
        self.factors = flat
        self._count_free_labels()

    def _count_free_labels(self) -> None:
        """Replace a sum over a label that no factor has by a multiplication with its size."""
        present = {*self.out, *(a for f in self.factors for a in f.axes)}
        for label in [label for label in self.labels if label not in present]:
            self.coefficient = self.coefficient * Coefficient.symbol(self.labels.pop(label))

    def contracted(self, *, keep_order: bool) -> Node:
        """The einsum as nested products; the coefficient and, where possible, a transposition are outermost."""
        self._dissolve_identities()
        self._bind()
        self._sum_apart()
        if any(map(self._selection, self.factors)):
            self._contract_selections()
        while len(self.factors) > 2:
            self._merge(*self._best_pair())
        inner = self._needed(self.factors) if self.scatters else self._natural(keep_order)
        result = self._einsum(ONE, self.factors, inner)
        factor = Factor(result, tuple(inner))
        for k, scatter in enumerate(self.scatters):
            rest = [a for s in self.scatters[k + 1 :] for a in s.axes]
            out = [a for a in dict.fromkeys([*factor.axes, *scatter.axes]) if a in self.out or a in rest]
            if k == len(self.scatters) - 1:
                out = list(self.out)
            factor = Factor(self._einsum(ONE, [factor, scatter], out), tuple(out))
        return self.graph.einsum(
            self.coefficient, [(factor.node, factor.axes)], {a: self.labels[a] for a in self.out}, self.out
        )

    def _natural(self, keep_order: bool) -> tuple[int, ...]:
        """An order of axes that needs no extra transposition: those of the batched factor first."""
        present = {a for f in self.factors for a in f.axes}
        if keep_order or len(self.factors) != 2 or not set(self.out) <= present:
            return self.out
        first, second = self.factors
        if (chosen := self._placed(first, second, self.out)) is not None:
            return chosen
        if first.node.batched == second.node.batched:
            return self.out
        leading = first if first.node.batched else second
        first_axes = [a for a in dict.fromkeys(leading.axes) if a in self.out]
        return (*first_axes, *(a for a in self.out if a not in first_axes))

    def _einsum(self, coefficient: Coefficient, factors: Sequence[Factor], out: Sequence[int]) -> Node:
        labels = {a: self.labels[a] for a in (*out, *(a for f in factors for a in f.axes))}
        product = self.graph.einsum(coefficient, [(f.node, f.axes) for f in factors], labels, out)
        if isinstance(product, Einsum) and product.coefficient != ONE and product.operands and product.contracted:
            inner = self.graph.einsum(
                ONE, [(o.node, o.axes) for o in product.operands], dict(enumerate(product.labels)), product.out
            )
            return self.graph.scale(product.coefficient, inner)
        return product

    # ------------------------------------------------------------ indicators

    def _dissolve_identities(self) -> None:
        """Remove each ``[a == b]`` with a or b summed over, renaming that label to the other."""
        while (identity_labels := next(filter(None, map(self._dissolvable, self.factors)), None)) is not None:
            identity, removed, remaining = identity_labels
            others = [f for f in self.factors if f is not identity]
            self.factors = [Factor(f.node, tuple(remaining if x == removed else x for x in f.axes)) for f in others]

    def _dissolvable(self, factor: Factor) -> tuple[Factor, int, int] | None:
        """The factor with the label to remove and the one that replaces it, or None."""
        pair = _identity_axes(factor)
        if pair is None:
            return None
        removed, remaining = pair if pair[0] not in self.out else (pair[1], pair[0])
        if removed in self.out or not self._others_have(factor, removed):
            return None
        return factor, removed, remaining

    def _others_have(self, factor: Factor, label: int) -> bool:
        return any(label in f.axes for f in self.factors if f is not factor)

    def _bind(self) -> None:
        """Bind each equality to the operand that runs over its head, or defer it as a scatter."""
        for factor in [f for f in self.factors if isinstance(f.node, Indicator)]:
            head = self._head(factor)
            if head is None or factor not in self.factors:
                continue
            owners = [f for f in [*self.factors, *self.scatters] if f is not factor and head in f.axes]
            if (
                head not in self.out
                and len(owners) == 1
                and owners[0].axes.count(head) == 1
                and not isinstance(owners[0].node, Indicator)
            ):
                self._access(owners[0], factor, head)
            elif head in self.out and not owners and len(self.factors) > 1:
                self.factors.remove(factor)
                self.scatters.append(factor)

    def _head(self, factor: Factor) -> int | None:
        """The label u of ``[u == f(others)]``; a selection is not such a factor, its turn comes later."""
        condition = factor.node.condition  # type: ignore[attr-defined]
        if self._selection(factor) or condition.op != "==" or condition.parts[0].op != "axis":
            return None
        head = condition.parts[0].args[0]
        if head in condition.parts[1].axes() or len(set(factor.axes)) != len(factor.axes):
            return None
        return factor.axes[head]

    def _access(self, owner: Factor, equality: Factor, head: int) -> None:
        axes: list[int] = []
        for a in owner.axes:
            axes.extend(x for x in (equality.axes if a == head else (a,)) if x != head and x not in axes)
        bound = self._einsum(ONE, [owner, equality], axes)
        self.factors.remove(owner)
        self.factors[self.factors.index(equality)] = Factor(bound, tuple(axes))

    def _sum_apart(self) -> None:
        """Sum a static factor over the labels that no other one has: what is left is static too, and computed once."""
        self._sum_alone(self._moves_beside)

    def _sum_alone(self, chosen: Callable[[Factor], object]) -> None:
        """Sum each of the chosen factors, where there are others, over the labels that nothing else has."""
        for factor in list(self.factors):
            others = {*self.out, *(a for f in [*self.factors, *self.scatters] if f is not factor for a in f.axes)}
            left = tuple(dict.fromkeys(a for a in factor.axes if a in others))
            if set(left) < set(factor.axes) and len(self.factors) > 1 and chosen(factor):
                self.factors[self.factors.index(factor)] = Factor(self._einsum(ONE, [factor], left), left)

    def _moves_beside(self, factor: Factor) -> bool:
        """Whether a factor is static and has one that moves beside it."""
        static = self.owner.statics.static
        return static(factor.node) and not all(static(f.node) for f in self.factors)

    # ------------------------------------------------------------ selections

    def _selection(self, factor: Factor) -> Selection | None:
        """The selection that a factor is, over the labels of the product."""
        if not isinstance(factor.node, Indicator) or len(set(factor.axes)) != len(factor.axes):
            return None
        found = selection_of(factor.node.condition, dict(enumerate(factor.node.dims)))
        return found and found.renumbered(dict(enumerate(factor.axes)))

    def _contract_selections(self) -> None:
        """Contract all but the last two factors, gathers and sums over segments where they cost least."""
        self._count_segments()
        outside = frozenset([*self.out, *(a for s in self.scatters for a in s.axes)])
        steps = best_order([self._leaf(factor) for factor in self.factors], outside, self._entries)
        made = {1 << k: factor for k, factor in enumerate(self.factors)}
        for a, b in steps[:-1]:
            self._merge(made[a], made[b])
            made[a | b] = self.factors[-1]

    def _count_segments(self) -> None:
        """A selection read by what no other factor runs over becomes the number of its entries."""
        self._sum_alone(self._selection)

    def _leaf(self, factor: Factor) -> Leaf:
        node, chosen = factor.node, self._selection(factor)
        head, by = (chosen.head, frozenset(chosen.by)) if chosen else (None, frozenset[int]())
        return Leaf(frozenset(factor.axes), node.batched, self.owner.statics.static(node), head, by)

    def _entries(self, labels: frozenset[int], batched: bool) -> int:
        return self.owner.extent([self.labels[k] for k in labels], batched)

    def _placed(self, a: Factor, b: Factor, after: Iterable[int]) -> tuple[int, ...] | None:
        """The labels of a gather or a sum over segments, in the order that needs no transposition; else None."""
        needed = frozenset(after)
        for factor, other in ((a, b), (b, a)):
            chosen = self._selection(factor)
            if chosen is None or self._selection(other) is not None or not needed <= {*factor.axes, *other.axes}:
                continue
            form = form_of(frozenset(other.axes), self._leaf(factor), needed)
            new = {"gather": chosen.by, "scatter": (chosen.head,), "mask": ()}[form]
            old = {"gather": {chosen.head}, "scatter": set(chosen.by) - needed, "mask": set()}[form]
            if form != "mask":
                order = [x for axis in other.axes for x in (new if axis in old else (axis,))]
                return tuple(x for x in dict.fromkeys(order) if x in needed)
        return None

    # ------------------------------------------------------------ the order of products

    def _needed(self, without: Sequence[Factor]) -> list[int]:
        """The labels of these factors that the result or other factors read."""
        outside = set(self.out)
        outside.update(a for f in [*self.factors, *self.scatters] if f not in without for a in f.axes)
        # batched factors first: in this order no batched tensor is transposed
        ordered = sorted(without, key=lambda f: not f.node.batched)
        return [a for a in dict.fromkeys(a for f in ordered for a in f.axes) if a in outside]

    def _merge(self, a: Factor, b: Factor) -> None:
        labels = self._needed([a, b])
        labels = list(self._placed(a, b, labels) or labels)
        node = self._einsum(ONE, [a, b], labels)
        self.factors = [f for f in self.factors if f is not a and f is not b]
        self.factors.append(Factor(node, tuple(labels)))

    def _best_pair(self) -> tuple[Factor, Factor]:
        pairs = list(combinations(self.factors, 2))
        position = self.factors.index
        return min(pairs, key=lambda pair: (self._cost(*pair), position(pair[0]), position(pair[1])))

    def _cost(self, a: Factor, b: Factor) -> tuple[int, int, bool]:
        """A sort key: operations, entries of the result, and whether a factor is static.

        Static products that do not grow are free, those that grow (outer products) cost double. Among equals the
        product of two moving factors comes first, because other products may share it.
        """
        labels = self._needed([a, b])
        batched = a.node.batched or b.node.batched
        result = self.owner.extent([self.labels[k] for k in labels], batched)
        work = self.owner.extent([self.labels[k] for k in set(a.axes) | set(b.axes)], batched)
        statics = self.owner.statics
        larger = max(self.owner.size(a.node), self.owner.size(b.node))
        if statics.static(a.node) and statics.static(b.node):
            return (0, work, False) if result <= larger else (2 * work, result, False)
        return work, result, statics.static(a.node) or statics.static(b.node)


def _identity_axes(factor: Factor) -> tuple[int, int] | None:
    node = factor.node
    if not isinstance(node, Indicator) or len(node.dims) != 2 or node.dims[0] != node.dims[1]:
        return None
    condition = node.condition
    if condition.op == "==" and {p.op for p in condition.parts} == {"axis"} and condition.axes() == {0, 1}:
        return factor.axes if factor.axes[0] != factor.axes[1] else None  # type: ignore[return-value]
    return None
