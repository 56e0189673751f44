"""Energies that are sums of squared prediction errors: what each state is predicted to be from those before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from energyc.language.network import Network
from energyc.mathematics.calculus import depends, is_cut
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Graph, Input, Map, Node, Operand, walk


@dataclass(frozen=True)
class Prediction:
    """The energy ``precision / 2 * sum((state - node)^2)``, whose ``node`` reads states before this one."""

    state: str
    node: Node
    precision: float


class NoPredictions(Exception):
    """The energies are no sum of squared prediction errors; the text says why."""


def predictions(network: Network) -> tuple[Prediction, ...]:
    """The prediction of each state, each after those that it reads. Raises NoPredictions.

    In such a network a free phase ends where each state is what it is predicted to be, and all energies are 0.
    """
    if network.forces or network.layers or not network.states:
        raise NoPredictions(f"{next(iter(network.forces), 'a layer')} is not an energy")
    kept = [name for name, state in network.states.items() if state.constraint is not None]
    if kept:
        raise NoPredictions(f"{kept[0]} is kept in a set, which its prediction may leave")
    states = {name: state.node for name, state in network.states.items()}
    squares = [
        (name, *square) for name, term in network.energies.items() for square in _squares(network, name, term.node)
    ]
    found: dict[str, Prediction] = {}
    while squares:
        placed = [s for s in squares if (own := _own(s[2], states, found)) is not None and own not in found]
        if not placed:
            raise NoPredictions(f"{squares[0][0]} is not an error of a prediction from other states")
        for square in placed:
            name, factor, error = square
            own = _own(error, states, found)
            if own is None:
                raise NoPredictions(f"{name} predicts a state that another energy predicts")
            found[own] = _prediction(network, own, factor, error)
            squares.remove(square)
    missing = [name for name in states if name not in found]
    if missing:
        raise NoPredictions(f"nothing predicts {missing[0]}")
    return tuple(found.values())


def _squares(network: Network, name: str, root: Node) -> Iterator[tuple[Coefficient, Node]]:
    """An energy as ``factor * sum(error^2)``, a pair for each. Raises NoPredictions."""
    states = {state.node for state in network.states.values()}
    for factor, node in _terms(network.graph, ONE, root):
        error = _squared(node)
        factor = factor * node.coefficient if isinstance(node, Einsum) else factor
        if error is None or not factor.number(network.values) > 0:
            raise NoPredictions(f"{name} is not a sum of squares with positive factors")
        if any(is_cut(n) and any(m in states for m in walk([n])) for n in walk([error])):
            raise NoPredictions(f"{name} holds a state fixed")
        yield factor, error


def _terms(graph: Graph, factor: Coefficient, node: Node) -> Iterator[tuple[Coefficient, Node]]:
    """A number of a sample as a sum of terms that are none themselves; the sum of a family is one over its indices."""
    match node:
        case Add():
            for coefficient, term in node.terms:
                yield from _terms(graph, factor * coefficient, term)
        case Einsum(operands=(operand,)) if not operand.axes and not node.labels:
            yield from _terms(graph, factor * node.coefficient, operand.node)
        case Einsum(operands=(Operand(node=Add() as inner, axes=axes),)) if _is_total(node, axes):
            for coefficient, term in inner.terms:
                yield from _terms(graph, factor * node.coefficient * coefficient, graph.sum(term, range(len(axes))))
        case Einsum(operands=(Operand(node=Einsum() as inner, axes=axes),)) if _is_total(node, axes):
            factors = [(operand.node, operand.axes) for operand in inner.operands]
            joined = graph.einsum(inner.coefficient, factors, dict(enumerate(inner.labels)), ())
            yield from _terms(graph, factor * node.coefficient, joined)
        case _:
            yield factor, node


def _is_total(node: Einsum, axes: tuple[int, ...]) -> bool:
    """Whether a node is the sum of all elements of its operand, each once."""
    return not node.out and len(set(axes)) == len(axes) == len(node.labels)


def _squared(node: Node) -> Node | None:
    """The tensor whose elements are squared and added up."""
    match node:
        case Einsum(operands=(left, right)) if left == right and len(set(left.axes)) == len(left.axes) == len(
            node.labels
        ):
            return left.node
        case Einsum(operands=(only,)) if len(set(only.axes)) == len(only.axes) == len(node.labels):
            return _base_of_square(only.node)
    return _base_of_square(node)


def _base_of_square(node: Node) -> Node | None:
    squared = isinstance(node, Map) and node.function.named("power") and node.function.exponent == 2
    return node.argument if squared and isinstance(node, Map) else None


def _own(error: Node, states: Mapping[str, Input], before: Mapping[str, Prediction]) -> str | None:
    """The one state that an error adds to what states ``before`` predict; None where there is none."""
    read = set(walk([error]))
    later = [name for name, node in states.items() if node in read and name not in before]
    if len(later) != 1:
        return None
    node = states[later[0]]
    terms = error.terms if isinstance(error, Add) else ((ONE, error),)
    beside = [term for _, term in terms if term is not node]
    return later[0] if len(beside) == len(terms) - 1 and not depends(beside, {node}) & {*beside} else None


def _prediction(network: Network, own: str, factor: Coefficient, error: Node) -> Prediction:
    """The prediction of an error ``a * state + rest``: ``-rest / a``."""
    graph: Graph = network.graph
    node = network.states[own].node
    terms = error.terms if isinstance(error, Add) else ((ONE, error),)
    slope = next(coefficient for coefficient, term in terms if term is node)
    inverse = slope.power(Fraction(-1)) or ONE
    rest = [(-(coefficient * inverse), term) for coefficient, term in terms if term is not node]
    precision = 2 * factor.number(network.values) * slope.number(network.values) ** 2
    return Prediction(own, graph.add(rest, node.dims), precision)
