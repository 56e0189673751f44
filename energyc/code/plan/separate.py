"""Tables that are sums over several indices, as products of what runs over fewer: ``a[i] - b[j]`` and its cosine.

What multiplies a table is distributed over its terms, and every sum that this gives is contracted like any other:
``sum[i](W[i,j] * (a[i] - b[j]))`` is a product of a matrix and a vector less ``b[j]`` times a sum of weights. Of a sine
and a cosine the terms are those of angle addition, ``cos(a - b) = cos a cos b + sin a sin b``, so that a network of N
oscillators takes 2 N values of a function and two products of matrices instead of a table of N * N values.

The error stays absolute, some units in the last place of the largest term, as for terms that are rounded themselves. An
exponential is not separated, though ``exp(a - b) = exp(a) exp(-b)``: a factor may overflow where the product is 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import TypeGuard

from energyc.code.plan.contract import Contractor, is_view
from energyc.code.plan.late import summed_late
from energyc.derivation.derive import Routine
from energyc.mathematics.calculus.substitute import rebuilt
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Graph, Map, Node, walk

#: What a value of a scalar function costs, in operations of a product. On a CPU core a sine in float32 takes 1 ns,
#: in which a product of matrices does a hundred operations; a third of that is on the safe side.
FUNCTION = 32
#: The largest number of products that one sum of them may have.
MAX_PRODUCTS = 16


@dataclass(frozen=True)
class Product:
    """A term of a node: its factors, each with the axes of the node that it runs over."""

    coefficient: Coefficient
    factors: tuple[tuple[Node, tuple[int, ...]], ...]

    @property
    def support(self) -> tuple[int, ...]:
        """The axes that the product varies along."""
        return tuple(sorted({a for _, axes in self.factors for a in axes}))

    def along(self, axes: Sequence[int]) -> Product:
        """The same product, with its k-th axis called ``axes[k]``."""
        return replace(self, factors=tuple((node, tuple(axes[a] for a in own)) for node, own in self.factors))

    def times(self, other: Product) -> Product:
        """The product of both."""
        return Product(self.coefficient * other.coefficient, self.factors + other.factors)


def separate(
    graph: Graph, routines: Sequence[Routine], contractor: Contractor
) -> tuple[list[Routine], dict[Node, Node]]:
    """The routines with their tables separated where that costs less, and the new node for each old one.

    ``contractor`` judges the costs. Tables over the same dims are separated together or not at all, so that the time
    does not grow with the square of their number.
    """
    roots = [output.node for routine in routines for output in routine.outputs]
    best, separator, chosen = list(routines), None, frozenset[Node]()
    for tables in (*_angles(graph, roots), *_tables(graph, roots)):
        trial = Separator(graph, chosen | tables)
        rewritten = trial.routines(routines)
        if _cost(contractor, rewritten) < _cost(contractor, best):
            best, separator, chosen = rewritten, trial, trial.chosen
    return best, separator.new if separator else {}


def _angles(graph: Graph, roots: Sequence[Node]) -> list[frozenset[Node]]:
    """Each argument of sines and cosines that is a sum over different axes, in the order of their creation."""
    found = {node.argument for node in walk(roots) if _is_wave(node)}
    separator = Separator(graph)
    separator.rewritten(found)
    return [frozenset({node}) for node in _in_order(found) if separator.parts(node)]


def _tables(graph: Graph, roots: Sequence[Node]) -> list[frozenset[Node]]:
    """The factors of products that are sums of terms over fewer axes than they have, by their dims.

    None that a function reads: a sum of squares that is multiplied out may round to below 0, where a root has no value.
    """
    read = set(walk(node.argument for node in walk(roots) if isinstance(node, Map)))
    factors = (o.node for node in walk(roots) if isinstance(node, Einsum) for o in node.operands)
    found = {node for node in factors if isinstance(node, Add) and len(node.dims) > 1 and node not in read}
    separator = Separator(graph)
    separator.rewritten(found)
    groups: dict[tuple[str, ...], set[Node]] = {}
    for node in _in_order(found):
        parts = separator.parts(node)
        if parts and all(len(axes) < len(node.dims) or part.batched < node.batched for part, axes in parts):
            groups.setdefault(node.dims, set()).add(node)
    return [frozenset(group) for group in groups.values()]


def _in_order(nodes: Iterable[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: node.number)


def _is_wave(node: Node) -> TypeGuard[Map]:
    return isinstance(node, Map) and (node.function.named("sin") or node.function.named("cos"))


def _cost(contractor: Contractor, routines: Iterable[Routine]) -> int:
    """The operations of all routines, contracted, without those on what stays constant while a network relaxes."""
    return sum(_cost_of(contractor, routine) for routine in routines)


def _cost_of(contractor: Contractor, routine: Routine) -> int:
    roots = contractor.rewrite(output.node for output in routine.outputs)
    outputs = [replace(output, node=root) for output, root in zip(routine.outputs, roots, strict=True)]
    nodes = list(walk(roots))
    late = summed_late(nodes, outputs)
    return sum(_operations(contractor, node, node in late) for node in nodes)


def _operations(contractor: Contractor, node: Node, late: bool) -> int:
    """The operations of one node; a sum whose terms are summed over the batch before it has no batch."""
    if contractor.statics.static(node) or is_view(node):
        return 0
    if isinstance(node, Einsum):
        read = {axis for operand in node.operands for axis in operand.axes}
        return contractor.extent([node.labels[axis] for axis in read], node.batched)
    size = contractor.extent(node.dims, node.batched and not late)
    return (FUNCTION if isinstance(node, Map) else len(node.children)) * size


@dataclass
class Separator:
    """Rewrites graphs so that the ``chosen`` tables, and sines and cosines of them, are sums of products.

    ``new`` holds the new node for each old one.
    """

    graph: Graph
    chosen: frozenset[Node] = frozenset()
    new: dict[Node, Node] = field(default_factory=dict)
    _sums: dict[Node, list[Product]] = field(default_factory=dict)
    _separated: set[Node] = field(default_factory=set)

    def routines(self, routines: Iterable[Routine]) -> list[Routine]:
        """The routines, rewritten."""
        made = []
        for routine in routines:
            nodes = self.rewritten(output.node for output in routine.outputs)
            outputs = tuple(replace(o, node=node) for o, node in zip(routine.outputs, nodes, strict=True))
            made.append(replace(routine, outputs=outputs))
        return made

    def rewritten(self, roots: Iterable[Node]) -> list[Node]:
        """The roots, rewritten."""
        roots = list(roots)
        for node in walk(roots):
            if node not in self.new:
                self.new[node] = self._node(node)
                self._sums.setdefault(node, [self._whole(self.new[node])])
        return [self.new[root] for root in roots]

    def parts(self, argument: Node) -> list[tuple[Node, tuple[int, ...]]]:
        """The summands of an argument by the axes that they vary along; empty where all vary along the same."""
        groups: dict[tuple[int, ...], list[Product]] = {}
        constants = [p for p in self._sums[argument] if not p.support]
        for term in self._sums[argument]:
            if term.support:
                groups.setdefault(term.support, list(constants)).append(term)
                constants = []
        if len(groups) < 2 or 2 ** (len(groups) - 1) > MAX_PRODUCTS:
            return []
        dims = argument.dims
        return [(self._sum(terms, {a: dims[a] for a in axes}, axes), axes) for axes, terms in groups.items()]

    def _node(self, node: Node) -> Node:
        """One node, rewritten; its sum of products is kept in ``_sums`` if it has more than one factor."""
        terms = self._terms(node)
        if terms is None:
            return rebuilt(self.graph, node, self.new)
        if not (isinstance(node, Einsum) and node.contracted):
            self._sums[node] = terms
        if node not in self._separated:
            return rebuilt(self.graph, node, self.new)
        if isinstance(node, Einsum):
            return self._sum(terms, dict(enumerate(node.labels)), node.out)
        return self._sum(terms, dict(enumerate(node.dims)), range(len(node.dims)))

    def _sum(self, terms: Iterable[Product], labels: dict[int, str], out: Sequence[int]) -> Node:
        """The sum of products over the labels outside ``out``."""
        made = [(ONE, self.graph.einsum(term.coefficient, term.factors, labels, out)) for term in terms]
        return self.graph.add(made, tuple(labels[a] for a in out))

    # ------------------------------------------------------------ sums of products

    def _terms(self, node: Node) -> list[Product] | None:
        """The node, or what an einsum sums, as a sum of products, or None; notes the nodes that are to be rewritten."""
        terms = None
        if isinstance(node, Map) and node.argument in self.chosen and _is_wave(node):
            self._separated.add(node)
            terms = _wave(self.graph, node.function.name, self.parts(node.argument))
        elif isinstance(node, Add):
            self._note(node)
            terms = [_scaled(c, term) for c, child in node.terms for term in self._sums[child]]
            if node in self.chosen:
                self._separated.add(node)
                self._sums[node] = terms
                terms = [Product(ONE, (part,)) for part in self.parts(node)]
        elif isinstance(node, Einsum) and node.operands:
            self._note(node)
            terms = self._multiplied(node)
        return None if terms is None or len(terms) > MAX_PRODUCTS else terms

    def _whole(self, node: Node) -> Product:
        """A node as a product of itself alone, along the axes that it varies along."""
        axes = tuple(range(len(node.dims)))
        if isinstance(node, Einsum) and not is_view(node):
            read = {a for operand in node.operands for a in operand.axes}
            axes = tuple(a for a in node.out if a in read)
            factors = [(o.node, o.axes) for o in node.operands]
            node = self.graph.einsum(node.coefficient, factors, {a: node.labels[a] for a in read}, axes)
        return Product(ONE, ((node, axes),))

    def _note(self, node: Node) -> None:
        if any(child in self._separated for child in node.children):
            self._separated.add(node)

    def _multiplied(self, node: Einsum) -> list[Product] | None:
        """The products of an einsum, multiplied out over operands with factors that vary along fewer axes."""
        choices = []
        for operand in node.operands:
            whole, terms = self._whole(self.new[operand.node]), self._sums[operand.node]
            useful = operand.node in self._separated or all(_narrow(term, operand.node) for term in terms)
            choices.append([term.along(operand.axes) for term in (terms if useful else [whole])])
        if prod(map(len, choices)) > MAX_PRODUCTS:
            return None
        return [self._joined(node.coefficient, factors) for factors in product(*choices)]

    @staticmethod
    def _joined(coefficient: Coefficient, factors: Sequence[Product]) -> Product:
        joined = Product(coefficient, ())
        for factor in factors:
            joined = joined.times(factor)
        return joined


def _scaled(coefficient: Coefficient, term: Product) -> Product:
    return replace(term, coefficient=coefficient * term.coefficient)


def _narrow(term: Product, node: Node) -> bool:
    """Whether a factor varies along fewer axes than the node that it is part of."""
    return any(len(axes) < len(node.dims) for _, axes in term.factors)


def _oriented(graph: Graph, angle: Node) -> tuple[Coefficient, Node]:
    """A sign and an angle that is not written with a minus, so that equal functions of it are found to be equal."""
    first = angle.terms[0][0] if isinstance(angle, Add) else angle.coefficient if isinstance(angle, Einsum) else ONE
    return (-ONE, graph.scale(-1, angle)) if first.value < 0 else (ONE, angle)


def _wave(graph: Graph, name: str, parts: Sequence[tuple[Node, tuple[int, ...]]]) -> list[Product]:
    """The sine or cosine of a sum, by angle addition."""
    sines, cosines = [Product(Coefficient(ONE.value * 0), ())], [Product(ONE, ())]
    for node, axes in parts:
        sign, angle = _oriented(graph, node)
        sine, cosine = (Product(ONE, ((graph.map(f, angle), axes),)) for f in ("sin", "cos"))
        sine = _scaled(sign, sine)
        sines, cosines = (
            [*(s.times(cosine) for s in sines), *(c.times(sine) for c in cosines)],
            [*(c.times(cosine) for c in cosines), *(_scaled(-ONE, s.times(sine)) for s in sines)],
        )
    return [term for term in (sines if name == "sin" else cosines) if not term.coefficient.is_zero]
