"""Antiderivatives of the scalar functions, as nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

from energyc.ir import ONE, Function, Graph, Node

Rule = Callable[[Graph, Node], Node]


def antiderivative(graph: Graph, function: Function, u: Node) -> Node | None:
    """A function whose slope is ``function``, at each element of ``u``; None where the table has none."""
    if function.slope is not None:
        return None
    if function.name == "power" and function.parameter is not None:
        raised = function.parameter + 1
        return graph.map("log", u) if raised == 0 else graph.scale(1 / raised, graph.power(u, raised))
    rule = _RULES.get(function.name)
    return rule and rule(graph, u)


def _named(name: str, factor: int = 1) -> Rule:
    return lambda g, u: g.scale(factor, g.map(name, u))


def _tanh(g: Graph, u: Node) -> Node:
    """``log cosh u + log 2 = u + softplus(-2u)``."""
    return g.plus(u, g.map("softplus", g.scale(-2, u)))


def _relu(g: Graph, u: Node) -> Node:
    return g.scale(Fraction(1, 2), g.power(g.map("relu", u), 2))


def _abs(g: Graph, u: Node) -> Node:
    return g.scale(Fraction(1, 2), g.product(u, g.map("abs", u)))


def _softplus(g: Graph, u: Node) -> Node:
    return g.minus(g.product(u, g.map("softplus", u)), g.map("silu_integral", u))


def _gelu(g: Graph, u: Node) -> Node:
    """``((u^2 - 1) P + u gauss) / 2`` with P the normal distribution function, ``gelu' = P + u gauss``."""
    bell = g.product(u, g.map("gauss", u))
    half = ONE.scaled(Fraction(1, 2))
    return g.add([(half, g.product(u, g.map("gelu", u))), (-half, g.map("gelu_slope", u)), (ONE, bell)], u.dims)


_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "exp": _named("exp"),
        "sigmoid": _named("softplus"),
        "tanh": _tanh,
        "relu": _relu,
        "step": _named("relu"),
        "sign": _named("abs"),
        "abs": _abs,
        "silu": _named("silu_integral"),
        "silu_slope": _named("silu"),
        "softplus": _softplus,
        "gelu": _gelu,
        "gelu_slope": _named("gelu"),
        "gelu_tanh_slope": _named("gelu_tanh"),
        "sin": _named("cos", -1),
        "cos": _named("sin"),
    }
)
