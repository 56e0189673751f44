"""Decides whether one force field is a gradient: a numerical search, then a proof, then what the proof leaves open."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from energyc.mathematics.ir import Node
from energyc.proofs.conservativeness.certificate import Certificate
from energyc.proofs.conservativeness.continuity import discontinuities
from energyc.proofs.conservativeness.loops import Circulation, find_circulation
from energyc.proofs.conservativeness.potential import recover
from energyc.proofs.conservativeness.prover import SECONDS, TERMS, prove
from energyc.proofs.conservativeness.selections import with_steps
from energyc.proofs.conservativeness.verdict import Verdict
from energyc.proofs.conservativeness.witness import find_witness, search_sizes, sizes_count
from energyc.proofs.enclosures.sides import on_one_side
from energyc.proofs.fields.domain import Pole, is_elementwise, jumps, poles
from energyc.proofs.fields.local_field import LocalField
from energyc.proofs.fields.problem import ForceField, fork, linearise, transparent
from energyc.proofs.fields.sampling import draw
from energyc.proofs.fields.singular import infinite_at
from energyc.proofs.fields.sizes import small_sizes
from energyc.proofs.fields.surfaces import Surfaces, along_the_set, moves_on_a_surface, without_normal_parts
from energyc.proofs.normal_form.budget import Budget, OverBudget
from energyc.proofs.normal_form.normal import Normaliser

ACROSS = "the energy jumps, and across its jumps the force does work, "
ON_SET = "what is normal to the set of the states does no work"


def decide_on_set(
    field: ForceField, surfaces: Surfaces, generator: np.random.Generator, seconds: float = SECONDS
) -> Verdict:
    """The verdict on a field with states on surfaces: along the set, where that is stronger than in all space."""
    verdict = decide(field, generator, seconds)
    if verdict.kind == "conservative" or not moves_on_a_surface(field, surfaces):
        return verdict
    tangential = without_normal_parts(field, surfaces)
    on_set = decide(tangential, generator, seconds) if tangential.force != field.force else verdict
    if in_charts := on_set.kind != "conservative":
        on_set = decide(along_the_set(field, surfaces), generator, seconds)
    if on_set.kind == "conservative":
        tried = (*on_set.tried, ON_SET)
        return replace(on_set, potential=None, tried=tried, on_set=True, in_charts=in_charts)
    if on_set.kind == "undecided" and verdict.kind == "not-conservative":
        tried = ("off the set of its states the Jacobian is not symmetric", *on_set.tried)
        return Verdict("undecided", "none", tried=tried)
    return verdict


def decide(
    field: ForceField,
    generator: np.random.Generator,
    seconds: float = SECONDS,
    energy: Node | None = None,
    doubts: Sequence[str] = (),
) -> Verdict:
    """Whether a field is minus a gradient.

    ``energy``, if known, is an energy whose negative gradient is the field wherever it is smooth, ``doubts`` what is
    not known of its jumps.
    """
    field = on_one_side(with_steps(field))
    search = find_witness(field, generator)
    if search.witness:
        return Verdict("not-conservative", "witness", witness=search.witness, tried=(search.outcome,))
    if energy is not None:
        return _decide_energy(field, energy, generator, doubts)
    attempts = prove(field, seconds)
    certificate = attempts[-1].certificate
    tried = (search.outcome, *(a.outcome for a in attempts))
    circulation = _circulation(field, generator)
    if circulation.witness:
        return Verdict("not-conservative", "witness", circulation.witness, certificate, tried=tried)
    return _decide_unrefuted(field, generator, certificate, (*tried, str(circulation)))


def _circulation(field: ForceField, generator: np.random.Generator) -> Circulation:
    """Search for a loop with nonzero work at the sizes used for witnesses, or only the spec's own if sizes matter."""
    linear = linearise(field)
    sizes = [dict(field.sizes)] if sizes_count(linear) else search_sizes(linear)
    return find_circulation(field, sizes, generator)


def _decide_energy(field: ForceField, energy: Node, generator: np.random.Generator, unknown: Sequence[str]) -> Verdict:
    """The verdict on minus the gradient of an energy that may jump.

    One that does is neither: off its jumps the force is minus its gradient, but it does work round loops across them.
    """
    circulation = _circulation(field, generator)
    if circulation.witness:
        work = f"{circulation.witness.work:.6g} round a closed loop"
        return Verdict("undecided", "none", circulation.witness, potential=energy, tried=(ACROSS + work,))
    doubts = [*discontinuities(field, energy, generator), *unknown]
    if doubts:
        return Verdict("undecided", "none", potential=energy, tried=(str(circulation), *doubts))
    return Verdict("conservative", "gradient", potential=energy, tried=(str(circulation),))


def _decide_unrefuted(
    field: ForceField, generator: np.random.Generator, certificate: Certificate | None, tried: tuple[str, ...]
) -> Verdict:
    """The verdict on a field that no point and no loop refutes."""
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
    """The reasons why a symmetric Jacobian may not imply a gradient; empty if it does."""
    if is_elementwise(field):
        return []
    roots = [transparent(field.graph, root) for root in field.roots]
    undefined = poles(roots, field.states, field.signs)
    if undefined and all(pole.plane for pole in undefined) and _planes_separate(field, undefined, generator):
        undefined = []
    return [*_lasting_jumps(field, roots, certificate.impulses), *dict.fromkeys(map(str, undefined))]


def _planes_separate(field: ForceField, planes: Sequence[Pole], generator: np.random.Generator) -> bool:
    """Whether the force is infinite on every plane, so that the planes separate the domain."""
    sizes = small_sizes(field.roots, field.sizes, structures=field.structure)
    around = LocalField(field, sizes, draw(field, sizes, generator))
    return all(infinite_at(around, pole.argument, generator) for pole in planes)


def _lasting_jumps(field: ForceField, roots: Sequence[Node], impulses: bool) -> list[str]:
    """The jumps that remain once everything is multiplied out: ``relu(u)^2 step(u)`` has none.

    A proof with ``impulses`` covers the jumps of steps and signs.
    """
    written = jumps(roots, field.states, impulses)
    if not written:
        return []
    normaliser = Normaliser(fork(field.graph), Budget(TERMS, SECONDS), keep_sums=False, structure=field.structure)
    try:
        sums = [normaliser.sum_of(root)[0] for root in roots]
    except (OverBudget, RecursionError):
        return written
    used = {f.atom for terms in sums for term in terms.values() for f in term.monomial.factors}
    return jumps([normaliser.table.atoms[k].node for k in sorted(used)], field.states, impulses)


def is_gradient_by_construction(energy: Node, field: ForceField, continuous: Collection[Node] = ()) -> bool:
    """Whether an energy has no jump and no pole, so that its derived force is its gradient (frozen parts aside).

    ``continuous`` are the nodes at whose jumps it is known not to jump.
    """
    return not jumps([energy], field.states, harmless=continuous) and not poles([energy], field.states, field.signs)
