"""Checks symbolically that the terms of a certificate are paired with their mirrors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from energyc.proofs.conservativeness.certificate import AtomEntry, Certificate, FactorEntry, TermEntry


class CertificateError(Exception):
    """A proof that does not hold."""


def check_pairing(certificate: Certificate) -> None:
    """Exchanging u and w and renaming its labels turns every term into its mirror. Raises CertificateError."""
    exchange = dict(zip(certificate.left, certificate.right, strict=True))
    exchange.update({b: a for a, b in exchange.items()})
    inputs = [certificate.atoms[k].node for k in (*certificate.left, *certificate.right)]
    require(inputs == [*certificate.u, *certificate.w], "u and w are not the atoms that are exchanged")
    mirrors = [term.mirror for term in certificate.terms]
    require(sorted(mirrors) == list(range(len(mirrors))), "the terms are not paired one to one")
    for term in certificate.terms:
        _check_mirror_image(certificate, term, certificate.terms[term.mirror], exchange)


def _check_mirror_image(
    certificate: Certificate, term: TermEntry, mirror: TermEntry, exchange: Mapping[int, int]
) -> None:
    renaming = dict(term.renaming)
    require(len(set(renaming.values())) == len(renaming), "two labels become one")
    dims = {renaming[a]: dim for a, dim in term.dims}
    require(dims == dict(mirror.dims), "a label changes its dim")
    turned = [
        FactorEntry(exchange.get(f.atom, f.atom), tuple(renaming[a] for a in f.labels), f.exponent)
        for f in term.factors
    ]
    here, sign = _canonical_factors(certificate.atoms, turned)
    there, other_sign = _canonical_factors(certificate.atoms, mirror.factors)
    require(here == there, "a term is not the mirror image of its mate")
    require(
        term.coefficient.scaled(sign) == mirror.coefficient.scaled(other_sign),
        "two mirrored terms differ in their coefficients",
    )


def _canonical_factors(atoms: Sequence[AtomEntry], factors: Sequence[FactorEntry]) -> tuple[list[tuple[Any, ...]], int]:
    """The sorted factors, each with its axes in the least order that its symmetries allow, and the resulting sign."""
    arranged, sign = [], 1
    for f in factors:
        labels, s = _least_labels(f, atoms[f.atom].symmetries)
        arranged.append((f.atom, f.exponent, labels))
        sign *= s
    return sorted(arranged), sign


def _least_labels(f: FactorEntry, symmetries: Sequence[tuple[tuple[int, ...], int]]) -> tuple[tuple[int, ...], int]:
    integral, odd = f.exponent.denominator == 1, f.exponent.numerator % 2 == 1
    usable = [(axes, sign) for axes, sign in symmetries if integral or sign == 1]
    turned = [(tuple(f.labels[k] for k in axes), -sign) for axes, sign in usable]
    labels, negative = min([(f.labels, -1), *turned])
    return labels, -negative if odd else 1


def require(holds: bool, otherwise: str) -> None:
    """Raise CertificateError with the message ``otherwise`` unless ``holds``."""
    if not holds:
        raise CertificateError(f"a proof of symmetry does not hold: {otherwise}")
