"""Energies that are sums of squared prediction errors: what each state is predicted to be from those before it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from energyc.language.network import Network
from energyc.mathematics.calculus import depends, is_cut
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Graph, Map, Node, Operand, walk


@dataclass(frozen=True)
class Prediction:
    """The energy ``precision / 2 * sum((state - node)^2)``, whose ``node`` reads states before this one."""

    state: str
    node: Node
    precision: float


class NoPredictions(Exception):
    """The energies are not a sum of squared prediction errors; the text says why."""


def predictions(network: Network) -> tuple[Prediction, ...]:
    """The prediction of each state, each after those that it reads. Raises NoPredictions.

    In such a network a free phase ends where each state is what it is predicted to be, and all energies are 0.
    """
    if network.forces or network.layers or not network.states:
        raise NoPredictions(f"{next(iter(network.forces), 'a layer')} is not an energy")
    kept = [name for name, state in network.states.items() if state.constraint is not None]
    if kept:
        raise NoPredictions(f"{kept[0]} is kept in a set, which its prediction may leave")
    states: dict[Node, str] = {state.node: name for name, state in network.states.items()}
    squares = [
        _Square(name, factor, error, tuple(states[node] for node in walk([error]) if node in states))
        for name, term in network.energies.items()
        for factor, error in _squares(network, name, term.node, states)
    ]
    found = _ordered(network, squares)
    missing = [name for name in network.states if name not in found]
    if missing:
        raise NoPredictions(f"nothing predicts {missing[0]}")
    return tuple(found.values())


@dataclass(frozen=True)
class _Square:
    """``factor * sum(error^2)`` of an energy, and the states that the error reads."""

    energy: str
    factor: Coefficient
    error: Node
    reads: tuple[str, ...]


def _ordered(network: Network, squares: Sequence[_Square]) -> dict[str, Prediction]:
    """The predictions by state, in rounds: of those whose other states are predicted. Raises NoPredictions."""
    readers: dict[str, list[int]] = {}
    for k, square in enumerate(squares):
        for name in square.reads:
            readers.setdefault(name, []).append(k)
    found: dict[str, Prediction] = {}
    unknown = {k: dict.fromkeys(square.reads) for k, square in enumerate(squares)}
    ready = [*unknown]
    while unknown:
        alone = ((k, next(iter(unknown[k]))) for k in ready if len(unknown[k]) == 1)
        placed = [k for k, own in alone if _predicts(network, own, squares[k].error)]
        if not placed:
            raise NoPredictions(f"{squares[min(unknown)].energy} is not an error of a prediction from other states")
        before = len(found)
        for k in placed:
            own = next(iter(unknown.pop(k)), None)
            if own is None:
                raise NoPredictions(f"{squares[k].energy} predicts a state that another energy predicts")
            found[own] = _prediction(network, own, squares[k].factor, squares[k].error)
            for reader in unknown.keys() & readers[own]:
                del unknown[reader][own]
        ready = sorted({reader for own in [*found][before:] for reader in readers[own] if reader in unknown})
    return found


def _squares(network: Network, name: str, root: Node, states: Collection[Node]) -> Iterator[tuple[Coefficient, Node]]:
    """An energy as ``factor * sum(error^2)``, a pair for each. Raises NoPredictions."""
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


def _predicts(network: Network, own: str, error: Node) -> bool:
    """Whether an error adds a state to what does not depend on it."""
    node = network.states[own].node
    terms = error.terms if isinstance(error, Add) else ((ONE, error),)
    beside = [term for _, term in terms if term is not node]
    return len(beside) == len(terms) - 1 and not depends(beside, {node}) & {*beside}


def _prediction(network: Network, own: str, factor: Coefficient, error: Node) -> Prediction:
    """The prediction in an error ``a * state + rest``: ``-rest / a``."""
    graph: Graph = network.graph
    node = network.states[own].node
    terms = error.terms if isinstance(error, Add) else ((ONE, error),)
    slope = next(coefficient for coefficient, term in terms if term is node)
    inverse = slope.power(Fraction(-1)) or ONE
    rest = [(-(coefficient * inverse), term) for coefficient, term in terms if term is not node]
    precision = 2 * factor.number(network.values) * slope.number(network.values) ** 2
    return Prediction(own, graph.add(rest, node.dims), precision)
