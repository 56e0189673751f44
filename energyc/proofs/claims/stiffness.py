"""Steps above 2/L: how steep the force is at least at the rims of the sets, and everywhere; and where it is infinite.

A step h multiplies what is along a direction of curvature c by ``1 - h c``, which is below -1 where c > 2/h: steps of h
leave a state that rests where the curvature is so large. The curvature is bounded from below here, for all clamps and
params on their sets, so that it is reached. That states rest there is not shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from energyc.derivation.derive import derive
from energyc.language.diagnostics import listed
from energyc.language.network import ConstraintSet, Network
from energyc.mathematics.calculus import depends
from energyc.mathematics.ir import Input, Map, Node, walk
from energyc.proofs.claims.curvature import Curvature
from energyc.proofs.claims.monotone import Monotone
from energyc.proofs.conservativeness.edges import zeros_on_edges
from energyc.proofs.conservativeness.forces import ranges_of
from energyc.proofs.enclosures.nodes import Enclosures


@dataclass(frozen=True)
class Stiff:
    """A ``step`` above 2/L: the curvature of ``terms`` along ``state`` is at least ``least`` where it is at ``edge``.

    Without an edge it is so everywhere. What ``others`` add there has no bound from below, and may take curvature away.
    """

    state: str
    edge: float | None
    step: float
    least: float
    terms: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def limit(self) -> float:
        """2/L: steps above it lead away."""
        return 2 / self.least

    @property
    def short(self) -> float:
        """A step of 1/L, of two digits."""
        return float(f"{0.95 / self.least:.1e}")


def stiff_states(network: Network) -> list[Stiff]:
    """The states that plain steps of the size that is set leave somewhere, each where the curvature is largest."""
    relax = network.relax
    if relax.solver != "gradient" or relax.step is None or not network.states or network.numbered:
        return []
    monotone = Monotone.of(network)
    if monotone.rest.unsteady or _all_short(monotone):
        return []
    found: dict[str, Stiff] = {}
    for each in _bounds(monotone):
        known = found.get(each.state)
        if each.step * each.least > 2 and (known is None or known.least < each.least):
            found[each.state] = each
    return list(found.values())


def _all_short(monotone: Monotone) -> bool:
    """Whether all steps are below 2/L by a bound from above."""
    steps = {name: monotone.network.relax.step_for(name) for name in monotone.network.states}
    return min(steps.values()) > 0 and monotone.bounds.bounds(steps)[1] <= 2


def _bounds(monotone: Monotone) -> Iterator[Stiff]:
    """The curvature along each state at least, everywhere and at each rim of its box."""
    network = monotone.network
    for k, (name, state) in enumerate(network.states.items()):
        for edge in (None, *_edges(state.constraint)):
            curvature = monotone.bounds
            if edge is not None:
                curvature = monotone.curvature(monotone.norms(narrower={state.node: (edge, edge)}))
            if (bound := _bound(curvature, k)) is not None:
                least, terms, others = bound
                yield Stiff(name, edge, network.relax.step_for(name), least, terms, others)


def _edges(constraint: ConstraintSet | None) -> tuple[float, ...]:
    """The rims of a box; the rim of a simplex is none in the directions along it."""
    if constraint is None or constraint.kind not in ("box", "nonnegative"):
        return ()
    low = 0.0 if constraint.kind == "nonnegative" else constraint.low
    return tuple(edge for edge in (low, constraint.high) if edge is not None)


def _bound(curvature: Curvature, k: int) -> tuple[float, tuple[str, ...], tuple[str, ...]] | None:
    """The curvature along the k-th state at least, the terms that it is of, and those without a bound from below."""
    lows = {part.name: float(part.low[k, k]) for part in curvature.parts}
    known = {name: low for name, low in lows.items() if math.isfinite(low)}
    least = sum(known.values())
    others = tuple(name for name in lows if name not in known)
    return (least, tuple(name for name, low in known.items() if low), others) if least > 0 else None


def certified_step(network: Network) -> float | None:
    """The step that ``relax.step = certified`` would choose; None where none is proved to converge."""
    monotone = Monotone.of(network)
    if network.relax.step_of or monotone.barred or monotone.why_no_step:
        return None
    best = monotone.bounds.best_step()
    return None if best is None else best[0]


def moves_exactly(network: Network, state: str) -> bool:
    """Whether ``relax.solver = blocks`` would move a state without a step."""
    return state in derive(network).blocks.slopes


@dataclass(frozen=True)
class InfiniteCurvature:
    """The Jacobian of the force is infinite, where the force is not: at ``edge`` of a state, or inside of sets."""

    states: tuple[str, ...]
    edge: float | None

    def __str__(self) -> str:
        (first, *_), names = self.states, listed(self.states)
        if self.edge is None:
            return (
                f"the slope of the force by {names} is infinite at some states inside of their sets: there implicit, "
                "bptt, tbptt, adjoint and a correction by J have no finite gradient"
            )
        at = f"{first} = {self.edge:g}"
        return (
            f"the curvature along {first} is infinite at {at}: a rule that is exact at rest is so where the force "
            f"holds each entry of {first} that rests there (strict complementarity), and steps do not settle an entry "
            "that rests very close to it"
        )


def infinite_curvatures(network: Network) -> list[InfiniteCurvature]:
    """Where the Jacobian of the force may be infinite though the force is not."""
    derivation = derive(replace(network, graph=network.graph.fork()))
    forces, states = list(derivation.smooth.values()), derivation.states
    slopes = derivation.vjp(derivation.smooth, states)
    moving, finite = depends([*forces, *slopes.values()], set(states.values())), set(walk(forces))
    enclosures = Enclosures(derivation.graph, network.values, ranges_of(network), list(states.values()))
    found: dict[InfiniteCurvature, None] = {}
    for node in walk(slopes.values()):
        if not isinstance(node, Map) or node not in moving or node in finite:
            continue
        if (node.function.exponent or 0) < 0 and enclosures.range(node.argument).holds(0):
            found.update(dict.fromkeys(_infinite(network, node.argument, states)))
    return list(found)


def _infinite(network: Network, argument: Node, states: Mapping[str, Input]) -> Iterator[InfiniteCurvature]:
    edges = list(zeros_on_edges(network, argument, ranges_of(network)))
    for state, edge in edges:
        yield InfiniteCurvature((state,), edge)
    read = tuple(name for name, node in states.items() if node in walk([argument]))
    if not edges and read:
        yield InfiniteCurvature(read, None)
