"""The rewriting: each tensor that a selection makes sparse is kept without the axis that the selection decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from energyc.mathematics.calculus.substitute import rebuilt
from energyc.mathematics.ir import (
    ONE,
    Add,
    Coefficient,
    Einsum,
    Graph,
    Guard,
    IndexExpr,
    Indicator,
    Map,
    Node,
    Position,
    Reduction,
    Stop,
    walk,
)
from energyc.mathematics.ir.indexing import axis, equal
from energyc.mathematics.sparse.segment import Segment
from energyc.mathematics.sparse.selection import (
    Selection,
    conjuncts,
    decided,
    guard_of,
    indicated,
    lowered,
    selection_of,
)

Labels = tuple[int, ...]
Factor = tuple[Node, Labels]


@dataclass(frozen=True)
class Compressed:
    """A tensor that is 0 where the selection does not hold: ``node`` has its axes but the head, over dim ``over``."""

    node: Node
    selection: Selection
    over: str


Value = Node | Compressed


@dataclass(frozen=True)
class CompressedRoots:
    """Rewritten roots, and the names of what stands for named nodes now."""

    roots: list[Node]
    names: dict[Node, str]


def compressed(
    graph: Graph, roots: Iterable[Node], sizes: Mapping[str, int], names: Mapping[Node, str] | None = None
) -> CompressedRoots:
    """The roots, with sparse tables kept by their entries; without a selection below them they stay as they are.

    A table that something else needs in full is computed once, and read from.
    """
    roots, names = list(roots), dict(names or {})
    if not any(isinstance(node, Indicator) and _selects(node) for node in walk(roots)):
        return CompressedRoots(roots, names)
    whole: frozenset[Node] = frozenset()
    while True:
        compressor = Compressor(graph, sizes, whole)
        new = compressor.rewrite(roots)
        again = whole | compressor.computed_in_full(new)
        if again == whole:
            return CompressedRoots(new, compressor.renamed(names))
        whole = again


@dataclass
class Compressor:
    """Rewrites graphs; results are cached. The tables in ``whole`` are not computed by their entries."""

    graph: Graph
    sizes: Mapping[str, int]
    whole: frozenset[Node] = frozenset()
    _values: dict[Node, Value] = field(default_factory=dict)
    _dense: dict[Node, Node] = field(default_factory=dict)
    _restricted: dict[tuple[Node, Selection], Node] = field(default_factory=dict)
    _begun: set[tuple[Node, Selection]] = field(default_factory=set)

    def rewrite(self, roots: Iterable[Node]) -> list[Node]:
        """The roots, rewritten; one that is sparse itself is given in full."""
        roots = list(roots)
        for node in walk(roots):
            if node not in self._values:
                value = self._values[node] = self._value(node)
                self._dense[node] = self._in_full(node, value)
        return [self._dense[root] for root in roots]

    def _in_full(self, node: Node, value: Value) -> Node:
        """A node with all of its axes; a product is no smaller if its entries are computed first, all else is."""
        if isinstance(value, Compressed) and isinstance(node, Einsum):
            return rebuilt(self.graph, node, self._dense)
        return self._full(value)

    def computed_in_full(self, roots: Iterable[Node]) -> set[Node]:
        """The tables that are computed by their entries although the roots need all of them."""
        reached = set(walk(roots))
        tables = {node for node, _ in self._restricted if not isinstance(node, Indicator | Position)}
        return {node for node in tables if self._dense.get(node) in reached}

    def renamed(self, names: Mapping[Node, str]) -> dict[Node, str]:
        """The names, transferred to what stands for the nodes now."""
        new: dict[Node, str] = {}
        for node, name in names.items():
            if (value := self._values.get(node)) is not None:
                new.setdefault(value.node if isinstance(value, Compressed) else value, name)
        for (node, _), restricted in self._restricted.items():
            if node in names:
                new.setdefault(restricted, names[node])
        return new

    def _value(self, node: Node) -> Value:
        match node:
            case Einsum():
                return self._einsum(node)
            case Add():
                return self._add(node)
            case Map() | Stop() if isinstance(kept := self._values[node.argument], Compressed):
                return self._elementwise(node, kept)
            case Reduction():
                return self._reduction(type(node), node.argument, node.axes, node.guard)
        return rebuilt(self.graph, node, self._dense)

    # ------------------------------------------------------------ sums, functions

    def _add(self, node: Add) -> Value:
        values = [self._values[term] for term in node.children]
        kept = [value for value in values if isinstance(value, Compressed)]
        if len(kept) < len(values) or len({value.selection for value in kept}) > 1:
            return rebuilt(self.graph, node, self._dense)
        terms = [(c, value.node) for (c, _), value in zip(node.terms, kept, strict=True)]
        return replace(kept[0], node=self.graph.add(terms, kept[0].node.dims))

    def _elementwise(self, node: Map | Stop, kept: Compressed) -> Value:
        """A function that maps 0 to 0 leaves a sparse tensor sparse."""
        if isinstance(node, Stop):
            return replace(kept, node=self.graph.stop(kept.node, node.mode))
        if node.function.bodies or node.function.entry.value(np.zeros(1))[0] != 0:
            return rebuilt(self.graph, node, self._dense)
        return replace(kept, node=self.graph.map(node.function, kept.node))

    # ------------------------------------------------------------ products

    def _einsum(self, node: Einsum) -> Value:
        factors = [(o.node, o.axes) for o in node.operands]
        return self._product(node.coefficient, factors, dict(enumerate(node.labels)), node.out)

    def _product(
        self, coefficient: Coefficient, factors: Sequence[Factor], labels: Mapping[int, str], out: Labels
    ) -> Value:
        """A product with its selections told apart; without the head of one whose axes are all in the result."""
        parts, selections = self._parts(factors, labels)
        kept = max(
            (s for s in selections if {s.head, *s.by} <= set(out)),
            key=lambda s: self.sizes[labels[s.head]],
            default=None,
        )
        left = out if kept is None else tuple(a for a in out if a != kept.head)
        parts = [self._decided(part, selections) for part in parts]
        needed = _needed(selections, {*left, *(a for _, axes in parts for a in axes)})
        decided_alone = {s.head for s in selections} - {a for s in needed for a in (s.head, *s.by)}
        whole = [*parts, *(s.factor(self.graph, labels) for s in needed)]
        summed = {label: dim for label, dim in labels.items() if label not in decided_alone}
        product = self.graph.einsum(coefficient, whole, summed, left)
        if kept is None:
            return product
        return Compressed(product, kept.renumbered({label: k for k, label in enumerate(out)}), labels[kept.head])

    def _parts(self, factors: Sequence[Factor], labels: Mapping[int, str]) -> tuple[list[Factor], list[Selection]]:
        """The factors, and the selections among them, those of sparse tensors included."""
        parts: list[Factor] = []
        conditions: list[IndexExpr] = []
        queue = list(reversed(factors))
        while queue:
            node, axes = queue.pop()
            value = self._values.get(node, node)
            if isinstance(value, Compressed):
                head, place = value.selection.head, value.selection.place.renumbered(dict(enumerate(axes)))
                queue.append((value.node, (*axes[:head], *axes[head + 1 :])))
                conditions.append(equal(axis(axes[head]), place))
            elif isinstance(node, Indicator) and _selects(node):
                conditions += conjuncts(node.condition.renumbered(dict(enumerate(axes))))
            else:
                parts.append((node, axes))
        selections: list[Selection] = []
        for condition in dict.fromkeys(conditions):
            selection = selection_of(condition, labels)
            again = next((s for s in selections if selection and _same_edges(s, selection)), None)
            if selection is None or (again and again != selection):
                rest = condition if again is None or selection is None else equal(again.place, selection.place)
                parts.append(indicated(self.graph, rest, labels))
            elif again is None:
                selections.append(selection)
        return parts, selections

    def _decided(self, part: Factor, selections: Iterable[Selection]) -> Factor:
        """A factor without the heads of the selections that it has all axes of: what they exclude is not read."""
        node, axes = part
        for s in selections:
            if {s.head, *s.by} <= set(axes) and len(set(axes)) == len(axes):
                place = {label: k for k, label in enumerate(axes)}
                node = self._restriction(node, s.renumbered(place))
                axes = tuple(a for a in axes if a != s.head)
        return (node if node is not part[0] else self._dense.get(node, node)), axes

    # ------------------------------------------------------------ reductions

    def _reduction(self, kind: type[Reduction], argument: Node, axes: Labels, guard: Guard | None) -> Value:
        """A guarded reduction whose guard has a selection: over segments, or of what the selection leaves."""
        conditions = _conditions(guard)
        selection = self._selection(argument.dims, axes, conditions)
        if selection is None:
            return self.graph.reduction(kind, self._dense.get(argument, argument), axes, guard)
        inner = self._restriction(argument, selection)
        rest = [
            decided(c, selection) for c in conditions if selection_of(c, dict(enumerate(argument.dims))) != selection
        ]
        reduced = tuple(k - (k > selection.head) for k in axes)
        remaining = [k for k in range(len(argument.dims)) if kind.keeps_axes or k not in axes]
        if set(selection.by) & set(axes):
            place = lowered(selection.place, selection.head)
            node = self._segment(kind, inner, reduced, place, argument.dims[selection.head], rest)
            if not kind.keeps_axes:
                order = [k for k in remaining if k != selection.head] + [selection.head]
                return self._transposed(node, [order.index(k) for k in remaining])
        else:
            node = self.graph.reduction(kind, inner, reduced, guard_of(self.graph, rest, inner.dims))
        place_of = {k: at for at, k in enumerate(remaining)}
        return Compressed(node, selection.renumbered(place_of), argument.dims[selection.head])

    def _selection(self, dims: Sequence[str], axes: Labels, conditions: Sequence[IndexExpr]) -> Selection | None:
        """The selection that saves most: one that makes segments, of the largest head."""
        found = (selection_of(condition, dict(enumerate(dims))) for condition in conditions)
        usable = [s for s in found if s is not None and s.head not in axes]
        return max(usable, key=lambda s: (bool(set(s.by) & set(axes)), self.sizes[dims[s.head]]), default=None)

    def _segment(
        self,
        kind: type[Reduction],
        argument: Node,
        axes: Labels,
        place: IndexExpr,
        over: str,
        conditions: Sequence[IndexExpr],
    ) -> Node:
        """A reduction over segments; one that keeps axes has those of the argument, in their order."""
        order = [k for k in range(len(argument.dims)) if k not in axes] + list(axes)
        number = {k: at for at, k in enumerate(order)}
        argument = self._transposed(argument, order)
        guard = guard_of(self.graph, [c.renumbered(number) for c in conditions], argument.dims)
        place = place.renumbered(number)
        dims = argument.dims if kind.keeps_axes else (*argument.dims[: len(order) - len(axes)], over)
        batched = argument.batched or any(n.batched for n in place.inputs) or bool(guard and guard.indicator.batched)
        node = self.graph.share(Segment, dims, batched, kind, argument, len(axes), place, over, guard)
        return self._transposed(node, [number[k] for k in range(len(order))]) if kind.keeps_axes else node

    def _transposed(self, node: Node, order: Sequence[int]) -> Node:
        """The node whose k-th axis is axis ``order[k]`` of this one."""
        return self.graph.einsum(ONE, [(node, range(len(order)))], dict(enumerate(node.dims)), order)

    # ------------------------------------------------------------ restrictions

    def _restriction(self, node: Node, selection: Selection) -> Node:
        """A node where the selection holds, without its head; the node has all axes of the selection."""
        stack = [(node, selection)]
        while stack:
            key = stack[-1]
            missing = [inner for inner in self._inner(*key) if inner not in self._restricted]
            if key not in self._restricted and missing:
                stack += missing
                continue
            if key in self._begun:  # it asks for itself, as where two selections have their axes in one table
                self._restricted.setdefault(key, self._read(*key))
            elif key not in self._restricted:
                self._begun.add(key)
                self._restricted[key] = self._restrict(*key)
                self._begun.discard(key)
            stack.pop()
        return self._restricted[node, selection]

    def _inner(self, node: Node, selection: Selection) -> Iterator[tuple[Node, Selection]]:
        """The restrictions that one needs first."""
        value = self._values.get(node)
        if node in self.whole or (isinstance(value, Compressed) and value.selection == selection):
            return
        match node:
            case Map() | Stop():
                yield node.argument, selection
            case Add():
                yield from ((child, selection) for child in node.children)
            case Reduction() if not _mixes(node, selection):
                yield node.argument, selection.renumbered(dict(enumerate(node.remaining)))
            case Einsum():
                at = selection.renumbered(dict(enumerate(node.out)))
                for o in node.operands:
                    if {at.head, *at.by} <= set(o.axes) and len(set(o.axes)) == len(o.axes):
                        yield o.node, at.renumbered({label: k for k, label in enumerate(o.axes)})

    def _restrict(self, node: Node, selection: Selection) -> Node:
        value = self._values.get(node, node)
        if isinstance(value, Compressed) and value.selection == selection:
            return value.node
        if node in self.whole:
            return self._read(node, selection)
        graph, done = self.graph, self._restricted
        match node:
            case Map():
                return graph.map(node.function, done[node.argument, selection])
            case Stop():
                return graph.stop(done[node.argument, selection], node.mode)
            case Add():
                dims = tuple(dim for k, dim in enumerate(node.dims) if k != selection.head)
                return graph.add([(c, done[term, selection]) for c, term in node.terms], dims)
            case Indicator():
                return graph.indicator(_without(node.dims, selection.head), decided(node.condition, selection))
            case Position():
                return graph.position(_without(node.dims, selection.head), decided(node.value, selection))
            case Reduction() if not _mixes(node, selection):
                return self._restricted_reduction(node, selection)
            case Einsum():
                labels = dict(enumerate(node.labels))
                at = selection.renumbered(dict(enumerate(node.out)))
                factors = [*((o.node, o.axes) for o in node.operands), at.factor(graph, labels)]
                return self._given(node.coefficient, factors, labels, tuple(a for a in node.out if a != at.head))
        return self._read(node, selection)

    def _read(self, node: Node, selection: Selection) -> Node:
        """A table where the selection holds, read from the whole of it."""
        labels = dict(enumerate(node.dims))
        factors = [(self._dense.get(node, node), tuple(labels)), selection.factor(self.graph, labels)]
        return self.graph.einsum(ONE, factors, labels, [k for k in labels if k != selection.head])

    def _restricted_reduction(self, node: Reduction, selection: Selection) -> Node:
        inner = selection.renumbered(dict(enumerate(node.remaining)))
        argument = self._restricted[node.argument, inner]
        conditions = [decided(c, inner) for c in _conditions(node.guard)]
        axes = tuple(k - (k > inner.head) for k in node.axes)
        guard = guard_of(self.graph, conditions, argument.dims)
        return self._full(self._reduction(type(node), argument, axes, guard))

    def _given(
        self, coefficient: Coefficient, factors: Sequence[Factor], labels: Mapping[int, str], out: Labels
    ) -> Node:
        return self._full(self._product(coefficient, factors, labels, out))

    def _full(self, value: Value) -> Node:
        """A value as a node with all of its axes."""
        if not isinstance(value, Compressed):
            return value
        head, dims = value.selection.head, list(value.node.dims)
        dims.insert(head, value.over)
        labels = dict(enumerate(dims))
        factors = [(value.node, [k for k in labels if k != head]), value.selection.factor(self.graph, labels)]
        return self.graph.einsum(ONE, factors, labels, range(len(dims)))


def _mixes(node: Reduction, selection: Selection) -> bool:
    """Whether a reduction that keeps its axes is along one of the selection: each entry reads what it excludes."""
    return node.keeps_axes and bool({selection.head, *selection.by} & set(node.axes))


def _selects(node: Indicator) -> bool:
    """Whether a condition has a selection in it."""
    dims = dict(enumerate(node.dims))
    return any(selection_of(part, dims) for part in conjuncts(node.condition))


def _conditions(guard: Guard | None) -> list[IndexExpr]:
    """The conditions of a guard over the axes of what it guards."""
    return [] if guard is None else conjuncts(guard.indicator.condition.renumbered(dict(enumerate(guard.axes))))


def _needed(selections: Sequence[Selection], read: set[int]) -> list[Selection]:
    """The selections whose head something reads; of another one the sum over its head is 1."""
    needed = [s for s in selections if s.head in read]
    while more := [s for s in selections if s not in needed and any(s.head in (t.head, *t.by) for t in needed)]:
        needed += more
    return [s for s in selections if s in needed]


def _same_edges(one: Selection, other: Selection) -> bool:
    """Whether two selections decide the same index at the same places, or the second at some of the first's."""
    return one.head == other.head and set(other.by) <= set(one.by)


def _without(dims: Sequence[str], gone: int) -> tuple[str, ...]:
    return tuple(dim for k, dim in enumerate(dims) if k != gone)
