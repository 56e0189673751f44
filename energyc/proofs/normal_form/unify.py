"""Rewrites scalar functions in simpler ones, so that a force and the gradient of its potential get one form.

The formulas come from the table: ``tanh u = 2 s(2u) - 1`` and ``silu u = u s(u)`` with s the logistic sigmoid,
``gelu u = u P(u)`` with P the normal distribution function, ``relu u = u step(u)``. Besides, ``s(-u) = 1 - s(u)``,
``sign u = step(u) - step(-u)`` and, off 0, ``step(-u) = 1 - step(u)`` unless u may rest there, ``abs(u)^n = u^n`` or
``sign(u) u^n``, ``1 / (1 + abs u) = step(u) / (1 + u) + (1 - step(u)) / (1 - u)``, ``exp(u + v) = exp u exp v``,
``exp(log u) = u``, ``log(exp u) = u``, ``sqrt u = u^(1/2)`` and ``(u^a)^b = u^(a b)`` for a fraction a. Use the result
for comparison only: these forms lose digits to cancellation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TypeGuard

from energyc.mathematics.calculus.scalar import expanded
from energyc.mathematics.calculus.substitute import rebuilt
from energyc.mathematics.ir import (
    ONE,
    Add,
    ArgMax,
    Coefficient,
    Einsum,
    Function,
    Graph,
    Map,
    Max,
    Node,
    Operand,
    Stop,
    walk,
)
from energyc.proofs.enclosures.impulses import IMPULSE


def unified(graph: Graph, root: Node) -> Node:
    """``root`` with every function that has a formula rewritten; equal to it wherever nothing jumps."""
    new: dict[Node, Node] = {}
    for node in walk([root]):
        new[node] = _rewritten(graph, node, new)
    return new[root]


def _rewritten(graph: Graph, node: Node, new: Mapping[Node, Node]) -> Node:
    match node:
        case Map(argument=Map() as inner) if inner.function.named("abs") and _is_integer(node.function.exponent):
            return _power_of_abs(graph, new[inner.argument], node.function.exponent)
        case Map(argument=Add() as base) if _negative_integer(node.function.exponent) and (corner := _corner(base)):
            return _on_both_sides(graph, node.function, base, corner, new)
        case Map():
            return _function(graph, node.function, new[node.argument])
        case Stop():
            return new[node.argument]
    return rebuilt(graph, node, new)


def _function(graph: Graph, function: Function, u: Node) -> Node:
    if function.slope is not None or function.named(IMPULSE):
        return graph.map(function, u)
    if function.exponent is not None or function.named("sqrt"):
        return _power(graph, u, function.exponent or Fraction(1, 2))
    match function.name:
        case "sigmoid" | "step":
            turned = _is_negative(u) and (function.named("sigmoid") or not _may_rest(u))
            return _reflected(graph, function, u) if turned else graph.map(function, u)
        case "sign" if not _may_rest(u):
            return _affine(graph, 2, _function(graph, Function("step"), u), -1)
        case "sign":
            above, below = (_function(graph, Function("step"), graph.scale(way, u)) for way in (1, -1))
            return graph.minus(above, below)
        case "exp":
            return _exponential(graph, u)
        case "log" if isinstance(u, Map) and u.function.named("exp"):
            return u.argument
    formula = function.entry.rational_formula
    if formula is None:
        return graph.map(function, u)
    return expanded(graph, formula, u, lambda name, inner: _function(graph, Function(name), inner))


def _is_integer(exponent: Fraction | None) -> TypeGuard[Fraction]:
    return exponent is not None and exponent.denominator == 1


def _power_of_abs(graph: Graph, u: Node, exponent: Fraction) -> Node:
    """``abs(u)^n = u^n`` for even n, and ``sign(u) u^n`` for odd n."""
    power = graph.power(u, exponent)
    return graph.product(_function(graph, Function("sign"), u), power) if exponent.numerator % 2 else power


def _corner(base: Add) -> Map | None:
    """The first ``abs`` or ``relu`` among the terms of a sum."""
    found = (n for n in base.children if isinstance(n, Map) and (n.function.named("abs") or n.function.named("relu")))
    return next(found, None)


def _on_both_sides(graph: Graph, power: Function, base: Add, corner: Map, new: Mapping[Node, Node]) -> Node:
    """``f(abs(u)) = step(u) f(u) + (1 - step(u)) f(-u)`` for a power of a sum; likewise for ``relu``."""
    u = new[corner.argument]
    values = (u, graph.scale(-1, u) if corner.function.named("abs") else graph.zero(u.dims))
    right, left = (
        _function(graph, power, graph.add([(c, value if n is corner else new[n]) for c, n in base.terms], base.dims))
        for value in values
    )
    step = _function(graph, Function("step"), u)
    return graph.add([(ONE, graph.product(step, graph.minus(right, left))), (ONE, left)], base.dims)


def _may_rest(u: Node) -> bool:
    """Whether it may be 0 near a point without being 0 everywhere, as ``relu(z)`` is."""
    return any(isinstance(n, Max | ArgMax) or (isinstance(n, Map) and _is_kinked(n.function)) for n in walk([u]))


def _is_kinked(function: Function) -> bool:
    """Whether it has a kink; of a spec's own function nothing is known."""
    return function.slope is not None or bool(function.entry.kinks)


def _reflected(graph: Graph, function: Function, u: Node) -> Node:
    """``1 - f(-u)``."""
    return _affine(graph, -1, graph.map(function, graph.scale(-1, u)), 1)


