"""Classifies each term of a network, and the sum of the terms that are not proved to be gradients."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast, get_args

import numpy as np

from energyc.language.network import Network, Term
from energyc.language.resolve.resize import Resizing
from energyc.mathematics.calculus import Bounds, depends, gradient, is_cut
from energyc.mathematics.ir import Input, Node, walk
from energyc.proofs.conservativeness.decide import decide, decide_on_set, is_gradient_by_construction
from energyc.proofs.conservativeness.descent import Descent, descent_of
from energyc.proofs.conservativeness.prover import SECONDS
from energyc.proofs.conservativeness.scales import Scales, scales_of
from energyc.proofs.conservativeness.selections import continuous_masks
from energyc.proofs.conservativeness.term_sums import SEED, Sums, TermSum, classify_sum
from energyc.proofs.conservativeness.ties import suggest
from energyc.proofs.conservativeness.verdict import Class, Kind, Verdict
from energyc.proofs.fields.families import members_of
from energyc.proofs.fields.problem import ForceField, field_of, fork
from energyc.proofs.fields.structured import is_direction
from energyc.proofs.fields.surfaces import Surface, SurfaceKind, Surfaces
from energyc.proofs.normal_form.budget import out_of_time

TOTAL_SECONDS = 6.0


@dataclass(frozen=True)
class Classification:
    """The verdict on each term, and on the sum of those not proved individually (``together``, None if there are none).

    ``kind`` is the class of the network: conservative if every term is proved, or if the remaining terms add up to a
    gradient though none of them is one. ``unproved`` are the terms whose Jacobian makes up J_nc: empty for a
    conservative network, otherwise all terms not proved individually, even if some of them form a gradient together.
    ``forces`` holds each term's force on each state it moves, energies included. ``detached`` names terms that cut a
    state out of training. ``descents`` are the flows of a network that goes down its energies in a metric: all of
    them, or none. ``scales`` are the time scales of a network that is not conservative, where it has any.

    ``members`` has the kind of each member of a family of energies, such as ``att[0]``, where they are few.

    The nodes in ``forces``, potentials and certificates belong to a fork of the network's graph, so never build nodes
    of that graph from them.
    """

    kind: Kind
    terms: Mapping[str, Verdict]
    unproved: tuple[str, ...]
    together: TermSum | None
    forces: Mapping[str, Mapping[Input, Node]]
    detached: tuple[str, ...] = ()
    descents: Mapping[str, Descent] = field(default_factory=dict)
    scales: Scales | None = None
    members: Mapping[str, Mapping[str, Kind]] = field(default_factory=dict)

    @property
    def class_name(self) -> Class:
        """The class of the network as a report shows it."""
        return "metric-descent" if self.descents and self.kind != "conservative" else self.kind

    @property
    def sum_verdict(self) -> Verdict | None:
        """The verdict on the sum of the terms that are not proved individually."""
        return self.together.verdict if self.together else None


@dataclass
class _Clock:
    """The CPU time shared by all terms."""

    seconds: float
    started: float = field(default_factory=time.process_time)

    @property
    def left(self) -> float:
        return self.seconds - (time.process_time() - self.started)

    def share(self) -> float:
        return max(0.02, min(SECONDS, self.left / 4))


def classify(network: Network) -> Classification:
    """Classify all terms; deterministic unless a proof runs out of time."""
    base = field_from(network)
    clock, surfaces = _Clock(TOTAL_SECONDS), surfaces_of(network)
    terms: dict[str, Verdict] = {}
    members: dict[str, Mapping[str, Kind]] = {}
    forces: dict[str, Mapping[Input, Node]] = {}
    for name, term in network.terms.items():
        forces[name] = force_of(network, term, base)
        terms[name] = _decide_term(network, term, base.with_force(forces[name]), surfaces, clock)
        if term.is_family:
            members[name] = _members(network, term, base, surfaces, clock, terms[name].kind)
    unproved = tuple(name for name, verdict in terms.items() if verdict.kind != "conservative")
    detached = tuple(name for name, term in network.terms.items() if stops_a_state(term.node, base, "detach"))
    together = classify_sum(Sums(base, surfaces, forces, terms, clock.share), unproved)
    if together is None or together.verdict.kind == "conservative":
        return Classification("conservative", terms, (), together, forces, detached, members=members)
    descents = descents_of(network, base, clock.share())
    scales = _scales(network, base, forces, surfaces, clock.share()) if not detached else None
    return Classification(together.verdict.kind, terms, unproved, together, forces, detached, descents, scales, members)


def _members(
    network: Network, family: Term, base: ForceField, surfaces: Surfaces, clock: _Clock, whole: Kind
) -> dict[str, Kind]:
    """The kind of each member of a family. If their sum is not a known gradient, some of them may still be.

    Members for which no time is left are undecided.
    """
    found: dict[str, Kind] = {}
    for name, node in members_of(base.graph, family, network.extents).items():
        if whole != "conservative" and clock.left <= 0:
            out_of_time("the members of a family")
            found[name] = "undecided"
            continue
        term = replace(family, name=family.name, node=node)
        part = base.with_force(force_of(network, term, base))
        found[name] = whole if whole == "conservative" else _decide_term(network, term, part, surfaces, clock).kind
    return found


def _scales(
    network: Network,
    base: ForceField,
    forces: Mapping[str, Mapping[Input, Node]],
    surfaces: Surfaces,
    seconds: float,
) -> Scales | None:
    """The time scales of the sum of all forces; a flow is nudged otherwise."""
    if network.flows:
        return None
    whole = field_of(base, [part for term in forces.values() for part in term.items()])
    read = set(walk([network.cost.node])) & set(base.states) if network.cost else set()
    return scales_of(whole, surfaces, read, seconds)


def descents_of(network: Network, base: ForceField, seconds: float) -> dict[str, Descent]:
    """The descents that all flows of a network are; empty where a state moves otherwise too.

    An energy that a state without a flow reads must move that state, and all energies must be trained as they move.
    """
    if not network.flows or any(term.kind == "force" for term in network.terms.values()):
        return {}
    descending = {state.node for state in network.descending.values()}
    for energy in network.energies.values():
        reads = any(node in descending for node in walk([energy.node]))
        if (reads and not network.acts_fully(energy)) or stops_a_state(energy.node, base):
            return {}
    candidates = {name: descent_of(network, flow, base, seconds) for name, flow in network.flows.items()}
    descents = {name: descent for name, descent in candidates.items() if descent is not None}
    return descents if len(descents) == len(candidates) else {}


def field_from(network: Network) -> ForceField:
    """The network's states and sizes without any force, over a fork of its graph."""
    states = tuple(state.node for state in network.states.values())
    return ForceField(
        fork(network.graph),
        states,
        {},
        network.extents,
        network.values,
        ranges=ranges_of(network),
        structure={param.node: param.structure for param in network.params.values() if param.structure},
        fractions=network.fractions,
        formulas=Resizing(network),
    )


