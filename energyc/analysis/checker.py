"""Checks a certificate without the prover: the pairing symbol by symbol, everything else by numbers.

It shares no code with what made the certificate but the graph, its interpreter and forward mode, and forward mode it
compares with differences. What it finds wrong, where intervals show that floats can tell, is a bug of the compiler,
never of a spec.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.analysis.certificate import AtomEntry, Certificate, FactorEntry, TermEntry
from energyc.analysis.exact import Evaluation, Intervals
from energyc.analysis.problem import ForceField, linearise
from energyc.analysis.sampling import batched, draw
from energyc.analysis.sizes import WORK, small_sizes, work
from energyc.ir import Input, Node
from energyc.ir.interpreter import evaluate

Array = NDArray[Any]
CLOSE = 1e-9
DIFFERENCES = 1e-5
STEPS = (1e-5, 1e-6, 1e-7, 1e-8)
SIZES = (2, 3, 4)
DENSE = 80
#: Points are of order one: of a Jacobian below this only rounding may be left.
FLOOR = 1e-4
#: Enclosures wider than this, of the largest entry, leave open whether a disagreement is rounding.
TRUSTED = 1e-3


class CertificateError(Exception):
    """A proof that does not hold: our bug (exit status 70)."""


def check(certificate: Certificate, generator: np.random.Generator) -> int:
    """How many points bear the certificate out, 0 where none could be evaluated. Raises CertificateError."""
    check_pairing(certificate)
    return sum(_check_point(certificate, sizes, generator) for sizes in _three_sizes(certificate.field))


# ---------------------------------------------------------------- the pairing


def check_pairing(certificate: Certificate) -> None:
    """Every term becomes, u and w exchanged and its labels renamed, exactly its mirror. Raises CertificateError."""
    exchange = dict(zip(certificate.left, certificate.right, strict=True))
    exchange.update({b: a for a, b in exchange.items()})
    inputs = [certificate.atoms[k].node for k in (*certificate.left, *certificate.right)]
    _require(inputs == [*certificate.u, *certificate.w], "u and w are not the atoms that are exchanged")
    mirrors = [term.mirror for term in certificate.terms]
    _require(sorted(mirrors) == list(range(len(mirrors))), "the terms are not paired one to one")
    for term in certificate.terms:
        _check_mirror(certificate, term, certificate.terms[term.mirror], exchange)


def _check_mirror(certificate: Certificate, term: TermEntry, mirror: TermEntry, exchange: Mapping[int, int]) -> None:
    renaming = dict(term.renaming)
    _require(len(set(renaming.values())) == len(renaming), "two labels become one")
    dims = {renaming[a]: dim for a, dim in term.dims}
    _require(dims == dict(mirror.dims), "a label changes its dim")
    turned = [
        FactorEntry(exchange.get(f.atom, f.atom), tuple(renaming[a] for a in f.labels), f.exponent)
        for f in term.factors
    ]
    here, sign = _arranged(certificate.atoms, turned)
    there, other_sign = _arranged(certificate.atoms, mirror.factors)
    _require(here == there, "a term is not the mirror image of its mate")
    _require(
        term.coefficient.scaled(sign) == mirror.coefficient.scaled(other_sign),
        "two mirrored terms differ in their coefficients",
    )


def _arranged(atoms: Sequence[AtomEntry], factors: Sequence[FactorEntry]) -> tuple[list[tuple[Any, ...]], int]:
    """Factors in a fixed order, the axes of each in the least order that its symmetries allow; and the sign of that."""
    found, sign = [], 1
    for f in factors:
        labels, s = _least(f, atoms[f.atom].symmetries)
        found.append((f.atom, f.exponent, labels))
        sign *= s
    return sorted(found), sign


def _least(f: FactorEntry, symmetries: Sequence[tuple[tuple[int, ...], int]]) -> tuple[tuple[int, ...], int]:
    whole, odd = f.exponent.denominator == 1, f.exponent.numerator % 2 == 1
    usable = [(axes, sign) for axes, sign in symmetries if whole or sign == 1]
    turned = [(tuple(f.labels[k] for k in axes), -sign) for axes, sign in usable]
    labels, negative = min([(f.labels, -1), *turned])
    return labels, -negative if odd else 1


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CertificateError(f"a proof of symmetry does not hold: {otherwise}")


# ---------------------------------------------------------------- the numbers


def _three_sizes(field: ForceField) -> list[dict[str, int]]:
    """Three different sizes, or as many as are small enough to evaluate."""
    found: list[dict[str, int]] = []
    for smallest in SIZES:
        sizes = small_sizes(field.roots, field.sizes, smallest)
        if sizes not in found and DENSE * work(field.roots, sizes) <= 10 * WORK:
            found.append(sizes)
    return found


@dataclass(frozen=True)
class _Point:
    """A point with two directions, and how to evaluate nodes there."""

    sizes: Mapping[str, int]
    values: Mapping[str, float]
    inputs: dict[str | tuple[str, str], Any]

    def __call__(self, nodes: Sequence[Node]) -> list[Array]:
        """Arrays without a batch axis."""
        with np.errstate(all="ignore"):
            arrays = evaluate(nodes, self.inputs, sizes=self.sizes, values=self.values)
        return [a[0] if node.batched else a for node, a in zip(nodes, arrays, strict=True)]

    def moved(self, states: Sequence[Input], directions: Sequence[Input], step: float) -> _Point:
        """The point with each state moved along its direction."""
        inputs = dict(self.inputs)
        for state, direction in zip(states, directions, strict=True):
            inputs[state.kind, state.name] = (
                inputs[state.kind, state.name] + step * inputs[direction.kind, direction.name]
            )
        return _Point(self.sizes, self.values, inputs)


def _check_point(certificate: Certificate, sizes: Mapping[str, int], generator: np.random.Generator) -> int:
    """1 where a finite point agrees, 0 where none is found. Raises CertificateError."""
    field = certificate.field
    for _ in range(4):
        point = _point(certificate, sizes, generator)
        exact = _bilinear(certificate, point)
        if not math.isfinite(exact):
            continue
        try:
            _check_symmetries(certificate, point)
            _check_expansion(certificate, point, exact)
            _check_jacobian(field, point)
            _check_differences(certificate, sizes, generator)
        except CertificateError:
            if _floats_tell(certificate, point):
                raise
            continue
        return 1
    return 0


def _floats_tell(certificate: Certificate, point: _Point) -> bool:
    """Whether floats are near the truth at a point: false where cancellation has left little but rounding of J w."""
    field = certificate.field
    inputs = {node: point.inputs[node.kind, node.name] for node in (*field.inputs, *certificate.w)}
    known = {node: a[0] if node.batched else a for node, a in inputs.items()}
    numbers = Intervals({**point.values, **point.sizes}, field.fractions)
    evaluation = Evaluation(field.graph, numbers, point.sizes, known)
    try:
        found = [evaluation(node) for node in linearise(field).moved]
    except ArithmeticError:
        return True
    width = max(float(np.max(x.high - x.low, initial=0.0)) for x in found)
    scale = max(float(np.max(np.abs(x.high), initial=FLOOR)) for x in found)
    return width <= TRUSTED * scale


def _point(certificate: Certificate, sizes: Mapping[str, int], generator: np.random.Generator) -> _Point:
    inputs = batched(draw(certificate.field, sizes, generator))
    for direction in (*certificate.u, *certificate.w):
        shape = (1, *(sizes[dim] for dim in direction.dims))
        inputs[direction.kind, direction.name] = generator.standard_normal(shape)
    return _Point(sizes, certificate.field.values, inputs)


def _bilinear(certificate: Certificate, point: _Point) -> float:
    """``u . J w`` by forward mode, not multiplied out."""
    linear = linearise(certificate.field)
    parts = zip(point(certificate.u), point(linear.moved), strict=True)
    return float(sum(np.sum(u * moved) for u, moved in parts))


def _check_symmetries(certificate: Certificate, point: _Point) -> None:
    for number, array in _atoms(certificate, point).items():
        for axes, sign in certificate.atoms[number].symmetries:
            turned = sign * np.transpose(array, np.argsort(axes)) if axes else array
            _require(_agree(turned, array), f"{certificate.atoms[number].node!r} has not the symmetry {axes}")


def _atoms(certificate: Certificate, point: _Point) -> dict[int, Array]:
    """The atoms that some term holds."""
    used = sorted({f.atom for term in certificate.terms for f in term.factors})
    entries = [certificate.atoms[k] for k in used]
    arrays = point([atom.node for atom in entries])
    turned = (np.transpose(a, atom.order) / float(atom.scale) for a, atom in zip(arrays, entries, strict=True))
    return dict(zip(used, turned, strict=True))


def _check_expansion(certificate: Certificate, point: _Point, exact: float) -> None:
    atoms = _atoms(certificate, point)
    numbers = {**point.values, **point.sizes}
    parts = [_value(term, atoms) * term.coefficient.number(numbers) for term in certificate.terms]
    scale = sum(abs(part) for part in parts) + abs(exact)
    _require(abs(sum(parts) - exact) <= CLOSE * max(scale, FLOOR), "the terms do not add up to u . J w")


def _value(term: TermEntry, atoms: Mapping[int, Array]) -> float:
    if not term.factors:
        return 1.0
    places = {label: k for k, (label, _) in enumerate(term.dims)}
    arguments: list[Any] = []
    for f in term.factors:
        arguments += [_power(atoms[f.atom], f.exponent), [places[a] for a in f.labels]]
    return float(np.einsum(*arguments, [], optimize="greedy"))


def _power(array: Array, exponent: Fraction) -> Array:
    """Infinities are taken as 0: where they count, u . J w is infinite too and the point was not taken."""
    with np.errstate(all="ignore"):
        result = array ** (int(exponent) if exponent.denominator == 1 and exponent > 0 else float(exponent))
    return np.where(np.isfinite(result), result, 0.0)


def _agree(a: Array, b: Array) -> bool:
    finite = np.isfinite(a) & np.isfinite(b)
    scale = float(np.max(np.abs(b[finite]), initial=1e-300))
    return bool(np.all(np.abs(a[finite] - b[finite]) <= CLOSE * scale))


def _check_jacobian(field: ForceField, point: _Point) -> None:
    """The dense Jacobian, or its first columns, is symmetric."""
    jacobian = dense_jacobian(field, point)
    scale = float(np.max(np.abs(jacobian), initial=FLOOR))
    gap = float(np.max(np.abs(jacobian - jacobian.T), initial=0.0))
    _require(gap <= CLOSE * scale, f"a dense Jacobian is not symmetric ({gap:.1e} of {scale:.1e})")


def dense_jacobian(field: ForceField, point: _Point) -> Array:
    """J at a point, its rows and columns the first of the stacked state."""
    linear = linearise(field)
    shapes = [tuple(point.sizes[d] for d in state.dims) for state in field.states]
    count = min(DENSE, sum(math.prod(shape) for shape in shapes))
    inputs = {key: np.repeat(a, count, axis=0) for key, a in point.inputs.items() if key in _batched_keys(field)}
    blocks = list(_unit_vectors(count, shapes))
    inputs.update({(d.kind, d.name): block for d, block in zip(linear.directions, blocks, strict=True)})
    arrays = evaluate(linear.moved, {**point.inputs, **inputs}, sizes=point.sizes, values=point.values)
    rows = [np.broadcast_to(a, (count, *s)).reshape(count, -1) for a, s in zip(arrays, shapes, strict=True)]
    return np.concatenate(rows, axis=1)[:, :count].T


def _batched_keys(field: ForceField) -> set[str | tuple[str, str]]:
    return {(node.kind, node.name) for node in field.inputs if node.batched}


def _unit_vectors(count: int, shapes: Sequence[tuple[int, ...]]) -> Iterator[Array]:
    first = 0
    for shape in shapes:
        size = math.prod(shape)
        yield np.eye(count, size, -first).reshape(count, *shape)
        first += size


def _check_differences(certificate: Certificate, sizes: Mapping[str, int], generator: np.random.Generator) -> None:
    """Forward mode against central differences; a kink within the steps may spoil one point, not three."""
    gaps = [_difference(certificate, _point(certificate, sizes, generator)) for _ in range(3)]
    finite = [gap for gap in gaps if math.isfinite(gap)]
    _require(not finite or min(finite) <= DIFFERENCES, "forward mode disagrees with differences")


def _difference(certificate: Certificate, point: _Point) -> float:
    """The least disagreement over steps: a large one feels the curvature, a small one what rounding leaves of F."""
    exact = point(linearise(certificate.field).moved)
    return min(_disagreement(certificate, point, exact, step) for step in STEPS)


def _disagreement(certificate: Certificate, point: _Point, exact: Sequence[Array], step: float) -> float:
    """Of J w with central differences, in units of its largest entry; what rounding alone can do is no disagreement."""
    field = certificate.field
    up, down = (point.moved(field.states, certificate.w, h)(field.roots) for h in (step, -step))
    slopes = [(a - b) / (2 * step) for a, b in zip(up, down, strict=True)]
    rounding = 8 * np.finfo(float).eps * max(float(np.max(np.abs(x), initial=0.0)) for x in up) / step
    scale = max([1e-3, *(float(np.max(np.abs(x), initial=0.0)) for x in exact)])
    gap = max(float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(slopes, exact, strict=True))
    return max(0.0, gap - rounding) / scale