def _affine(graph: Graph, factor: int, node: Node, constant: int) -> Node:
    return graph.add([(ONE.scaled(factor), node), (ONE.scaled(constant), graph.constant(1, node.dims))], node.dims)


def _power(graph: Graph, u: Node, exponent: Fraction) -> Node:
    """A power, merged with a fractional power inside it (of a nonnegative base), and with divisors cleared."""
    inner = u.function.exponent if isinstance(u, Map) else None
    if isinstance(u, Map) and inner is not None and inner.denominator != 1:
        return graph.power(u.argument, inner * exponent)
    base = _denominator(u) if isinstance(u, Add) and exponent.denominator == 1 and exponent < 0 else None
    if base is None or not isinstance(u, Add):
        return graph.power(u, exponent)
    degree = max(_divisor_degree(term, base) for _, term in u.terms)
    cleared = graph.add([(c, _cleared(graph, term, base, degree)) for c, term in u.terms], u.dims)
    return graph.product(graph.power(base, -degree * exponent), graph.power(cleared, exponent))


def _denominator(u: Add) -> Node | None:
    """A divisor of a term of a sum, to be cleared: ``1 + (x/y)^2 = (y^2 + x^2) / y^2``."""
    divisors = (node.argument for _, term in u.terms for node in _divisors(term))
    return next((node for node in divisors if node.dims == u.dims), None)


def _divisors(term: Node) -> list[Map]:
    """The factors of a term that are negative integer powers."""
    nodes = (o.node for o in _factors(term))
    return [n for n in nodes if n.dims == term.dims and isinstance(n, Map) and _negative_integer(n.function.exponent)]


def _factors(term: Node) -> list[Operand]:
    """The factors of an elementwise product, nested products flattened, by the axes of the outer product."""
    axes = tuple(range(len(term.dims)))
    if not isinstance(term, Einsum) or term.contracted or term.coefficient != ONE or term.out != axes:
        return [Operand(term, axes)]
    factors: list[Operand] = []
    for operand in term.operands:
        factors += _factors(operand.node) if operand.axes == axes else [operand]
    return factors


def _negative_integer(exponent: Fraction | None) -> TypeGuard[Fraction]:
    return _is_integer(exponent) and exponent < 0


def _divisor_degree(term: Node, base: Node) -> Fraction:
    """The power of a base that divides a term."""
    return sum(
        (-n.function.exponent for n in _divisors(term) if n.argument is base and n.function.exponent), Fraction(0)
    )


def _cleared(graph: Graph, term: Node, base: Node, degree: Fraction) -> Node:
    """A term times a power of its divisor."""
    cancelled = {n for n in _divisors(term) if n.argument is base}
    factor = graph.power(base, degree - _divisor_degree(term, base))
    factors = [(o.node, o.axes) for o in _factors(term) if o.node not in cancelled]
    axes = range(len(term.dims))
    return graph.einsum(ONE, [*factors, (factor, axes)], dict(enumerate(term.dims)), axes)


def _exponential(graph: Graph, u: Node) -> Node:
    """The exponential of a sum as the product of the exponentials of its terms, each on the axes of the term."""
    factors = []
    for factor, term in _summands(graph, u):
        inner, axes = _without_constant_axes(graph, term)
        is_log = isinstance(inner, Map) and inner.function.named("log")
        base = inner.argument if isinstance(inner, Map) and is_log else graph.map("exp", inner)
        factors.append((graph.power(base, factor), axes))
    return graph.einsum(ONE, factors, dict(enumerate(u.dims)), range(len(u.dims)))


def _summands(graph: Graph, u: Node, factor: Fraction = Fraction(1)) -> Iterator[tuple[Fraction, Node]]:
    """The terms of a sum, each split into a rational factor and the rest."""
    match u:
        case Add():
            for coefficient, term in u.terms:
                symbols = Coefficient(Fraction(1), coefficient.powers)
                yield from _summands(graph, graph.scale(symbols, term), factor * coefficient.value)
        case Einsum(operands=(Operand(node=Add() as inner, axes=axes),)) if axes == u.out and not u.coefficient.powers:
            yield from _summands(graph, inner, factor * u.coefficient.value)
        case Einsum():
            value = u.coefficient.value
            yield factor * value, graph.scale(1 / value, u) if value else u
        case _:
            yield factor, u


def _without_constant_axes(graph: Graph, node: Node) -> tuple[Node, tuple[int, ...]]:
    """A node without the axes along which it is constant, and the remaining axes."""
    if not isinstance(node, Einsum):
        return node, tuple(range(len(node.dims)))
    varying = sorted({a for operand in node.operands for a in operand.axes} & set(node.out))
    factors = [(operand.node, operand.axes) for operand in node.operands]
    labels = {a: dim for a, dim in enumerate(node.labels) if a in varying or a in node.contracted}
    inner = graph.einsum(node.coefficient, factors, labels, varying)
    return inner, tuple(node.out.index(a) for a in varying)


def _is_negative(u: Node) -> bool:
    """Whether the first coefficient, multiplied out, is negative, which holds for exactly one of u and -u."""
    match u:
        case Einsum(operands=(Operand(node=inner),)):
            return (u.coefficient.value < 0) != _is_negative(inner)
        case Einsum():
            return u.coefficient.value < 0
        case Add():
            coefficient, term = u.terms[0]
            return (coefficient.value < 0) != _is_negative(term)
    return False
