"""Replays a certificate independently of the prover: the pairing symbolically, the rest in multiprecision arithmetic.

The replay and the prover share the graph and the meaning of its nodes, nothing else: here J comes from differences of
the force, at points drawn for the purpose, of several scales and on both sides of every kink. At each point the terms
must add up to ``u . J w``, which must equal ``w . J u``, and every symmetry of an atom must hold, to 30 digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.mathematics.ir import TRUTHS, Input, Map, Node, walk
from energyc.proofs.conservativeness.certificate import Certificate, TermEntry
from energyc.proofs.enclosures.exact import Evaluation, aligned
from energyc.proofs.enclosures.multiprecision import DIGITS, Multiprecision, Number, digits, number, resolution
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.sizes import Sizes, small_sizes, with_sets_at, work
from energyc.proofs.fields.structured import holds, on_sets
from tests.analysis.pairing import check_pairing, require

Array = NDArray[Any]
Point = Mapping[Input, Array]
Ways = Mapping[Input, Array]
Labelled = tuple[Array, tuple[int, ...]]
#: The relative tolerance for numbers that should be equal, and the step of the difference quotients.
CLOSE, STEP = Fraction(1, 10**30), Fraction(1, 10**40)
#: Roundings of one evaluation of the force, at most; and a growth of a gap that only a jump within the step explains.
ROUNDINGS, JUMP = 10**10, 10**30
SIZES = (2, 3, 4)
#: The most multiplications of one evaluation; the fewest and the most points at each size, and the work for them.
COST, LEAST, MOST, BUDGET = 3e4, 2, 8, 800
SCALES = (Fraction(1), Fraction(8), Fraction(64), Fraction(1, 8))
GRAIN = 1021
ROUNDS = 4


def check(certificate: Certificate, field: ForceField, generator: np.random.Generator) -> int:
    """The number of sizes at which the certificate was confirmed for ``field``, 0 if no point could be evaluated.

    Raises CertificateError.
    """
    require(certificate.field.states == field.states, "it is of other states")
    require(certificate.field.roots == field.roots, "it is of another force")
    check_pairing(certificate)
    require(all(field.sizes[dim] == size for dim, size in certificate.pinned), "it is at sizes of another force")
    pinned = tuple((dim, size) for dim, size in certificate.pinned if dim not in certificate.square)
    known = with_sets_at(field, certificate.pinned)
    return sum(_check_size(certificate, known, sizes, generator) for sizes in _test_sizes(known, pinned))


# ---------------------------------------------------------------- the points


def _test_sizes(field: ForceField, pinned: Sizes) -> list[dict[str, int]]:
    """Up to three different assignments of sizes, small enough to evaluate, all with the ``pinned`` ones."""
    assignments: list[dict[str, int]] = []
    for smallest in SIZES:
        sizes = {**small_sizes(field.roots, field.sizes, smallest, field.structure), **dict(pinned)}
        if not holds(field.structure, sizes):
            continue
        if sizes not in assignments and (not assignments or work(field.roots, sizes) <= COST):
            assignments.append(sizes)
    return assignments


def _check_size(
    certificate: Certificate, field: ForceField, sizes: Mapping[str, int], generator: np.random.Generator
) -> int:
    """1 if points at these sizes confirm the certificate, 0 if none is finite. Raises CertificateError."""
    checked, enough = 0, _enough(field, sizes)
    for point in _points(field, sizes, generator):
        try:
            mates = {node: value for node, value in _draw(field, sizes, generator, Fraction(1)).items() if node.batched}
            _check_point(certificate, _Values(field, sizes, point, mates={**point, **mates}))
            checked += 1
        except (ArithmeticError, ValueError):
            continue
        if checked >= enough:
            break
    return int(checked > 0)


def _enough(field: ForceField, sizes: Mapping[str, int]) -> int:
    """How many points are checked: by multiplications, of which a node takes ten by itself, and never by the clock."""
    each = work(field.roots, sizes) + 10 * sum(1 for _ in walk(field.roots)) + 50
    return max(LEAST, min(MOST, int(BUDGET // each)))


def _points(field: ForceField, sizes: Mapping[str, int], generator: np.random.Generator) -> Iterator[Point]:
    """Points of every scale, first those at which the argument of a kinked function takes a new sign."""
    candidates = list(_candidates(field, sizes, generator))
    kinked = [n.argument for n in walk(field.roots) if isinstance(n, Map) and n.function.name in _KINKED]
    seen: set[tuple[Node, bool]] = set()
    later = []
    for point in candidates:
        new = _signs(field, sizes, point, kinked) - seen if kinked else set()
        seen |= new
        if new:
            yield point
        else:
            later.append(point)
    yield from later


def _candidates(field: ForceField, sizes: Mapping[str, int], generator: np.random.Generator) -> Iterator[Point]:
    """Points of every scale, far ones with their mirror images, so that what grows to one side alone shows."""
    free = [state for state in field.states if state not in field.structure and state not in field.ranges]
    for scale in ROUNDS * SCALES:
        point = _draw(field, sizes, generator, scale)
        yield point
        if scale > 1:
            yield {**point, **{state: -point[state] for state in free}}


_KINKED = frozenset({"relu", "abs", "step", "sign"})


def _signs(field: ForceField, sizes: Mapping[str, int], point: Point, nodes: Sequence[Node]) -> set[tuple[Node, bool]]:
    values = _Values(field, sizes, point)
    try:
        return {(node, bool(x > 0)) for node in nodes for x in np.ravel(values.of(node))}
    except (ArithmeticError, ValueError):
        return set()


def _draw(field: ForceField, sizes: Mapping[str, int], generator: np.random.Generator, scale: Fraction) -> Point:
    """Fractions for every input, up to ``scale`` for states, and inside the ranges of inputs that have one."""
    point: dict[Input, Array] = {}
    for node in field.inputs:
        shape = tuple(sizes[dim] for dim in node.dims)
        if node.over is not None:
            point[node] = generator.integers(0, 2 if node.over == TRUTHS else sizes[node.over], shape)
        elif node.kind == "flag":
            point[node] = generator.integers(0, 2, shape)
        else:
            low, high = _interval(field.ranges.get(node, (None, None)), scale if node in field.states else Fraction(1))
            steps = generator.integers(0, GRAIN, shape)
            point[node] = np.vectorize(
                lambda k, a=low, b=high: a + (b - a) * _fraction_of_interval(int(k)), otypes=[object]
            )(steps)
    for node, structure in field.structure.items():
        if node in point:
            point[node] = on_sets(point[node], structure, generator)
    return point


def _fraction_of_interval(step: int) -> Fraction:
    """One of ``GRAIN`` fractions of an interval, chosen to miss the usual places of kinks and poles."""
    return (step + Fraction(1, 3)) / GRAIN


def _interval(bounds: tuple[float | None, float | None], scale: Fraction) -> tuple[Fraction, Fraction]:
    low, high = (None if bound is None else Fraction(bound) for bound in bounds)
    if low is None:
        return (-scale, scale) if high is None else (high - 2 * scale, high)
    return low, low + 2 * scale if high is None else high


# ---------------------------------------------------------------- the numbers


@dataclass(frozen=True)
class _Values:
    """The values of nodes at a point in multiprecision; ``step`` is the step of difference quotients.

    Statistics of the batch, constant in every derivative, are those at a point of its ``mates`` (None: its own).
    """

    field: ForceField
    sizes: Mapping[str, int]
    point: Point
    step: Fraction = STEP
    mates: Point | None = None

    @property
    def arithmetic(self) -> Multiprecision:
        exact = {**self.field.fractions, **{dim: Fraction(size) for dim, size in self.sizes.items()}}
        return Multiprecision({**self.field.values, **self.sizes}, exact)

    def of(self, node: Node) -> Array:
        return self.all([node])[0]

    def all(self, nodes: Sequence[Node]) -> list[Array]:
        """The value of each node. Raises ArithmeticError if one is undefined."""
        mates = Evaluation(self.field.graph, self.arithmetic, self.sizes, dict(self.mates or self.point))
        evaluation = replace(mates, inputs=dict(self.point), done={}, mates=mates)
        return [np.asarray(evaluation(node), dtype=object) for node in nodes]

    def change(self, along: Mapping[Input, Array]) -> list[Array]:
        """``J`` times a direction of the states, by central differences."""
        ends = []
        for step in (number(self.step), -number(self.step)):
            moved = {state: self.arithmetic.array(self.point[state]) + step * way for state, way in along.items()}
            ends.append(replace(self, point={**self.point, **moved}).all(self.field.roots))
        return [(a - b) / (2 * number(self.step)) for a, b in zip(*ends, strict=True)]

    def noise(self) -> Number:
        """The error of a quotient from rounding: of the force, and of the numbers of order one that make it up."""
        entries = (abs(x) for value in self.all(self.field.roots) for x in np.ravel(value))
        return ROUNDINGS * resolution() * max([number(1), *entries]) / number(self.step)


def _check_point(certificate: Certificate, values: _Values) -> None:
    """Check the numbers at a point. Raises CertificateError, or ArithmeticError if J is undefined there.

    A gap due to cancellation shrinks with more digits; one that does not shrink is an error. One that grows as the
    step shrinks is a jump of the force within the step, where there is no J.
    """
    gaps = dict(_gaps(certificate, values))
    if not gaps:
        return
    with digits(3 * DIGITS):
        refined = dict(_gaps(certificate, replace(values, step=values.step**3)))
    if any(refined.get(claim, 0) > JUMP * gap for claim, gap in gaps.items()):
        raise ArithmeticError("the force jumps here")
    for claim, gap in gaps.items():
        require(not refined.get(claim, 0) >= gap / 2, claim)


def _gaps(certificate: Certificate, values: _Values) -> Iterator[tuple[str, Number]]:
    """Each claim that fails in this arithmetic, with its gap."""
    noise = values.noise()
    yield from ((claim, gap) for claim, gap in _all_gaps(certificate, values) if gap > noise)


def _all_gaps(certificate: Certificate, values: _Values) -> Iterator[tuple[str, Number]]:
    """Each claim that fails beside the size of its terms, with its gap."""
    u, w = _directions(values)
    parts, mirrored = _bilinear_parts(values, u, w), _bilinear_parts(values, w, u)
    gap = abs(sum(parts, number(0)) - sum(mirrored, number(0)))
    if gap > number(CLOSE) * sum(map(abs, parts), number(0)):
        yield "u . J w is not w . J u", gap
    yield from _gaps_of_terms(certificate, values, (u, w), sum(parts, number(0)))


def _directions(values: _Values) -> tuple[Ways, Ways]:
    """Two directions of the states, u and w."""
    generator = np.random.default_rng(0)
    u, w = ({state: _direction(values, state, generator) for state in values.field.states} for _ in range(2))
    return u, w


def _bilinear_parts(values: _Values, u: Ways, w: Ways) -> list[Number]:
    """The products whose sum is ``u . J w``."""
    return [
        a * b for way, change in zip(u.values(), values.change(w), strict=True) for a, b in _entry_pairs(way, change)
    ]


def _gaps_of_terms(
    certificate: Certificate, values: _Values, ways: tuple[Ways, Ways], exact: Number
) -> Iterator[tuple[str, Number]]:
    """The symmetries that fail, and the sum of the terms if it is not ``u . J w``, with their gaps."""
    directions = dict(zip((*certificate.u, *certificate.w), (*ways[0].values(), *ways[1].values()), strict=True))
    atoms = _atom_values(certificate, replace(values, field=certificate.field, point={**values.point, **directions}))
    yield from _broken_symmetries(certificate, atoms)
    coefficients = (values.arithmetic.coefficient(term.coefficient)[()] for term in certificate.terms)
    parts = [c * _term_value(term, atoms) for c, term in zip(coefficients, certificate.terms, strict=True)]
    gap = abs(sum(parts, number(0)) - exact)
    if gap > number(CLOSE) * sum(map(abs, parts), abs(exact)):
        yield "the terms do not add up to u . J w", gap


def _direction(values: _Values, state: Input, generator: np.random.Generator) -> Array:
    shape = tuple(values.sizes[dim] for dim in state.dims)
    steps = generator.integers(-GRAIN, GRAIN, shape)
    return np.vectorize(lambda k: number(_fraction_of_interval(int(k))), otypes=[object])(steps)


def _entry_pairs(a: Array, b: Array) -> Iterator[tuple[Any, Any]]:
    return zip(np.ravel(a), np.ravel(np.broadcast_to(b, a.shape)), strict=True)


def _atom_values(certificate: Certificate, values: _Values) -> dict[int, Array]:
    """The values of the atoms that occur in the terms."""
    used = sorted({f.atom for term in certificate.terms for f in term.factors})
    entries = [certificate.atoms[k] for k in used]
    arrays = values.all([atom.node for atom in entries])
    turned = (np.transpose(a, atom.order) / number(atom.scale) for a, atom in zip(arrays, entries, strict=True))
    return dict(zip(used, turned, strict=True))


def _broken_symmetries(certificate: Certificate, atoms: Mapping[int, Array]) -> Iterator[tuple[str, Number]]:
    for k, array in atoms.items():
        largest = max(map(abs, np.ravel(array)), default=number(0))
        for axes, sign in certificate.atoms[k].symmetries:
            turned = sign * np.transpose(array, np.argsort(axes)) if axes else array
            gap = max(map(abs, np.ravel(turned - array)), default=number(0))
            if gap > number(CLOSE) * largest:
                yield f"{certificate.atoms[k].node!r} has not the symmetry {axes}", gap


def _term_value(term: TermEntry, atoms: Mapping[int, Array]) -> Number:
    """The product of the factors summed over all labels, one at a time, the label with the smallest product first."""
    factors = [_diagonal(_power(atoms[f.atom], f.exponent), f.labels) for f in term.factors]
    remaining = {label for _, labels in factors for label in labels}
    while remaining:
        label = min(remaining, key=lambda a: (len({b for _, labels in factors if a in labels for b in labels}), a))
        here = [factor for factor in factors if label in factor[1]]
        factors = [factor for factor in factors if label not in factor[1]] + [_contract(here, label)]
        remaining.remove(label)
    return math.prod((array[()] for array, _ in factors), start=number(1))


def _diagonal(array: Array, labels: Sequence[int]) -> Labelled:
    """The diagonal of an array over repeated labels, with each label once."""
    distinct = sorted(set(labels))
    places = [distinct.index(a) for a in labels]
    return aligned(array, places, len(distinct)), tuple(distinct)


def _contract(factors: Sequence[Labelled], label: int) -> Labelled:
    """The product of arrays summed over one label."""
    labels = sorted({a for _, own in factors for a in own})
    product = np.asarray(number(1), dtype=object)
    for array, own in factors:
        product = product * aligned(array, [labels.index(a) for a in own], len(labels))
    return np.asarray(np.sum(product, axis=labels.index(label)), dtype=object), tuple(a for a in labels if a != label)


def _power(array: Array, exponent: Fraction) -> Array:
    """An array to a power, with 0 at poles: where a pole matters, u . J w is undefined too."""
    if exponent == 1:
        return array
    return np.asarray(np.vectorize(lambda x: _power_of(x, exponent), otypes=[object])(array), dtype=object)


def _power_of(x: Any, exponent: Fraction) -> Any:
    if (x == 0 and exponent < 0) or (x < 0 and exponent.denominator != 1):
        return number(0)
    return x ** int(exponent) if exponent.denominator == 1 else x ** number(exponent)
