"""Decides whether one force field is a gradient: a numerical search, then a proof, then what the proof leaves open."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from energyc.checker.symmetry import ON_SETS
from energyc.mathematics.ir import Node
from energyc.proofs.conservativeness.certified import BOTH, EVERYWHERE, Proof, Prover
from energyc.proofs.conservativeness.continuity import discontinuities
from energyc.proofs.conservativeness.loops import Circulation, find_circulation
from energyc.proofs.conservativeness.potential import recover
from energyc.proofs.conservativeness.verdict import Verdict
from energyc.proofs.conservativeness.witness import find_witness, search_sizes, sizes_count
from energyc.proofs.fields.domain import Pole, is_elementwise, jumps, poles
from energyc.proofs.fields.local_field import LocalField
from energyc.proofs.fields.problem import ForceField, linearise, transparent
from energyc.proofs.fields.sampling import draw
from energyc.proofs.fields.singular import infinite_at
from energyc.proofs.fields.sizes import Sizes, pinned_sizes, small_sizes, square_dims
from energyc.proofs.fields.surfaces import Surfaces, along_the_set, moves_on_a_surface

ACROSS = "the energy jumps, and across its jumps the force does work, "
ON_SET = "what is normal to the set of the states does no work"
UNASKED = Proof(None, "no proof was looked for")


def decide_on_set(
    field: ForceField, surfaces: Surfaces, generator: np.random.Generator, prover: Prover | None = None
) -> Verdict:
    """The verdict on a field with states on surfaces: along the set, where that is stronger than in all space."""
    if not moves_on_a_surface(field, surfaces):
        return decide(field, generator, prover)
    verdict = decide(field, generator, prover, quantifiers=EVERYWHERE)
    if verdict.kind == "conservative":
        return verdict
    charts = along_the_set(field, surfaces)
    search = find_witness(charts, generator)
    if search.witness or _circulation(charts, generator).witness:
        return verdict
    proof = ask(field, prover, (ON_SETS,))
    fields = [charts] if proof.tangent else [charts, field]
    doubts = [doubts_of(each, proof.across, generator) for each in fields]
    if proof.certificate is not None and not all(doubts):
        tried = (search.outcome, proof.outcome, ON_SET)
        return Verdict("conservative", "proof", certificate=proof.certificate, tried=tried, on_set=True)
    if verdict.kind == "undecided":
        return verdict
    off = "off the set of its states the Jacobian is not symmetric"
    doubted = [f"the Jacobian is symmetric, but {doubt}" for doubt in doubts[0]] if proof.certificate else []
    return Verdict("undecided", "none", tried=(off, search.outcome, proof.outcome, *doubted))


def decide(
    field: ForceField,
    generator: np.random.Generator,
    prover: Prover | None = None,
    energy: Node | None = None,
    doubts: Sequence[str] = (),
    quantifiers: Sequence[str] = BOTH,
) -> Verdict:
    """Whether a field is minus a gradient; the ``prover`` asks the kernel for a proof.

    ``energy``, if known, is an energy whose negative gradient is the field wherever it is smooth, ``doubts`` what is
    not known of its jumps.
    """
    search = find_witness(field, generator)
    if search.witness:
        return Verdict("not-conservative", "witness", witness=search.witness, tried=(search.outcome,))
    if energy is not None:
        return _decide_energy(field, energy, generator, doubts)
    proof = ask(field, prover, quantifiers)
    tried = (search.outcome, proof.outcome)
    circulation = _circulation(field, generator)
    if circulation.witness:
        return Verdict("not-conservative", "witness", circulation.witness, proof.certificate, tried=tried)
    return _decide_unrefuted(field, generator, prover, proof, (*tried, str(circulation)))


def ask(field: ForceField, prover: Prover | None, quantifiers: Sequence[str] = BOTH) -> Proof:
    """What the kernel says of a field: at all sizes or, where it holds at none of these, at its own."""
    if prover is None:
        return UNASKED
    return prover.proof(_sizes_of(field), bool(jumps(field.roots, field.states)), quantifiers)


def _sizes_of(field: ForceField) -> list[Sizes]:
    """The sizes at which a proof is tried: all, then those at which some params are square, or small dims pinned."""
    square = tuple((dim, field.sizes[dim]) for dim in square_dims(field))
    pinned = tuple(dict.fromkeys((*square, *pinned_sizes(field))))
    return [*dict.fromkeys(((), square, pinned))]


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
    field: ForceField, generator: np.random.Generator, prover: Prover | None, proof: Proof, tried: tuple[str, ...]
) -> Verdict:
    """The verdict on a field that no point and no loop refutes."""
    found = recover(field, generator, prover.potential) if prover is not None else None
    if found is not None:
        energy, certificate = found
        return Verdict("conservative", "proof", certificate=certificate, potential=energy, tried=tried)
    if proof.certificate is None:
        return Verdict("undecided", "none", tried=tried)
    doubts = [f"the Jacobian is symmetric, but {doubt}" for doubt in doubts_of(field, proof.across, generator)]
    if doubts:
        return Verdict("undecided", "none", certificate=proof.certificate, tried=(*tried, *doubts))
    return Verdict("conservative", "proof", certificate=proof.certificate, tried=tried)


def doubts_of(field: ForceField, across: bool, generator: np.random.Generator) -> list[str]:
    """The reasons why a Jacobian that is symmetric, ``across`` jumps or off them, may not imply a gradient."""
    if is_elementwise(field):
        return []
    roots = [transparent(field.graph, root) for root in field.roots]
    undefined = poles(roots, field.states, field.signs)
    if undefined and all(pole.plane for pole in undefined) and _planes_separate(field, undefined, generator):
        undefined = []
    return [*jumps(roots, field.states, besides_steps=across), *dict.fromkeys(map(str, undefined))]


def _planes_separate(field: ForceField, planes: Sequence[Pole], generator: np.random.Generator) -> bool:
    """Whether the force is infinite on every plane, so that the planes separate the domain."""
    sizes = small_sizes(field.roots, field.sizes, structures=field.structure)
    around = LocalField(field, sizes, draw(field, sizes, generator))
    return all(infinite_at(around, pole.argument, generator) for pole in planes)


def is_gradient_by_construction(energy: Node, field: ForceField, continuous: Collection[Node] = ()) -> bool:
    """Whether an energy has no jump and no pole, so that its derived force is its gradient (frozen parts aside).

    ``continuous`` are the nodes at whose jumps it is known not to jump.
    """
    return not jumps([energy], field.states, harmless=continuous) and not poles([energy], field.states, field.signs)
