"""Finds what keeps a network from extending to complex states: parts of its forces and slopes that are not analytic.

And what is not smooth, so that no bound of a derivative holds across it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from energyc.language.network import Network
from energyc.mathematics.calculus import gradient, readers
from energyc.mathematics.functions import ScalarFunction
from energyc.mathematics.ir import ArgMax, Input, Map, Max, Node, walk
from energyc.proofs.conservativeness.classify import Classification
from energyc.proofs.fields.problem import fork

CORNERED = frozenset({"box", "nonnegative", "simplex"})


def obstacles(network: Network, classification: Classification) -> list[str]:
    """The reasons why a network has no holomorphic extension; empty if it has one."""
    states = [state.node for state in network.states.values()]
    reasons = []
    for name, forces in classification.forces.items():
        kinks = [f"{what} in {name}" for what in _not_analytic(forces.values(), states)]
        reasons += kinks or _in_slopes(network, name, states)
    if network.cost is not None:
        slopes = gradient(fork(network.graph), network.cost.node, states, frozen=True, strict=False)
        reasons += [f"{what} in the cost {network.cost.name}" for what in _not_analytic(slopes.values(), states)]
    for name, state in network.states.items():
        if state.constraint is not None and state.constraint.kind in CORNERED:
            reasons.append(f"{name} is kept in a {state.constraint.kind} set")
    return list(dict.fromkeys(reasons))


def _in_slopes(network: Network, name: str, states: list[Input]) -> list[str]:
    """The parts of an energy's slopes by the params that are not analytic in the states."""
    if name not in network.energies:
        return []
    params = [param.node for param in network.params.values()]
    slopes = gradient(fork(network.graph), network.energies[name].node, params, frozen=True, strict=False)
    return [f"{what} in the slopes of {name} by params" for what in _not_analytic(slopes.values(), states)]


def not_smooth(roots: Iterable[Node], states: Iterable[Node]) -> list[str]:
    """The parts that have no derivatives of all orders in the states wherever they are defined."""
    return _culprits(roots, states, _kinked)


def _kinked(node: Map) -> list[str]:
    if node.function.slope is None:
        entry = node.function.entry
        return [entry.description or entry.text] if entry.kinks or not (entry.continuous and entry.analytic) else []
    inner = (n for body in node.function.bodies for n in walk([body]) if isinstance(n, Map))
    return [text for n in inner for text in _kinked(n)]


def _not_analytic(roots: Iterable[Node], states: Iterable[Node]) -> list[str]:
    """The parts that are not analytic in the states, in a ``detach(...)`` too: all are evaluated on complex states."""
    return _culprits(roots, states, _functions_not_analytic)


def _culprits(roots: Iterable[Node], states: Iterable[Node], of_map: Callable[[Map], list[str]]) -> list[str]:
    """The parts that read the states and are a largest entry, or of whose functions ``of_map`` says something."""
    roots = list(roots)
    moving = readers(roots, set(states))
    culprits = []
    for node in walk(roots):
        if node not in moving:
            continue
        if not node.facts.analytic:
            culprits.append("max" if isinstance(node, Max | ArgMax) else type(node).__name__)
        if isinstance(node, Map):
            culprits += of_map(node)
    return list(dict.fromkeys(culprits))


def _functions_not_analytic(node: Map) -> list[str]:
    """The functions in a map that are not analytic, or that no target can evaluate on complex values."""
    if node.function.slope is None:
        return _obstacle(node.function.entry)
    bodies = [node.function.primitive] if node.function.primitive is not None else []
    return [text for inner in walk(bodies) if isinstance(inner, Map) for text in _functions_not_analytic(inner)]


def _obstacle(entry: ScalarFunction) -> list[str]:
    if entry.holomorphic and any(form.takes_complex for form in entry.forms):
        return []
    instead = f" (write {entry.alternative})" if entry.alternative else ""
    return [f"{entry.description or entry.text}{instead}"]
