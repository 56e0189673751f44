"""Scalar functions as SPICE writes them, for the current of a behavioural source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from energyc.mathematics.calculus import derivative
from energyc.mathematics.ir import Add, Coefficient, Einsum, Function, Graph, Input, Map, Node


class NoForm(Exception):
    """SPICE has no form of a function; ``name`` is its name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class Diode:
    """Shockley's law: the current ``saturation * (exp(u / thermal) - 1)`` at the voltage u, both constants positive."""

    saturation: float
    thermal: float


def shockley(graph: Graph, function: Function, numbers: Mapping[str, float]) -> Diode | None:
    """The diode whose co-content a function is; None where it is that of another element."""
    u = graph.input("u", "argument")
    terms = _terms(derivative(graph, function, u), 1.0, numbers)
    exponentials = [(scale, node) for scale, node in terms if isinstance(node, Map) and node.function.named("exp")]
    shift = sum(scale for scale, node in terms if node is None)
    if len(terms) != 2 or len(exponentials) != 1:
        return None
    scale, exponential = exponentials[0]
    rate = _rate(exponential.argument, u, numbers)
    return Diode(scale, 1 / rate) if shift == -scale < 0 and rate is not None and rate > 0 else None


def _terms(node: Node, factor: float, numbers: Mapping[str, float]) -> list[tuple[float, Node | None]]:
    """A scalar node as a sum of factors times nodes, the constant 1 without a node."""
    if isinstance(node, Add):
        return [part for c, child in node.terms for part in _terms(child, factor * c.number(numbers), numbers)]
    if isinstance(node, Einsum) and not node.labels and len(node.operands) == 1:
        return _terms(node.operands[0].node, factor * node.coefficient.number(numbers), numbers)
    if isinstance(node, Einsum) and not node.labels and not node.operands:
        return [(factor * node.coefficient.number(numbers), None)]
    return [(factor, node)]


def _rate(node: Node, u: Input, numbers: Mapping[str, float]) -> float | None:
    """The c of a node ``c * u``."""
    if node is u:
        return 1.0
    if isinstance(node, Einsum) and not node.labels and [o.node for o in node.operands] == [u]:
        return node.coefficient.number(numbers)
    return None


def slope_text(graph: Graph, function: Function, argument: str, numbers: Mapping[str, float]) -> str:
    """The derivative of a function at ``argument``, a text that binds as an atom. Raises NoForm."""
    u = graph.input("u", "argument")
    return _text(derivative(graph, function, u), argument, numbers)


def _text(node: Node, u: str, numbers: Mapping[str, float]) -> str:
    match node:
        case Input(kind="argument"):
            return u
        case Einsum() if not node.labels:
            factors = [_text(operand.node, u, numbers) for operand in node.operands]
            return "(" + " * ".join([_number(node.coefficient, numbers), *factors]) + ")"
        case Add() if not node.dims:
            terms = [f"{_number(c, numbers)} * {_text(child, u, numbers)}" for c, child in node.terms]
            return "(" + " + ".join(terms) + ")"
        case Map():
            return _call(node.function, _text(node.argument, u, numbers))
    raise NoForm(getattr(node, "name", type(node).__name__))


def _call(function: Function, argument: str) -> str:
    if function.slope is not None:
        raise NoForm(function.name)
    try:
        return function.entry.form("spice").of(argument, argument)
    except NotImplementedError as error:
        raise NoForm(function.name) from error


def _number(coefficient: Coefficient, numbers: Mapping[str, float]) -> str:
    return repr(coefficient.number(numbers))
