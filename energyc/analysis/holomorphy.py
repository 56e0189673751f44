"""Which networks extend to complex states: what of a force, of the energy's slopes or of the cost's is not analytic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from energyc.analysis.classify import Classification
from energyc.analysis.problem import fork
from energyc.calculus import depends, gradient
from energyc.ir import ArgMax, Input, Map, Max, Node, walk
from energyc.ir.functions import FUNCTIONS
from energyc.resolve.network import Network

#: Entire functions whose complex values no target computes.
UNSUPPORTED: Mapping[str, str] = {
    "gelu": "gelu (write gelu_tanh)",
    "gelu_slope": "gelu' (write gelu_tanh)",
    "erf": "erf",
    "silu_integral": "an integral of silu",
}
CORNERED = frozenset({"box", "nonnegative", "simplex"})


def obstacles(network: Network, classification: Classification) -> list[str]:
    """Why a network has no holomorphic extension, in words; empty where it has one."""
    states = [state.node for state in network.states.values()]
    found = []
    for name, forces in classification.forces.items():
        kinks = [f"{what} in {name}" for what in _not_analytic(forces.values(), states)]
        found += kinks or _in_slopes(network, name, states)
    if network.cost is not None:
        slopes = gradient(fork(network.graph), network.cost.node, states, strict=False)
        found += [f"{what} in the cost {network.cost.name}" for what in _not_analytic(slopes.values(), states)]
    for name, state in network.states.items():
        if state.constraint is not None and state.constraint.kind in CORNERED:
            found.append(f"{name} is kept in a {state.constraint.kind} set")
    return list(dict.fromkeys(found))


def _in_slopes(network: Network, name: str, states: list[Input]) -> list[str]:
    """What of an energy's slopes by the params is not analytic in the states."""
    if name not in network.energies:
        return []
    params = [param.node for param in network.params.values()]
    slopes = gradient(fork(network.graph), network.energies[name].node, params, strict=False)
    return [f"{what} in the slopes of {name} by params" for what in _not_analytic(slopes.values(), states)]


def _not_analytic(roots: Iterable[Node], states: Iterable[Node]) -> list[str]:
    roots = list(roots)
    moving = depends(roots, set(states))
    found = []
    for node in walk(roots):
        if node not in moving:
            continue
        if isinstance(node, Max | ArgMax):
            found.append("max")
        if isinstance(node, Map):
            found += _functions(node)
    return list(dict.fromkeys(found))


def _functions(node: Map) -> list[str]:
    bodies = [b for b in (node.function.primitive,) if b is not None]
    names = [n.function.name for n in walk(bodies) if isinstance(n, Map)] if bodies else [node.function.name]
    kinked = [_written(n) for n in names if n in FUNCTIONS and not FUNCTIONS[n].holomorphic]
    return kinked + [UNSUPPORTED[n] for n in names if n in UNSUPPORTED]


def _written(name: str) -> str:
    return {"step": "relu'", "sign": "abs'"}.get(name, name)
