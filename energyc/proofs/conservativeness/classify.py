"""Classifies each term of a network, and the sum of the terms that are not proved to be gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from energyc.language.network import Network, Term
from energyc.mathematics.ir import Input, Node, walk
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.decide import decide, decide_on_set, is_gradient_by_construction
from energyc.proofs.conservativeness.descent import Descent, descent_of
from energyc.proofs.conservativeness.forces import descent_along, field_from, force_of, stops_a_state, surfaces_of
from energyc.proofs.conservativeness.selections import continuous_masks
from energyc.proofs.conservativeness.term_sums import SEED, Sums, TermSum, classify_sum
from energyc.proofs.conservativeness.ties import suggest
from energyc.proofs.conservativeness.verdict import Class, Kind, Verdict
from energyc.proofs.fields.families import members_of
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.surfaces import Surfaces


@dataclass(frozen=True)
class Classification:
    """The verdict on each term, and on the sum of those not proved individually (``together``, None if there are none).

    ``kind`` is the class of the network: conservative if every term is proved, or if the remaining terms add up to a
    gradient though none of them is one. ``unproved`` are the terms whose Jacobian makes up J_nc: empty for a
    conservative network, otherwise all terms not proved individually, even if some of them form a gradient together.
    ``forces`` holds each term's force on each state it moves, energies included. ``detached`` names terms that cut a
    state out of training. ``descents`` are the flows of a network that goes down its energies in a metric: all of
    them, or none.

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
    members: Mapping[str, Mapping[str, Kind]] = field(default_factory=dict)

    @property
    def class_name(self) -> Class:
        """The class of the network as a report shows it."""
        return "metric-descent" if self.descents and self.kind != "conservative" else self.kind

    @property
    def sum_verdict(self) -> Verdict | None:
        """The verdict on the sum of the terms that are not proved individually."""
        return self.together.verdict if self.together else None


def classify(network: Network, kernel: Symmetries | None = None) -> Classification:
    """Classify all terms, by what the ``kernel`` proves: that of the network, if none is given."""
    kernel = Symmetries.of(network) if kernel is None else kernel
    base, surfaces = field_from(network), surfaces_of(network)
    terms: dict[str, Verdict] = {}
    members: dict[str, Mapping[str, Kind]] = {}
    forces: dict[str, Mapping[Input, Node]] = {}
    for name, term in network.terms.items():
        forces[name] = force_of(network, term, base)
        terms[name] = _decide_term(network, term, base.with_force(forces[name]), surfaces, kernel)
        if term.is_family:
            members[name] = _members(network, term, base, surfaces, kernel, terms[name].kind)
    unproved = tuple(name for name, verdict in terms.items() if verdict.kind != "conservative")
    detached = tuple(name for name, term in network.terms.items() if stops_a_state(term.node, base, "detach"))
    together = classify_sum(Sums(base, surfaces, forces, terms, kernel), unproved)
    if together is None or together.verdict.kind == "conservative":
        return Classification("conservative", terms, (), together, forces, detached, members=members)
    descents = descents_of(network, base, kernel)
    return Classification(together.verdict.kind, terms, unproved, together, forces, detached, descents, members)


def _members(
    network: Network, family: Term, base: ForceField, surfaces: Surfaces, kernel: Symmetries, whole: Kind
) -> dict[str, Kind]:
    """The kind of each member of a family. If their sum is not a known gradient, some of them may still be."""
    found: dict[str, Kind] = {}
    for name, node in members_of(base.graph, family, network.extents).items():
        term = replace(family, name=family.name, node=node)
        part = base.with_force(force_of(network, term, base))
        found[name] = (
            whole if whole == "conservative" else _decide_term(network, term, part, surfaces, kernel, alone=False).kind
        )
    return found


def descents_of(network: Network, base: ForceField, kernel: Symmetries) -> dict[str, Descent]:
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
    candidates = {name: descent_of(network, flow, base, kernel) for name, flow in network.flows.items()}
    descents = {name: descent for name, descent in candidates.items() if descent is not None}
    return descents if len(descents) == len(candidates) else {}


def _decide_term(
    network: Network, term: Term, part: ForceField, surfaces: Surfaces, kernel: Symmetries, alone: bool = True
) -> Verdict:
    """The verdict on a term or, not ``alone``, on a member of a family, of which no force is."""
    if term.kind == "energy" and term.name not in network.acting:
        part = part.with_force(descent_along(part, term, part.states))
    whole = term.kind == "energy" and (term.name not in network.acting or network.acts_fully(term))
    energy = term.node if whole and not stops_a_state(term.node, part) else None
    if energy is not None:
        continuous, doubts = continuous_masks(kernel, energy, part)
        if is_gradient_by_construction(energy, part, continuous):
            return Verdict("conservative", "gradient", potential=energy)
        return decide(part, np.random.default_rng(SEED), energy=energy, doubts=doubts)
    prover = kernel.symmetric([term.name]) if alone else None
    verdict = decide_on_set(part, surfaces, np.random.default_rng(SEED), prover)
    if verdict.kind == "not-conservative" and prover is not None:
        return replace(verdict, ties=suggest(part, np.random.default_rng(SEED), prover))
    return verdict
