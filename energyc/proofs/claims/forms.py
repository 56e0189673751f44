"""Quadratic forms compared: ``|x . Q y| <= |x| |y|`` for orthonormal rows Q, ``(p . x)^2 <= |x|^2`` for |p| <= 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from energyc.mathematics.ir import Coefficient, Node, Operand
from energyc.proofs.claims.judgement import at_sizes
from energyc.proofs.claims.norms import Norms
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.sizes import square_dims
from energyc.proofs.fields.structured import squared
from energyc.proofs.normal_form.products import Product

Interval = tuple[Fraction, Fraction]


@dataclass
class Forms:
    """Adds up quadratic forms of vectors from below: ``sum of least[x, y] |x| |y|``.

    ``exact`` are the values of consts and dims.
    """

    norms: Norms
    exact: Mapping[str, Fraction]
    vectors: Collection[Node]
    least: dict[tuple[Node, Node], Fraction] = field(default_factory=dict)
    because: list[str] = field(default_factory=list)
    subtracts: bool = False

    def copy(self) -> Forms:
        """The same forms, to be added to apart."""
        return replace(self, least=dict(self.least), because=list(self.because))

    def take(self, form: Product) -> bool:
        """Whether a product could be added: one of two of the vectors, each once, and what is bounded."""
        ends = [f for f in form.factors if f.node in self.vectors]
        number = self._interval(form.coefficient)
        if len(ends) != 2 or number is None:
            return False
        others = [f for f in form.factors if f.node not in self.vectors]
        found = self._square(ends, others, number) or self._mixed((ends[0], ends[1]), others, number)
        if found is None:
            return False
        low, because = found
        pair = (ends[0].node, ends[1].node)
        key = min(pair, pair[::-1], key=lambda nodes: nodes[0].number)
        self.least[key] = self.least.get(key, Fraction(0)) + low
        self.subtracts |= low < 0
        self.because += because
        return True

    def is_plain(self, form: Product) -> bool:
        """Whether a product is ``sum c x^2``."""
        ends = [f for f in form.factors if f.node in self.vectors]
        return len(ends) == 2 and ends[0] == ends[1] and not any(set(f.axes) - set(ends[0].axes) for f in form.factors)

    def _square(
        self, ends: Sequence[Operand], others: Sequence[Operand], number: Interval
    ) -> tuple[Fraction, list[str]] | None:
        """The least factor of ``sum c x^2``; None for any other form."""
        if ends[0] != ends[1] or len({*ends[0].axes}) < len(ends[0].axes):
            return None
        if any({*other.axes} - {*ends[0].axes} for other in others):
            return None
        scale = (Fraction(1), Fraction(1))
        for other, count in Counter(others).items():
            own = self.norms.enclosures.range(other.node)
            if not own.finite:
                return None
            scale = _times(scale, _power((Fraction(own.low), Fraction(own.high)), count))
        return _times(number, scale)[0], []

    def _mixed(
        self, ends: tuple[Operand, Operand], others: Sequence[Operand], number: Interval
    ) -> tuple[Fraction, list[str]] | None:
        bound = self.norms.between(*ends, others)
        return (-max(map(abs, number)) * bound.norm, [*bound.because]) if isinstance(bound.norm, Fraction) else None

    def _interval(self, coefficient: Coefficient) -> Interval | None:
        """Bounds of a coefficient, equal where it is exact; None where they are infinite."""
        if all(power.denominator == 1 and self.exact.get(name) for name, power in coefficient.powers):
            value = coefficient.value
            for name, power in coefficient.powers:
                value *= self.exact[name] ** int(power)
            return value, value
        number = self.norms.enclosures.number(coefficient)
        return (Fraction(number.low), Fraction(number.high)) if number.finite else None

    def confined(self) -> set[Node] | None:
        """The vectors x with ``c |x|^2 <= sum``, c > 0; None where the sum is not known to be nowhere negative."""
        found: set[Node] = set()
        for part in self._parts():
            sign = definite([[self._entry(x, y) for y in part] for x in part])
            if sign < 0:
                return None
            found |= set(part) if sign > 0 else set()
        return found

    def _entry(self, x: Node, y: Node) -> Fraction:
        both = self.least.get((x, y), Fraction(0)) + (self.least.get((y, x), Fraction(0)) if x is not y else 0)
        return both if x is y else both / 2

    def _parts(self) -> list[list[Node]]:
        """The vectors, those together that stand in one form."""
        parts: list[list[Node]] = []
        for x, y in self.least:
            touching = [part for part in parts if x in part or y in part]
            parts = [part for part in parts if part not in touching]
            parts.append([*dict.fromkeys([x, y, *(node for part in touching for node in part)])])
        return parts


def _times(a: Interval, b: Interval) -> Interval:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _power(a: Interval, exponent: int) -> Interval:
    ends = [end**exponent for end in a]
    return Fraction(0) if exponent % 2 == 0 and a[0] < 0 < a[1] else min(ends), max(ends)


def at_more_sizes(known: ForceField, roots: Sequence[Node]) -> Iterator[tuple[ForceField, str]]:
    """The field for all sizes, then with what holds at its own alone, and these in words."""
    yield known, ""
    square = square_dims(known, roots)
    if square:
        words = at_sizes((dim, known.sizes[dim]) for dim in square)
        yield replace(known, structure=squared(known.structure, known.sizes)), f" {words}"


def exact_values(known: ForceField) -> dict[str, Fraction]:
    """The consts and dims that are known exactly."""
    return {**known.fractions, **{dim: Fraction(size) for dim, size in known.sizes.items()}}


def definite(matrix: Sequence[Sequence[Fraction]]) -> int:
    """1 for a symmetric matrix that is positive definite, 0 where it is positive semidefinite alone, -1 for others."""
    rows, sign = [list(row) for row in matrix], 1
    while rows:
        pivot, *first = rows[0]
        if pivot < 0 or (pivot == 0 and any(first)):
            return -1
        sign = min(sign, int(pivot > 0))
        ratio = [entry / pivot if pivot else Fraction(0) for entry in first]
        rows = [
            [a - r * b for a, b in zip(row[1:], first, strict=True)] for r, row in zip(ratio, rows[1:], strict=True)
        ]
    return sign
