"""One force field's verdict: numbers first, a proof where they are symmetric, then what a proof leaves open."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from energyc.analysis.budget import Budget, OverBudget
from energyc.analysis.checker import check
from energyc.analysis.domain import Signs, holes, jumps
from energyc.analysis.normal import Normaliser
from energyc.analysis.potential import recover
from energyc.analysis.problem import ForceField, fork, transparent
from energyc.analysis.prover import SECONDS, TERMS, prove
from energyc.analysis.verdict import Verdict
from energyc.analysis.witness import find_witness
from energyc.ir import Node


def decide(field: ForceField, generator: np.random.Generator, seconds: float = SECONDS) -> Verdict:
    """Whether a field is minus a gradient. Raises CertificateError where a proof does not bear checking: our bug."""
    search = find_witness(field, generator)
    if search.witness:
        return Verdict("not-conservative", "witness", witness=search.witness, tried=(search.seen,))
    attempts = prove(field, seconds)
    tried = (search.seen, *(a.said for a in attempts))
    certificate = attempts[-1].certificate
    if certificate is None:
        return Verdict("undecided", "none", tried=tried)
    if not check(certificate, generator):
        return Verdict("undecided", "none", tried=(*tried, "the proof could not be checked: no finite point was found"))
    energy = recover(field, generator)
    doubts = (
        () if energy is not None else tuple(f"the Jacobian is symmetric, but {doubt}" for doubt in doubts_of(field))
    )
    if doubts:
        return Verdict("undecided", "none", certificate=certificate, tried=(*tried, *doubts))
    return Verdict("conservative", "proof", certificate=certificate, potential=energy, tried=tried)


def doubts_of(field: ForceField) -> list[str]:
    """Why a symmetric Jacobian would not be enough for a gradient; empty where it is."""
    roots = [transparent(field.graph, root) for root in field.roots]
    return [*_lasting_jumps(field, roots), *holes(roots, field.states, Signs(field.values, field.ranges))]


def _lasting_jumps(field: ForceField, roots: Sequence[Node]) -> list[str]:
    """The jumps that are left once everything is multiplied out: ``relu(u)^2 step(u)`` has none."""
    found = jumps(roots, field.states)
    if not found:
        return []
    normaliser = Normaliser(fork(field.graph), Budget(TERMS, SECONDS), whole=False, symmetric=field.symmetric)
    try:
        sums = [normaliser.sum_of(root)[0] for root in roots]
    except (OverBudget, RecursionError):
        return found
    used = {f.atom for terms in sums for term in terms.values() for f in term.monomial.factors}
    return jumps([normaliser.table.atoms[k].node for k in sorted(used)], field.states)


def is_gradient_by_construction(energy: Node, field: ForceField) -> bool:
    """Whether an energy's derived force is its gradient: it does not jump (what it freezes the caller has asked)."""
    return not jumps([energy], field.states)
