"""Encloses the nodes of a graph."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from energyc.derivation.notation.recognise import normalisers
from energyc.mathematics.calculus import Bounds
from energyc.mathematics.functions import ScalarFunction
from energyc.mathematics.ir import (
    ONE,
    Add,
    ArgMax,
    BatchStatistic,
    Coefficient,
    Einsum,
    Graph,
    Indicator,
    Input,
    Map,
    Max,
    Node,
    Operand,
    Position,
    Reduction,
    Softmax,
    Stop,
    is_mask,
    nearest,
    walk,
)
from energyc.proofs.enclosures.conditions import BESIDE, by_case, elements_of, where
from energyc.proofs.enclosures.enclosure import (
    POSITIVE,
    UNIT,
    Enclosure,
    entropy,
    has_one_sign,
    multiplied,
    squared,
    summed,
    times,
)
from energyc.proofs.enclosures.functions import mapped_range, powered, right_of_zero
from energyc.proofs.enclosures.polynomials import polynomial, range_of
from energyc.proofs.enclosures.ranges import ANY, Range, exactly


@dataclass(frozen=True)
class Chosen:
    """A product of what is chosen where ``conditions`` hold, at the same indices, the ``rest``, and of others."""

    conditions: tuple[Node, ...]
    rest: Node
    others: tuple[Operand, ...]


@dataclass
class Enclosures:
    """Encloses the nodes of a ``graph``.

    ``values`` are those of consts and dims, ``ranges`` the bounds of inputs. ``moving`` are the states, of which those
    in ``free`` are kept in no set of finite extent. At the ``harmless`` nodes, which jump, what they are part of is
    continuous. Conditions are taken to hold where they do, and that far ``beside`` their edges.
    """

    graph: Graph
    values: Mapping[str, float]
    ranges: Mapping[Input, Bounds] = field(default_factory=dict)
    moving: Collection[Input] = ()
    free: Collection[Input] = ()
    harmless: Collection[Node] = ()
    beside: float = 0.0
    _known: dict[Node, Enclosure] = field(default_factory=dict)
    _reads: dict[Node, tuple[bool, bool]] = field(default_factory=dict)

    def of(self, root: Node) -> Enclosure:
        """The enclosure of a node."""
        for node in walk([root]) if root not in self._known else ():
            if node not in self._known:
                self._reads[node] = self._read(node)
                self._known[node] = self._settled(node, self._enclosed(node).cut())
        return self._known[root]

    def range(self, root: Node) -> Range:
        """The range of a node."""
        return self.of(root).range

    def continuous(self, roots: Iterable[Node]) -> bool:
        """Whether all nodes are finite and continuous on the sets of the states."""
        return all(self.of(root).continuous for root in roots)

    def _read(self, node: Node) -> tuple[bool, bool]:
        """Whether a node depends on any state, and on a free one."""
        inside = [inner for body in node.function.bodies for inner in walk([body])] if isinstance(node, Map) else []
        parts = [self._reads[child] for child in node.children]
        parts += [(inner in self.moving, inner in self.free) for inner in (node, *inside) if isinstance(inner, Input)]
        return any(any_state for any_state, _ in parts), any(free for _, free in parts)

    def _settled(self, node: Node, found: Enclosure) -> Enclosure:
        """With what follows where no state is read, or none that is free: a held number, an image of a compact set."""
        reads_any, reads_free = self._reads[node]
        if not reads_any:
            return replace(found, bounded=True, away=found.away or found.range.nonzero, continuous=True)
        if not reads_free and found.continuous:
            return replace(found, bounded=True, away=found.away or found.range.nonzero)
        return found

    def number(self, coefficient: Coefficient) -> Range:
        """The value of a coefficient."""
        value, negative = nearest(coefficient.value), coefficient.value < 0
        for name, power in coefficient.powers:
            base = self.values[name]
            if base == 0 or (base < 0 and power.denominator > 1):
                return ANY
            negative ^= base < 0 and power % 2 == 1
            try:
                value *= base ** float(power)
            except OverflowError:
                value = math.inf
        if value == 0 or not math.isfinite(value):  # beyond the floats: its sign is known
            return -POSITIVE if negative else POSITIVE
        return exactly(value)

    def _enclosed(self, node: Node) -> Enclosure:
        match node:
            case Input():
                return self._input(node)
            case Stop() | BatchStatistic():
                return self._known[node.argument]
            case Indicator():
                return Enclosure(UNIT, continuous=True)
            case Position():
                return Enclosure(ANY, bounded=True, continuous=True)
            case Add():
                return self._sum(node)
            case Einsum():
                return self._einsum(node)
            case Map():
                return self._map(node)
            case Softmax():
                return Enclosure(UNIT, continuous=self._known[node.argument].continuous)
            case ArgMax():
                return Enclosure(UNIT)
            case Reduction():  # a largest entry, or the logarithm of a sum of exponentials
                inner = self._known[node.argument]
                own = inner.range if isinstance(node, Max) and node.guard is None else ANY
                return Enclosure(own, inner.bounded, continuous=inner.continuous)
        return Enclosure()

    def _input(self, node: Input) -> Enclosure:
        low, high = self.ranges.get(node, (None, None))
        own = Range(-math.inf if low is None else low, math.inf if high is None else high)
        return Enclosure(own, bounded=node not in self.free, continuous=True)

    def _sum(self, node: Add) -> Enclosure:
        total, powers = summed([times(self.number(c), self._known[n]) for c, n in node.terms]), polynomial(node)
        if powers is None:
            return total
        found = range_of(powers[1], self.of(powers[0]).range)
        return total if found is None else replace(total, range=total.range.within(found))

    # ---------------------------------------------------------------- products

    def _einsum(self, node: Einsum) -> Enclosure:
        product = times(self.number(node.coefficient), self._product(node))
        if not node.contracted or gathered(node) is not None:
            return product
        return replace(product, range=product.range.repeated(1.0), away=product.away and has_one_sign(product))

    def _product(self, node: Einsum) -> Enclosure:
        picked = gathered(node) if node.contracted else None
        found = self.of_product(node.operands if picked is None else picked, _normalised(node))
        cases = by_case(node.operands if picked is None else picked)
        chosen = [(before, self._chosen(factors)) for before, factors in cases]
        known = [(before, self._where_it_holds(case)) for before, case in chosen if case is not None]
        if len(known) < len(cases):
            return found
        held = summed([self._times(before, case) for before, case in known])
        continuous = found.continuous or all(case is not None and self._goes_on(case) for _, case in chosen)
        return replace(held, continuous=continuous)

    def _times(self, coefficients: Sequence[Coefficient], known: Enclosure) -> Enclosure:
        for coefficient in coefficients:
            known = times(self.number(coefficient), known)
        return known

    def _chosen(self, factors: Sequence[Operand]) -> Chosen | None:
        """A product in which conditions at the same indices choose between 0 and others; None without them."""
        masks = [f for f in factors if is_mask(f.node)]
        masks = [f for f in masks if f.axes == masks[0].axes and len({*f.axes}) == len(f.axes)]
        beside = [f for f in factors if f not in masks and masks and f.axes == masks[0].axes]
        if not beside:
            return None
        labels = {axis: dim for f in beside for axis, dim in zip(f.axes, f.node.dims, strict=True)}
        rest = self.graph.einsum(ONE, [(f.node, f.axes) for f in beside], labels, masks[0].axes)
        others = tuple(f for f in factors if f not in masks and f not in beside)
        return Chosen(tuple(f.node for f in masks), rest, others)

    def _where_it_holds(self, chosen: Chosen) -> Enclosure:
        """0, or the product where its conditions hold.

        What they say is of elements at their own indices, and is used of what is made of these element by element.
        """
        rest = self._narrowed(chosen.rest, where(chosen.conditions, self.of, self.number, self.beside))
        found = multiplied(rest, self.of_product(chosen.others))
        if all(self.range(node).positive for node in chosen.conditions):  # they hold
            return found
        nothing = Range(min(found.range.low, 0.0), max(found.range.high, 0.0))
        return Enclosure(nothing, found.bounded).cut()

    def _goes_on(self, chosen: Chosen) -> bool:
        """Whether the product is continuous where its conditions hold and near there, and their edges are harmless."""
        if not all(node in self.harmless for node in chosen.conditions):
            return False
        near = replace(self, beside=BESIDE, _known=dict(self._known))
        rest = near._narrowed(chosen.rest, where(chosen.conditions, self.of, self.number, BESIDE))
        return rest.continuous and self.of_product(chosen.others).continuous

    def of_product(self, factors: Sequence[Operand], bounded: Collection[int] = ()) -> Enclosure:
        """The product of factors. One that stands there twice is squared; those ``bounded``, by identity, are."""
        remaining = list(factors)
        for operand in remaining:
            self.of(operand.node)
        total = Enclosure(exactly(1.0), bounded=True, away=True, continuous=True)
        while remaining:
            operand = remaining.pop()
            factor = self._known[operand.node]
            if id(operand) in bounded:
                factor = replace(factor, bounded=True)
            elif (pair := next((p for o in remaining if (p := _with_logarithm(operand, o))), None)) is not None:
                remaining.remove(pair[1] if pair[0] is operand else pair[0])
                factor = entropy(self._known[pair[0].node])
            elif operand in remaining:
                remaining.remove(operand)
                factor = squared(factor)
            total = multiplied(total, factor)
        return total

    def _narrowed(self, root: Node, narrowed: Mapping[Node, Enclosure]) -> Enclosure:
        """The enclosure of a node by narrower ones of nodes of which it is made element by element.

        Where a condition holds is no closed set, so that there is nothing that a compact set would bound.
        """
        reads = {node: (any_state, any_state) for node, (any_state, _) in self._reads.items()}
        there, pending = replace(self, free=self.moving, _known=dict(narrowed), _reads=reads), [root]
        while pending:
            node = pending.pop()
            if node not in there._known:
                parts = elements_of(node)
                pending += parts
                there._known |= {} if parts else {node: self.of(node)}
        return there.of(root)

    # ---------------------------------------------------------------- scalar functions

    def _map(self, node: Map) -> Enclosure:
        u = self._known[node.argument]
        if node.function.slope is not None:
            smooth = self._is_smooth(node)
            return Enclosure(bounded=u.bounded and smooth, continuous=u.continuous and smooth)
        entry = node.function.entry
        found = Enclosure(mapped_range(entry, u.range), continuous=u.continuous and self._stays_inside(node, entry, u))
        if entry.exponent is not None:
            return powered(entry.exponent, u, found)
        if entry.domain is not None:  # log, sqrt
            return right_of_zero(entry, u, found)
        if u.bounded:  # finite on the line, a function of the table is bounded on compact sets
            keeps_off = entry.continuous and mapped_range(entry, u.range.closed()).nonzero
            return replace(found, bounded=True, away=keeps_off)
        return found

    def _stays_inside(self, node: Map, entry: ScalarFunction, u: Enclosure) -> bool:
        """Whether a function of the table is finite and continuous at all that its argument can be."""
        if not entry.continuous and node not in self.harmless and not (u.range.nonzero or u.away):
            return False
        if entry.exponent is not None and entry.exponent.denominator == 1 and entry.exponent < 0:
            return u.range.nonzero
        return entry.domain is None or u.range.positive or (entry.domain.zero and u.range.nonnegative)

    def _is_smooth(self, node: Map) -> bool:
        """Whether the slope of a function is finite on the whole line, and so the function continuous."""
        inner = [n for body in node.function.bodies for n in walk([body]) if isinstance(n, Map)]
        return all(n.function.slope is None and n.function.entry.domain is None for n in inner) or (
            node.function.slope is not None and self._is_finite_on_the_line(node.function.slope)
        )

    def _is_finite_on_the_line(self, slope: Node) -> bool:
        """Whether a slope is finite at every argument, steps in it allowed."""
        arguments = [n for n in walk([slope]) if isinstance(n, Input) and n.kind == "argument"]
        steps = {n for n in walk([slope]) if isinstance(n, Map) and n.function.slope is None}
        line = Enclosures(self.graph, self.values, self.ranges, arguments, arguments, steps)
        return line.of(slope).continuous


def _normalised(node: Einsum) -> set[int]:
    """The operands, by identity, that are normalisers two by two, each in one alone."""
    taken: set[int] = set()
    for normaliser in normalisers(node):
        pair = {id(operand) for operand in normaliser.operands}
        if not pair & taken:
            taken |= pair
    return taken


def _with_logarithm(one: Operand, other: Operand) -> tuple[Operand, Operand] | None:
    """Two factors as ``u`` and ``log u``."""
    for operand, logarithm in ((one, other), (other, one)):
        node = logarithm.node
        if isinstance(node, Map) and node.function.named("log") and node.argument is operand.node:
            return (operand, logarithm) if operand.axes == logarithm.axes else None
    return None


def gathered(node: Einsum) -> list[Operand] | None:
    """The factors of a sum of which one term alone is not zero, as in ``rate[t]``; None for any other sum.

    Each label that is summed over is that of a place which an integer input gives, so that it lies in its dim.
    """
    fixed = {_read_label(operand): operand for operand in node.operands if isinstance(operand.node, Indicator)}
    if not set(node.contracted) <= fixed.keys():
        return None
    return [operand for operand in node.operands if operand not in [fixed[label] for label in node.contracted]]


def _read_label(operand: Operand) -> int | None:
    """The label u of ``[u == idx[t]]``."""
    assert isinstance(operand.node, Indicator)
    condition = operand.node.condition
    if condition.op != "==" or condition.parts[0].op != "axis" or condition.parts[1].op != "read":
        return None
    head = condition.parts[0].args[0]
    assert isinstance(head, int)
    return None if head in condition.parts[1].axes() else operand.axes[head]
