"""The slopes of scalar functions, each a node again, so that derivatives of every order exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

from energyc.calculus.substitute import lift
from energyc.ir import ONE, Coefficient, Function, Graph, Node

Slope = Callable[[Graph, Node], Node]


def derivative(graph: Graph, function: Function, u: Node) -> Node:
    """``function'`` at each element of ``u``. Raises KeyError for a function that has no rule."""
    if function.slope is not None:
        return lift(graph, function.slope, u)
    if function.name == "power":
        exponent = function.parameter or Fraction(0)
        return graph.scale(exponent, graph.power(u, exponent - 1))
    return SLOPES[function.name](graph, u)


def _named(name: str) -> Slope:
    return lambda g, u: g.map(name, u)


def _affine(g: Graph, constant: Fraction | int, *terms: tuple[Fraction | int, Node]) -> Node:
    """``constant + sum(factor * node)``."""
    dims = terms[0][1].dims
    return g.add([(ONE, g.constant(constant, dims)), *((Coefficient(Fraction(f)), n) for f, n in terms)], dims)


def _tanh(g: Graph, u: Node) -> Node:
    t = g.map("tanh", u)
    return _affine(g, 1, (-1, g.product(t, t)))


def _sigmoid(g: Graph, u: Node) -> Node:
    s = g.map("sigmoid", u)
    return g.minus(s, g.product(s, s))


def _silu_slope(g: Graph, u: Node) -> Node:
    """``s (1 - s) (2 + u (1 - 2 s))`` with s = sigmoid(u)."""
    s = g.map("sigmoid", u)
    return g.product(_sigmoid(g, u), _affine(g, 2, (1, u), (-2, g.product(u, s))))


def _normal(g: Graph, u: Node) -> Node:
    """``exp(-u^2 / 2)``; the factor 1 / sqrt(2 pi) is the const-free function ``gauss``."""
    return g.map("gauss", u)


def _gelu_slope(g: Graph, u: Node) -> Node:
    """``(2 - u^2) gauss(u)``."""
    return g.product(_normal(g, u), _affine(g, 2, (-1, g.product(u, u))))


def _gelu_tanh_slope(g: Graph, u: Node) -> Node:
    """Of ``1/2 (1 + t) + 1/2 u (1 - t^2) a'`` with t = gelu_tanh_core(u) and a its argument.

    ``(1 - t^2) (a' + 1/2 u a'' - u t a'^2)``, where ``a = k (u + c u^3)``, ``a' = k (1 + 3 c u^2)``, ``a'' = 6 k c u``
    and so ``a' + 1/2 u a'' = k (1 + 6 c u^2)``.
    """
    t, slope = g.map("gelu_tanh_core", u), _core_slope(g, u, 3)
    inner = g.add([(ONE, _core_slope(g, u, 6)), (-ONE, g.product(u, t, slope, slope))], u.dims)
    return g.product(_affine(g, 1, (-1, g.product(t, t))), inner)


def _gelu_tanh_core(g: Graph, u: Node) -> Node:
    t = g.map("gelu_tanh_core", u)
    return g.product(_affine(g, 1, (-1, g.product(t, t))), _core_slope(g, u, 3))


def _core_slope(g: Graph, u: Node, times: int) -> Node:
    """``k (1 + times c u^2)``; k = sqrt(2 / pi) is no fraction and comes by a function."""
    return g.map("gelu_tanh_scale", _affine(g, 1, (times * GELU_TANH_CUBIC, g.product(u, u))))


def _zero(g: Graph, u: Node) -> Node:
    return g.zero(u.dims)


GELU_TANH_CUBIC = Fraction(44715, 1000000)

SLOPES: Mapping[str, Slope] = MappingProxyType(
    {
        "exp": _named("exp"),
        "log": lambda g, u: g.power(u, -1),
        "sqrt": lambda g, u: g.scale(Fraction(1, 2), g.power(u, Fraction(-1, 2))),
        "abs": _named("sign"),
        "sign": _zero,
        "sin": _named("cos"),
        "cos": lambda g, u: g.scale(-1, g.map("sin", u)),
        "tanh": _tanh,
        "sigmoid": _sigmoid,
        "logsigmoid": lambda g, u: g.map("sigmoid", g.scale(-1, u)),
        "relu": _named("step"),
        "step": _zero,
        "softplus": _named("sigmoid"),
        "silu": _named("silu_slope"),
        "silu_slope": _silu_slope,
        "gelu": _named("gelu_slope"),
        "gelu_slope": _gelu_slope,
        "gauss": lambda g, u: g.scale(-1, g.product(u, g.map("gauss", u))),
        "gelu_tanh": _named("gelu_tanh_slope"),
        "gelu_tanh_slope": _gelu_tanh_slope,
        "gelu_tanh_core": _gelu_tanh_core,
        "gelu_tanh_scale": lambda g, u: g.map("gelu_tanh_scale", g.constant(1, u.dims)),
        "erf": _named("erf_slope"),
        "erf_slope": lambda g, u: g.scale(-2, g.product(u, g.map("erf_slope", u))),
        "silu_integral": _named("silu"),
    }
)
