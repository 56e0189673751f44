"""What a condition on real values says of the numbers in it: where ``a * b - 1 > 0``, a * b is above 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from energyc.mathematics.functions import ScalarFunction
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Map, Node, Operand, is_mask
from energyc.proofs.enclosures.enclosure import Enclosure, summed, times
from energyc.proofs.enclosures.functions import mapped_range
from energyc.proofs.enclosures.ranges import Range, exactly

#: Arguments between which the inverse of a function is sought, and in how many halvings.
REACH, HALVINGS = 64.0, 60
#: The most cases of one product.
CASES = 64
HOLDS = Enclosure(exactly(1.0), bounded=True, away=True, continuous=True)
#: How far beyond the edge of a condition what it chooses has to be continuous for it to be so at the edge.
BESIDE = 2.0**-20
POSITIVE, NONNEGATIVE = (Enclosure(Range(0.0, math.inf, low_open=strict)) for strict in (True, False))


def elements_of(node: Node) -> tuple[Node, ...]:
    """The nodes whose elements make those of a node at the same indices; none where it is made in another way."""
    match node:
        case Add() | Map():
            return node.children
        case Einsum() if node.operands and len({*node.out}) == len(node.out):
            return node.children if all(operand.axes == node.out for operand in node.operands) else ()
    return ()


def by_case(factors: Sequence[Operand]) -> list[tuple[Sequence[Coefficient], Sequence[Operand]]]:
    """A product with each term of a sum of conditions in the place of that, and before it what is before the term.

    ``a or b`` is such a sum, ``a`` plus ``not a and b``, and so is what selects between a number and its negative. A
    product with a condition in it is one of its factors.
    """
    cases: list[tuple[Sequence[Coefficient], Sequence[Operand]]] = [((), ())]
    for factor in factors:
        own = _cases(factor) or [((), (factor,))]
        if len(cases) * len(own) > CASES:
            return [((), factors)]
        cases = [((*before, *c), (*held, *f)) for before, held in cases for c, f in own]
    return cases


def _cases(factor: Operand) -> list[tuple[Sequence[Coefficient], Sequence[Operand]]]:
    """The terms of a sum of conditions, or a product with one in it, with coefficients; none of any other factor."""
    if isinstance(factor.node, Einsum) and any(map(is_mask, elements_of(factor.node))):
        parts = tuple(Operand(each.node, factor.axes) for each in factor.node.operands)
        return [((factor.node.coefficient,), parts)]
    found: list[tuple[Sequence[Coefficient], Sequence[Operand]]] = []
    for coefficient, node in factor.node.terms if isinstance(factor.node, Add) else ():
        several = isinstance(node, Einsum) and node.coefficient == ONE
        conditions = elements_of(node) if several else (node,)
        if not conditions or not all(map(is_mask, conditions)):
            return []
        found.append(((coefficient,), tuple(Operand(each, factor.axes) for each in conditions)))
    return found


def where(
    conditions: Sequence[Node],
    known: Callable[[Node], Enclosure],
    number: Callable[[Coefficient], Range],
    beside: float = 0.0,
) -> dict[Node, Enclosure]:
    """The enclosures where conditions hold of what is in them, by those that are ``known`` everywhere.

    Each is of an element of a node at the indices of the conditions, which are 1; or are that ``beside`` their edges.
    ``number`` gives the values of coefficients, consts among them.
    """
    narrowed: dict[Node, Enclosure] = dict.fromkeys(conditions, HOLDS)
    maps = [node for node in conditions if isinstance(node, Map)]
    near = replace(NONNEGATIVE, range=Range(-beside, math.inf))
    bounds = [near if beside else POSITIVE if node.function.named("above") else NONNEGATIVE for node in maps]
    pending = [(node.argument, bound) for node, bound in zip(maps, bounds, strict=True)]
    while pending:
        node, bound = pending.pop()
        old = narrowed.get(node) or known(node)
        inside = replace(
            old,
            range=old.range.within(bound.range),
            bounded=old.bounded or bound.bounded,
            away=old.away or bound.away,
        )
        if inside.range.low <= inside.range.high:
            narrowed[node] = inside.cut()
            pending += _of_parts(node, bound, known, number)
    return narrowed


def _of_parts(
    node: Node, bound: Enclosure, known: Callable[[Node], Enclosure], number: Callable[[Coefficient], Range]
) -> Iterator[tuple[Node, Enclosure]]:
    """What a bound on a node says of the nodes that it is made of, element by element."""
    match node:
        case Add():
            for k, (factor, part) in enumerate(node.terms):
                others = [times(number(c), known(n)) for j, (c, n) in enumerate(node.terms) if j != k]
                rest = summed([bound, *(each.negated() for each in others)])
                yield from _scaled(number(factor), part, rest)
        case Einsum(operands=(operand,)) if elements_of(node):
            yield from _scaled(number(node.coefficient), operand.node, bound)
        case Einsum(operands=(operand, other)) if elements_of(node) and operand == other:
            if times(number(node.coefficient), bound).range.low > 0:
                yield operand.node, Enclosure(away=True)
        case Map() if node.function.named("abs"):
            high = bound.range.high
            yield node.argument, Enclosure(Range(-high, high), away=bound.range.low > 0)
        case Map() if node.function.slope is None and node.function.entry.domain is None:
            entry = node.function.entry
            if entry.monotone and entry.exponent is None:
                low, high = (_reached(entry, bound.range), -_reached(entry, bound.range, -1.0))
                yield node.argument, Enclosure(Range(low, high))


def _scaled(factor: Range, node: Node, bound: Enclosure) -> Iterator[tuple[Node, Enclosure]]:
    """What a bound on a multiple of a node says of it."""
    if factor.low > 0 or factor.high < 0:
        yield node, times(Range(1 / factor.high, 1 / factor.low), bound)


def _reached(entry: ScalarFunction, bound: Range, way: float = 1.0) -> float:
    """A number that no argument is below whose value is in ``bound``; for ``way`` -1, of the opposite argument."""

    def outside(u: float) -> bool:
        value = mapped_range(entry, Range(way * u, way * u))
        return value.high < bound.low if entry.monotone * way > 0 else value.low > bound.high

    low, high = -REACH, REACH
    if not outside(low):
        return -math.inf
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if outside(middle) else (low, middle)
    return low
