"""Certificates under a force that they are not of, and ones that were changed: all refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from energyc.mathematics.ir import Coefficient, Map, Node
from energyc.proofs.conservativeness.certificate import Certificate, TermEntry
from energyc.proofs.conservativeness.prover import prove
from energyc.proofs.enclosures.impulses import IMPULSE
from energyc.proofs.fields.problem import ForceField
from tests.analysis.build import Build
from tests.analysis.pairing import CertificateError
from tests.analysis.replay import check
from tests.drawing import SEED

Change = Callable[[Build, Node], Node]


def shifted(b: Build, y: Node, by: int) -> Node:
    return b.minus(y, b.graph.constant(by, y.dims))


ADDED: dict[str, Change] = {
    "relu(y - 1)": lambda b, y: b.map("relu", shifted(b, y, 1)),
    "relu(y - 3)": lambda b, y: b.map("relu", shifted(b, y, 3)),
    "relu(-9 - y)": lambda b, y: b.map("relu", b.scale(-1, shifted(b, y, -9))),
    "exp(50*(y - 2))": lambda b, y: b.map("exp", b.scale(50, shifted(b, y, 2))),
    "1e-11*y": lambda b, y: b.scale(Fraction(1, 10**11), y),
    "1e-25*y^3": lambda b, y: b.scale(Fraction(1, 10**25), b.graph.power(y, 3)),
    "1e-9*tanh(y)": lambda b, y: b.scale(Fraction(1, 10**9), b.map("tanh", y)),
}


def fields() -> dict[str, tuple[Build, ForceField]]:
    """Gradients of two states x and y, polynomial and not, with and without dims."""
    found = {}
    for name, letters in (("scalars", ""), ("vectors", "d")):
        b = Build({"d": "D"}, {"D": 3})
        x, y = b.state("x", letters), b.state("y", letters)
        for kind, energy in (
            ("polynomial", b.graph.product(x, x, y)),
            ("smooth", b.graph.product(x, b.map("tanh", y))),
            ("kinked", b.graph.product(x, b.map("relu", y))),
        ):
            found[f"{kind} {name}"] = (b, b.field(b.forces_of(b.total(energy), x, y)))
    return found


@pytest.mark.abridged(every=6)
@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("kind", fields())
def test_a_force_with_something_added_is_refused(kind: str, added: str) -> None:
    b, field = fields()[kind]
    x, y = field.states
    certificate = prove(field)[-1].certificate
    assert certificate is not None and check(certificate, field, np.random.default_rng(SEED))
    other = field.with_force({**field.force, x: b.add(field.force[x], ADDED[added](b, y))})
    with pytest.raises(CertificateError, match="another force"):
        check(certificate, other, np.random.default_rng(SEED))
    with pytest.raises(CertificateError):
        check(
            replace(certificate, field=replace(certificate.field, force=other.force)),
            other,
            np.random.default_rng(SEED),
        )


def is_impulse(certificate: Certificate, term: TermEntry) -> bool:
    nodes = (certificate.atoms[f.atom].node for f in term.factors)
    return any(isinstance(node, Map) and node.function.name == IMPULSE for node in nodes)


def changed(certificate: Certificate, rng: np.random.Generator) -> Certificate:
    """One coefficient, scale or term of a certificate made false: of those that numbers show, which no impulse is."""
    terms, atoms = list(certificate.terms), list(certificate.atoms)
    k = int(rng.choice([j for j, term in enumerate(terms) if not is_impulse(certificate, term)]))
    tiny = 1 + Fraction(int(rng.integers(1, 9)), 10 ** int(rng.integers(1, 20)))
    match int(rng.integers(5)):
        case 0:
            both = {k, terms[k].mirror}
            terms = [
                replace(t, coefficient=t.coefficient.scaled(tiny)) if j in both else t for j, t in enumerate(terms)
            ]
        case 1:
            terms[k] = replace(terms[k], coefficient=terms[k].coefficient.scaled(tiny))
        case 2:
            number = terms[k].factors[0].atom
            atoms[number] = replace(atoms[number], scale=atoms[number].scale * tiny)
        case 3:
            terms[k] = replace(terms[k], coefficient=Coefficient(Fraction(0)))
        case _:
            terms = [t for j, t in enumerate(terms) if j != k]
    return replace(certificate, terms=tuple(terms), atoms=tuple(atoms))


def test_certificates_changed_at_random_are_refused() -> None:
    print(f"ENERGYC_SEED={SEED}")
    for number in range(60):
        rng = np.random.default_rng([SEED, number])
        _, field = list(fields().values())[number % 6]
        certificate = prove(field)[-1].certificate
        assert certificate is not None
        with pytest.raises((CertificateError, IndexError)):
            check(changed(certificate, rng), field, rng)
