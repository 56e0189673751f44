"""An element of a node as a SymPy expression: the meaning that the interpreter has in numbers, in symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy
from sympy import Expr, Integer

from energyc.derivation.notation.contraction import Contraction
from energyc.mathematics.ir import (
    Add,
    ArgMax,
    BatchStatistic,
    Einsum,
    Function,
    IndexExpr,
    Indicator,
    Input,
    LogSumExp,
    Map,
    Max,
    Node,
    NoRule,
    Operand,
    Position,
    Reduction,
    Softmax,
    Stop,
)
from energyc.studies.symbolic.functions import applied
from energyc.studies.symbolic.held import HELD
from energyc.studies.symbolic.indices import Condition, Place, Places, both, index
from energyc.studies.symbolic.ranges import Axis, Ranges, Scope, guarded
from energyc.studies.symbolic.symbols import Tensor, element

EVERYWHERE: Scope = frozenset()


@dataclass(frozen=True)
class Part:
    """Factors and conditions of an einsum, and labels that follow from others."""

    factors: tuple[Operand, ...]
    conditions: tuple[IndexExpr, ...]
    solved: Mapping[int, IndexExpr]


@dataclass(frozen=True)
class Elements:
    """Writes elements of nodes; ``named`` nodes are written by their tensors.

    ``index_names`` are wishes for the indices along the axes of nodes. ``argument`` is what a potential is applied to.
    """

    ranges: Ranges
    named: Mapping[Node, Tensor] = field(default_factory=dict)
    index_names: Mapping[Node, tuple[str, ...]] = field(default_factory=dict)
    argument: Expr | None = None
    _known: dict[tuple[Node, Places, Scope], Expr] = field(default_factory=dict)

    def element(self, node: Node, places: Places, scope: Scope = EVERYWHERE) -> Expr:
        """An element, by the name of its node if it has one."""
        tensor = self.named.get(node)
        return element(tensor, places) if tensor is not None else self.expanded(node, places, scope)

    def expanded(self, node: Node, places: Places, scope: Scope = EVERYWHERE) -> Expr:
        """An element by what it is computed from. Raises NoRule for an unknown kind of node."""
        key = (node, places, scope)
        if key not in self._known:
            self._known[key] = self._expanded(node, places, scope)
        return self._known[key]

    def _expanded(self, node: Node, places: Places, scope: Scope) -> Expr:
        match node:
            case Input(kind="argument") if self.argument is not None:
                return self.argument
            case Input():
                return self.ranges.entry(node, places)
            case Einsum():
                return self._einsum(node, places, scope)
            case Add():
                return sympy.Add(*(self.ranges.factor(c) * self.element(n, places, scope) for c, n in node.terms))
            case Map():
                return self._map(node.function, self.element(node.argument, places, scope))
            case Reduction():
                return self._reduction(node, places, scope)
            case Indicator():
                return guarded(self._index(node.condition, dict(enumerate(places))), lambda: Integer(1))
            case Position():
                return sympy.sympify(self._index(node.value, dict(enumerate(places))))
            case BatchStatistic():
                return HELD[node.kind](self.element(node.argument, places, scope))
            case Stop(mode="barrier"):
                return self.element(node.argument, places, scope)
            case Stop():
                return HELD[node.mode](self.element(node.argument, places, scope))
        raise NoRule("sympy", node)

    def _index(self, expr: Any, places: Mapping[int, Place]) -> Any:
        return index(expr, places, self.ranges.size, self.ranges.read)

    # ------------------------------------------------------------ sums of products

    def _einsum(self, node: Einsum, places: Places, scope: Scope) -> Expr:
        """A sum of products; the factors that hold no index of the sum stand before it."""
        contraction = self.ranges.contraction(node)
        summed = [k for k in node.contracted if k not in contraction.solved]
        before, within = _split(node, contraction, set(summed))
        given = dict(zip(node.out, places, strict=True))
        outer = self._product(before, given, scope)
        if outer == 0:
            return outer

        def inside(chosen: Places, around: Scope) -> Expr:
            return self._product(within, {**given, **dict(zip(summed, chosen, strict=True))}, around)

        axes = [Axis(node.labels[k], self._wish(node, k)) for k in summed]
        return self.ranges.factor(node.coefficient) * outer * self.ranges.sum(axes, scope, inside)

    def _product(self, part: Part, at: Mapping[int, Place], scope: Scope) -> Expr:
        """Some factors, where some conditions hold: an indicator's zero absorbs what it excludes."""
        places = {**at, **{k: self._index(value, at) for k, value in part.solved.items()}}
        return guarded(
            both([self._index(condition, places) for condition in part.conditions]),
            lambda: sympy.Mul(*(self.element(o.node, tuple(places[a] for a in o.axes), scope) for o in part.factors)),
        )

    def _wish(self, node: Einsum, label: int) -> str | None:
        for operand in node.operands:
            known = self.index_names.get(operand.node)
            if known and label in operand.axes:
                return known[operand.axes.index(label)]
        return None

    # ------------------------------------------------------------ functions

    def _map(self, function: Function, u: Expr) -> Expr:
        if function.slope is None:
            return applied(function, u)
        if function.primitive is None:
            raise ValueError(f"the potential {function.name} has no closed form")
        return replace(self, argument=u, _known={}).element(function.primitive, ())

    # ------------------------------------------------------------ reductions

    def _reduction(self, node: Reduction, places: Places, scope: Scope) -> Expr:
        match node:
            case Softmax():
                return guarded(self._passes(node, places), lambda: self._weight(node, places, scope))
            case ArgMax():
                return self._first(node, places, scope)
            case LogSumExp():
                return sympy.log(self._exponentials(node, places, scope) + self._empty(node, places, scope))
            case Max():
                return self._along(node, places, scope, lambda own, around: self._largest(node, own, around))
        raise NoRule("sympy", node)

    def _weight(self, node: Softmax, places: Places, scope: Scope) -> Expr:
        left = tuple(place for k, place in enumerate(places) if k not in node.axes)
        total = self._exponentials(node, left, scope) + self._empty(node, left, scope)
        return sympy.exp(self.element(node.argument, places, scope)) / total

    def _exponentials(self, node: Reduction, left: Places, scope: Scope) -> Expr:
        """The sum of the exponentials of what passes the guard; ``left`` are the places along the other axes."""

        def term(own: Places, around: Scope) -> Expr:
            return guarded(self._passes(node, own), lambda: sympy.exp(self.element(node.argument, own, around)))

        return self._along(node, left, scope, term)

    def _largest(self, node: Reduction, own: Places, scope: Scope) -> Expr:
        first = self._first(node, own, scope)
        return first if first == 0 else first * self.element(node.argument, own, scope)

    def _first(self, node: Reduction, own: Places, scope: Scope) -> Expr:
        """1 at the first of the largest entries: it is above those before it, and no other is above it."""
        value = self.element(node.argument, own, scope)

        def holds(other: Places, around: Scope) -> Expr:
            gap = value - self.element(node.argument, other, around)
            earlier = _before([(other[k], own[k]) for k in node.axes])
            beaten = guarded(earlier, lambda: _step(gap, at_zero=0), _step(gap, at_zero=1))
            return guarded(self._passes(node, other), lambda: beaten, Integer(1))

        left = tuple(place for k, place in enumerate(own) if k not in node.axes)
        return guarded(
            self._passes(node, own),
            lambda: self.ranges.product(self._axes(node), scope, self._placed(node, left, holds)),
        )

    def _empty(self, node: Reduction, left: Places, scope: Scope) -> Expr:
        """1 where nothing passes the guard: then a logarithm of the sum is 0, and a quotient by it."""
        if node.guard is None or self.ranges.always_passes(node.guard, node.axes):
            return Integer(0)
        fails = self._placed(
            node, left, lambda own, _: guarded(self._passes(node, own), lambda: Integer(0), Integer(1))
        )
        return self.ranges.product(self._axes(node), scope, fails)

    def _passes(self, node: Reduction, own: Places) -> Condition:
        if node.guard is None:
            return True
        return self._index(node.guard.indicator.condition, {k: own[a] for k, a in enumerate(node.guard.axes)})

    def _along(self, node: Reduction, left: Places, scope: Scope, body: Any) -> Expr:
        return self.ranges.sum(self._axes(node), scope, self._placed(node, left, body))

    def _placed(self, node: Reduction, left: Places, body: Any) -> Any:
        """A body over all axes of the argument as one over those that are reduced."""

        def placed(chosen: Places, around: Scope) -> Any:
            reduced, others = iter(chosen), iter(left)
            axes = range(len(node.argument.dims))
            return body(tuple(next(reduced) if k in node.axes else next(others) for k in axes), around)

        return placed

    def _axes(self, node: Reduction) -> list[Axis]:
        known: Sequence[str | None] = self.index_names.get(node.argument) or [None] * len(node.argument.dims)
        return [Axis(node.argument.dims[k], known[k]) for k in node.axes]


def _step(u: Expr, at_zero: int) -> Expr:
    return sympy.Heaviside(u, Integer(at_zero), evaluate=u.is_number)


def _before(pairs: Sequence[tuple[Place, Place]]) -> Condition:
    """Whether the first places of pairs come before the second ones, in the order of the axes."""
    alternatives = []
    for k, (a, b) in enumerate(pairs):
        equal = [sympy.Eq(first, second) for first, second in pairs[:k]]
        alternatives.append(both([*equal, a < b]))
    return sympy.Or(*alternatives)


def _split(node: Einsum, contraction: Contraction, summed: set[int]) -> tuple[Part, Part]:
    """The factors before a sum, and those within it, which hold an index that it runs over."""
    inner = summed | {k for k, value in contraction.solved.items() if value.axes() & summed}

    def part(inside: bool) -> Part:
        factors = (o for o in node.operands if not isinstance(o.node, Indicator))
        return Part(
            tuple(o for o in factors if bool(set(o.axes) & inner) == inside),
            tuple(c for c in contraction.conditions if bool(c.axes() & inner) == inside),
            {k: value for k, value in contraction.solved.items() if (k in inner) <= inside},
        )

    return part(False), part(True)