def surfaces_of(network: Network) -> dict[Input, Surface]:
    """The simplexes, spheres and standardized values to which states are constrained."""
    surfaces = {}
    for state in network.states.values():
        if state.constraint is not None and state.constraint.kind in get_args(SurfaceKind):
            surfaces[state.node] = Surface(cast(SurfaceKind, state.constraint.kind), state.constraint.axes)
    return surfaces


def ranges_of(network: Network) -> dict[Input, Bounds]:
    """The bounds of params and states that have any; for a simplex or directions, the bounds of each entry."""
    ranges: dict[Input, Bounds] = {
        p.node: (p.low, p.high) for p in network.params.values() if p.low is not None or p.high is not None
    }
    directed = (param.node for param in network.params.values() if is_direction(param.structure))
    ranges |= dict.fromkeys(directed, (-1.0, 1.0))
    bounded = ((p.node, part.bound) for p in network.params.values() for part in p.structure if part.kind == "norm")
    ranges |= {node: (-bound, bound) for node, bound in bounded}
    for state in network.states.values():
        match state.constraint and state.constraint.kind:
            case "box":
                assert state.constraint is not None
                ranges[state.node] = (state.constraint.low, state.constraint.high)
            case "nonnegative":
                ranges[state.node] = (0.0, None)
            case "simplex":
                ranges[state.node] = (0.0, 1.0)
    return ranges


def force_of(network: Network, term: Term, base: ForceField) -> dict[Input, Node]:
    """The force of a term on each state that it moves; of an energy, minus its gradient with frozen parts constant."""
    if term.kind != "energy":
        return {network.states[str(term.state)].node: term.node}
    moved = [state.node for state in network.descending.values()] if term.name in network.acting else []
    return _descent(base, term, moved)


def _descent(base: ForceField, term: Term, by: Sequence[Input]) -> dict[Input, Node]:
    slopes = gradient(base.graph, term.node, by, frozen=False, strict=False)
    return {state: base.graph.scale(-1, slope) for state, slope in slopes.items() if isinstance(state, Input)}


def stops_a_state(root: Node, base: ForceField, mode: str | None = None) -> bool:
    """Whether a node contains a frozen or detached part, or a statistic of the batch, that depends on a state."""
    cuts = [n.argument for n in walk([root]) if is_cut(n, mode)]
    moving = depends(cuts, set(base.states))
    return any(argument in moving for argument in cuts)


def _decide_term(network: Network, term: Term, part: ForceField, surfaces: Surfaces, clock: _Clock) -> Verdict:
    if term.kind == "energy" and term.name not in network.acting:
        part = part.with_force(_descent(part, term, part.states))
    whole = term.kind == "energy" and (term.name not in network.acting or network.acts_fully(term))
    energy = term.node if whole and not stops_a_state(term.node, part) else None
    if energy is not None:
        continuous, doubts = continuous_masks(network.real_selections, energy, part)
        if is_gradient_by_construction(energy, part, continuous):
            return Verdict("conservative", "gradient", potential=energy)
        return decide(part, np.random.default_rng(SEED), clock.share(), energy, doubts)
    verdict = decide_on_set(part, surfaces, np.random.default_rng(SEED), clock.share())
    if verdict.kind == "not-conservative":
        return replace(verdict, ties=suggest(part, np.random.default_rng(SEED)))
    return verdict
