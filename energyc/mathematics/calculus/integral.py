"""Integrals of functions of one number: their closed forms, found by rule.

A body is a node without dims over its argument u. Its integral is put together from sums, polynomials, and functions
of a linear argument that have a known one: the integral of ``f(a u + b)`` is ``F(a u + b) / a``.
"""

from __future__ import annotations

from fractions import Fraction

from energyc.mathematics.calculus.scalar import antiderivative
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Function, Graph, Input, Map, Node, walk

Polynomial = dict[int, Node]
LARGEST_DEGREE = 16


def integral(graph: Graph, body: Node) -> Node | None:
    """A node whose slope by the argument is ``body``, or None where the rules find none."""
    polynomial = _polynomial(graph, body)
    if polynomial is not None:
        return _integrated_polynomial(graph, polynomial)
    match body:
        case Add(terms=terms):
            parts = [(coefficient, integral(graph, node)) for coefficient, node in terms]
            return None if any(node is None for _, node in parts) else graph.add([(c, n) for c, n in parts if n], ())
        case Map():
            return _integrated_map(graph, body)
        case Einsum():
            return _integrated_product(graph, body)
    return None


# ---------------------------------------------------------------- polynomials


def _argument(graph: Graph) -> Node:
    return graph.input("u", "argument")


def _depends_on_argument(node: Node) -> bool:
    return any(isinstance(n, Input) and n.kind == "argument" for n in walk([node]))


def _polynomial(graph: Graph, node: Node) -> Polynomial | None:
    """Coefficients by degree, or None where a node is not a polynomial of the argument."""
    if not _depends_on_argument(node):
        return {0: node}
    match node:
        case Input():
            return {1: graph.constant(1)}
        case Add(terms=terms):
            parts = [(c, _polynomial(graph, n)) for c, n in terms]
            return (
                None if any(p is None for _, p in parts) else _added(graph, [(c, p) for c, p in parts if p is not None])
            )
        case Einsum(operands=operands, coefficient=coefficient):
            total: Polynomial | None = {0: graph.constant(coefficient)}
            for operand in operands:
                total = _multiplied(graph, total, _polynomial(graph, operand.node))
            return total
        case Map(function=Function(exponent=power), argument=argument) if power is not None and power.denominator == 1:
            base = _polynomial(graph, argument)
            return None if power < 0 or base is None else _raised(graph, base, int(power))
    return None


def _added(graph: Graph, parts: list[tuple[Coefficient, Polynomial]]) -> Polynomial:
    degrees = sorted({degree for _, part in parts for degree in part})
    return {d: graph.add([(c, part[d]) for c, part in parts if d in part], ()) for d in degrees}


def _multiplied(graph: Graph, a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    if a is None or b is None or max(a) + max(b) > LARGEST_DEGREE:
        return None
    return _added(graph, [(ONE, {i + j: graph.product(x, y)}) for i, x in a.items() for j, y in b.items()])


def _raised(graph: Graph, base: Polynomial, power: int) -> Polynomial | None:
    total: Polynomial | None = {0: graph.constant(1)}
    for _ in range(min(power, LARGEST_DEGREE + 1)):
        total = _multiplied(graph, total, base)
    return total if power <= LARGEST_DEGREE else None


def _integrated_polynomial(graph: Graph, polynomial: Polynomial) -> Node:
    u = _argument(graph)
    terms = [
        (Coefficient(Fraction(1, degree + 1)), graph.product(factor, graph.power(u, degree + 1)))
        for degree, factor in polynomial.items()
    ]
    return graph.add(terms, ())


# ---------------------------------------------------------------- functions of a linear argument


def _linear(graph: Graph, node: Node) -> Node | None:
    """``1 / a`` where a node is ``a u + b``."""
    polynomial = _polynomial(graph, node)
    if polynomial is None or max(polynomial) != 1:
        return None
    slope = polynomial[1]
    if isinstance(slope, Einsum) and not slope.operands:
        inverse = slope.coefficient.power(Fraction(-1))
        return None if inverse is None else graph.constant(inverse)
    return graph.power(slope, -1)


def _integrated_map(graph: Graph, node: Map) -> Node | None:
    scale = _linear(graph, node.argument)
    if scale is None:
        return None
    u = node.argument
    if node.function == Function("power", Fraction(-1)):  # on both sides of its pole
        u = graph.map("abs", u)
    primitive = antiderivative(graph, node.function, u)
    return None if primitive is None else graph.product(scale, primitive)


def _integrated_product(graph: Graph, node: Einsum) -> Node | None:
    """A constant times one function, or a polynomial times the exponential of a linear argument."""
    constants = [o.node for o in node.operands if not _depends_on_argument(o.node)]
    varying = [o.node for o in node.operands if _depends_on_argument(o.node)]
    inner = _integrated_factors(graph, varying)
    return None if inner is None else graph.product(inner, *constants, coefficient=node.coefficient)


def _integrated_factors(graph: Graph, factors: list[Node]) -> Node | None:
    if len(factors) == 1:
        return integral(graph, factors[0])
    if len(factors) == 2 and factors[0] is factors[1]:
        return _integrated_square(graph, factors[0])
    exponentials = [f for f in factors if isinstance(f, Map) and f.function.name == "exp"]
    if len(exponentials) != 1:
        return None
    others = [f for f in factors if f is not exponentials[0]]
    polynomial = _polynomial(graph, graph.product(*others))
    scale = _linear(graph, exponentials[0].argument)
    return None if polynomial is None or scale is None else _by_parts(graph, polynomial, exponentials[0], scale)


def _integrated_square(graph: Graph, factor: Node) -> Node | None:
    """``tanh^2`` and ``sigmoid^2`` of a linear argument: ``u - tanh`` and ``softplus - sigmoid``."""
    if not isinstance(factor, Map) or factor.function.name not in ("tanh", "sigmoid"):
        return None
    scale = _linear(graph, factor.argument)
    first = factor.argument if factor.function.name == "tanh" else graph.map("softplus", factor.argument)
    return None if scale is None else graph.product(scale, graph.minus(first, factor))


def _by_parts(graph: Graph, polynomial: Polynomial, exponential: Node, scale: Node) -> Node:
    """``e^(a u + b) (p / a - p' / a^2 + p'' / a^3 - ...)``."""
    terms, sign, power, u = [], 1, scale, _argument(graph)
    while polynomial:
        for degree, factor in polynomial.items():
            terms.append(
                (Coefficient(Fraction(sign)), graph.product(factor, power, graph.power(u, degree), exponential))
            )
        polynomial = {d - 1: graph.scale(d, factor) for d, factor in polynomial.items() if d}
        sign, power = -sign, graph.product(power, scale)
    return graph.add(terms, ())
