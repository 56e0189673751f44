"""One force field's verdict: numbers first, a proof where they are symmetric, then what a proof leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from energyc.analysis.budget import Budget, OverBudget
from energyc.analysis.certificate import Certificate
from energyc.analysis.checker import check
from energyc.analysis.continuity import discontinuities
from energyc.analysis.domain import Pole, Signs, is_elementwise, jumps, poles
from energyc.analysis.loops import Circulation, find_circulation
from energyc.analysis.normal import Normaliser
from energyc.analysis.potential import recover
from energyc.analysis.problem import ForceField, fork, linearise, transparent
from energyc.analysis.prover import SECONDS, TERMS, prove
from energyc.analysis.sampling import draw
from energyc.analysis.singular import Surroundings, infinite_at
from energyc.analysis.sizes import small_sizes
from energyc.analysis.surfaces import Surfaces, along_the_set, moves_on_a_surface, without_normal_parts
from energyc.analysis.verdict import Verdict
from energyc.analysis.witness import find_witness, search_sizes, sizes_count
from energyc.ir import Node

ON_SET = "what is normal to the set of the states does no work"


def decide_on_set(
    field: ForceField, surfaces: Surfaces, generator: np.random.Generator, seconds: float = SECONDS
) -> Verdict:
    """The verdict on a field whose states are kept on surfaces: along the set, where that says more than in all space.

    Raises CertificateError: our bug.
    """
    verdict = decide(field, generator, seconds)
    if verdict.kind == "conservative" or not moves_on_a_surface(field, surfaces):
        return verdict
    tangential = without_normal_parts(field, surfaces)
    on_set = decide(tangential, generator, seconds) if tangential.force != field.force else verdict
    if on_set.kind != "conservative":
        on_set = decide(along_the_set(field, surfaces), generator, seconds)
    if on_set.kind == "conservative":
        return replace(on_set, potential=None, tried=(*on_set.tried, ON_SET), on_set=True)
    if on_set.kind == "undecided" and verdict.kind == "not-conservative":
        tried = ("off the set of its states the Jacobian is not symmetric", *on_set.tried)
        return Verdict("undecided", "none", tried=tried)
    return verdict


def decide(
    field: ForceField, generator: np.random.Generator, seconds: float = SECONDS, energy: Node | None = None
) -> Verdict:
    """Whether a field is minus a gradient. Raises CertificateError where a proof does not bear checking: our bug.

    ``energy`` is what the field was derived from as minus the gradient, wherever that is smooth; None: not known.
    """
    search = find_witness(field, generator)
    if search.witness:
        return Verdict("not-conservative", "witness", witness=search.witness, tried=(search.outcome,))
    if energy is not None:
        return _of_energy(field, energy, generator)
    attempts = prove(field, seconds)
    certificate = attempts[-1].certificate
    tried = (search.outcome, *(a.outcome for a in attempts))
    if certificate is not None and not check(certificate, field, generator):
        certificate, tried = None, (*tried, "the proof could not be checked: no finite point was found")
    circulation = _circulation(field, generator)
    if circulation.witness:
        return Verdict("not-conservative", "witness", circulation.witness, certificate, tried=tried)
    return _unrefuted(field, generator, certificate, (*tried, str(circulation)))


def _circulation(field: ForceField, generator: np.random.Generator) -> Circulation:
    """Looks for a loop with work at the sizes that witnesses are sought at, or at the spec's alone if sizes count."""
    linear = linearise(field)
    sizes = [dict(field.sizes)] if sizes_count(linear) else search_sizes(linear)
    return find_circulation(field, sizes, generator)


def _of_energy(field: ForceField, energy: Node, generator: np.random.Generator) -> Verdict:
    """The verdict on minus the gradient of an energy that may jump."""
    circulation = _circulation(field, generator)
    if circulation.witness:
        return Verdict("not-conservative", "witness", circulation.witness, potential=energy)
    doubts = discontinuities(field, energy, generator)
    if doubts:
        return Verdict("undecided", "none", potential=energy, tried=(str(circulation), *doubts))
    return Verdict("conservative", "gradient", potential=energy, tried=(str(circulation),))


def _unrefuted(
    field: ForceField, generator: np.random.Generator, certificate: Certificate | None, tried: tuple[str, ...]
) -> Verdict:
    """The verdict on a field that no point and no loop speaks against."""
    energy = recover(field, generator)
    if energy is not None:
        return Verdict("conservative", "proof", certificate=certificate, potential=energy, tried=tried)
    if certificate is None:
        return Verdict("undecided", "none", tried=tried)
    doubts = tuple(f"the Jacobian is symmetric, but {doubt}" for doubt in doubts_of(field, certificate, generator))
    if doubts:
        return Verdict("undecided", "none", certificate=certificate, tried=(*tried, *doubts))
    return Verdict("conservative", "proof", certificate=certificate, tried=tried)


def doubts_of(field: ForceField, certificate: Certificate, generator: np.random.Generator) -> list[str]:
    """Why a symmetric Jacobian would not be enough for a gradient; empty where it is."""
    if is_elementwise(field):
        return []
    roots = [transparent(field.graph, root) for root in field.roots]
    found = poles(roots, field.states, Signs(field.values, field.ranges))
    if found and all(pole.plane for pole in found) and _separate(field, found, generator):
        found = []
    return [*_lasting_jumps(field, roots, certificate.impulses), *dict.fromkeys(map(str, found))]


def _separate(field: ForceField, found: Sequence[Pole], generator: np.random.Generator) -> bool:
    """Whether the force is infinite at all of some planes, so that nothing passes from one side to the other."""
    sizes = small_sizes(field.roots, field.sizes)
    around = Surroundings(field, sizes, draw(field, sizes, generator))
    return all(infinite_at(around, pole.argument, generator) for pole in found)


def _lasting_jumps(field: ForceField, roots: Sequence[Node], impulses: bool) -> list[str]:
    """The jumps that are left once everything is multiplied out: ``relu(u)^2 step(u)`` has none.

    Those of steps and signs are covered by a proof with ``impulses``.
    """
    found = jumps(roots, field.states, impulses)
    if not found:
        return []
    normaliser = Normaliser(fork(field.graph), Budget(TERMS, SECONDS), whole=False, symmetric=field.symmetric)
    try:
        sums = [normaliser.sum_of(root)[0] for root in roots]
    except (OverBudget, RecursionError):
        return found
    used = {f.atom for terms in sums for term in terms.values() for f in term.monomial.factors}
    return jumps([normaliser.table.atoms[k].node for k in sorted(used)], field.states, impulses)


def is_gradient_by_construction(energy: Node, field: ForceField) -> bool:
    """Whether an energy's derived force is surely its gradient: it has no jump and no pole (what it freezes apart)."""
    return not jumps([energy], field.states) and not poles([energy], field.states, Signs(field.values, field.ranges))
