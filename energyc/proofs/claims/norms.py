"""Bounds on quadratic forms: how large a sum of products with two vectors in it can be for vectors of norm 1.

A product of tensors and one vector is a chain of linear maps, applied one after the other: each multiplies the norm by
at most its operator norm. That of a param, a state or a softmax follows from its set, or from its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from energyc.language.network import Structure
from energyc.mathematics.ir import ArgMax, Indicator, Input, Node, Operand, Softmax, nearest
from energyc.mathematics.ir.interpreter import evaluate, key
from energyc.proofs.claims.products import Product
from energyc.proofs.claims.squares import squares
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.enclosures.ranges import LEAST, Range, exactly, widened
from energyc.proofs.fields.problem import inputs_of
from energyc.proofs.fields.sampling import Array

#: Singular values that LAPACK computes, and square roots, are raised by these shares.
ROUNDING, ROOT = 1e-10, 1e-15


@dataclass(frozen=True)
class Bound:
    """The ``square`` of a norm at most, a fraction or infinite."""

    square: Fraction | float

    def __mul__(self, other: Bound) -> Bound:
        finite = math.inf not in (self.square, other.square)
        return Bound(self.square * other.square if finite else math.inf)

    @property
    def norm(self) -> Fraction | float:
        """The norm at most, exactly where it is a fraction."""
        if not isinstance(self.square, Fraction):
            return self.square
        root = Fraction(math.isqrt(self.square.numerator), math.isqrt(self.square.denominator))
        return root if root**2 == self.square else _root(self.square)


def _root(square: Fraction) -> Fraction:
    """A number that is not below a square root, also of one that no float is near."""
    near = nearest(square)
    if math.isinf(near):
        return Fraction(math.isqrt(square.numerator // square.denominator) + 1)
    return Fraction(math.sqrt(near or LEAST) * (1 + ROOT))


@dataclass
class Norms:
    """Norms of chains of factors.

    ``extents`` are the sizes of dims, any where one is missing; ``simplexes`` are the states that sum to 1
    along axes, ``given`` the numbers of inputs that are known.
    """

    enclosures: Enclosures
    extents: Mapping[str, int]
    structure: Mapping[Input, Sequence[Structure]]
    simplexes: Mapping[Node, Sequence[int]] = field(default_factory=dict)
    given: Mapping[Input, Array] = field(default_factory=dict)
    _arrays: dict[Node, Array | None] = field(default_factory=dict)

    def of_form(self, product: Product, first: Operand, second: Operand) -> Range:
        """The values of a product with two directions for directions of norm 1, or for one that stands there twice."""
        labels = self._labels(product.factors)
        rest = [f for f in product.factors if f is not first and f is not second]
        scale = self.enclosures.number(product.coefficient)
        if first.axes == second.axes and len(set(first.axes)) == len(first.axes):
            values = scale * self._diagonal(rest, first.axes, labels)
            return values if first.node is second.node else _either(values.size)
        square = next(squares(product, first, second, self.structure), None)
        if square is not None:
            half = self.chain(square.half, first.axes, square.labels, labels)
            middle = scale * self._product(square.middle)
            return Range(min(0.0, middle.low), max(0.0, middle.high)) * widened(0.0, nearest(half.square))
        return _either(scale.size * nearest(self.chain(rest, first.axes, second.axes, labels).norm))

    def between(self, first: Operand, second: Operand, others: Sequence[Operand]) -> Bound:
        """A bound on a product of two vectors of norm 1 and others."""
        return self.chain(others, first.axes, second.axes, self._labels((first, second, *others)))

    def of_functional(self, product: Product, only: Operand) -> float:
        """How large a product with one direction can be."""
        rest = [f for f in product.factors if f is not only]
        scale = self.enclosures.number(product.coefficient).size
        return scale * nearest(self.chain(rest, only.axes, (), self._labels(product.factors)).norm)

    def _labels(self, factors: Iterable[Operand]) -> dict[int, float]:
        """The size of each label, infinite where it may be any."""
        return {a: self.extents.get(d, math.inf) for f in factors for a, d in zip(f.axes, f.node.dims, strict=True)}

    def _product(self, factors: Sequence[Operand]) -> Range:
        return self.enclosures.of_product(factors).range if factors else exactly(1.0)

    def _diagonal(self, factors: Sequence[Operand], axes: Sequence[int], labels: Mapping[int, float]) -> Range:
        """The range of what multiplies each square of an entry: a product of factors, summed over other labels."""
        known = [self.array(f.node) for f in factors]
        if factors and all(array is not None for array in known):
            subscripts: list[Any] = []
            for factor, array in zip(factors, known, strict=True):
                subscripts += [array, list(factor.axes)]
            present = [a for a in axes if any(a in f.axes for f in factors)]
            values = np.einsum(*subscripts, present)
            return widened(float(values.min()), float(values.max()))
        summed = {a for f in factors for a in f.axes} - set(axes)
        count = float(math.prod(labels[a] for a in summed))
        found = self._product(factors)
        return found.repeated(1.0 if any(isinstance(f.node, Indicator) for f in factors) else count, count)

    def chain(
        self, factors: Sequence[Operand], start: Sequence[int], end: Sequence[int], labels: Mapping[int, float]
    ) -> Bound:
        """The norm of the map from a vector with labels ``start`` to the tensor with labels ``end``."""
        current, left, norm = set(start), list(factors), Bound(Fraction(1))
        while left:
            factor = min(left, key=lambda f: (not current & set(f.axes), len(set(f.axes) - current)))
            left.remove(factor)
            needed = {a for f in left for a in f.axes} | set(end)
            kept = set(factor.axes) & current & needed
            norm *= self.of_factor(factor, kept, set(factor.axes) - current, labels)
            current = (current | set(factor.axes)) - (set(factor.axes) & current - needed)
            norm *= _summed(current - needed, labels)
            current &= needed
        return norm * _summed(current - set(end), labels) * _summed(set(end) - current, labels)

    def of_factor(self, factor: Operand, kept: set[int], new: set[int], labels: Mapping[int, float]) -> Bound:
        """The operator norm of a factor that keeps some labels, makes new ones, and adds up along all others."""
        across = [a for a in dict.fromkeys(factor.axes) if a not in kept]
        reach = _square(self.enclosures.range(factor.node).size)
        bounds = [reach * Bound(_whole(self._ones(factor, across, labels)))]
        if across and isinstance(factor.node, Input) and factor.node.kind == "direction":
            bounds.append(Bound(Fraction(1)))
        if across and len(set(factor.axes)) == len(factor.axes):
            array = self.array(factor.node)
            if array is not None:
                bounds.append(_square(self._largest(array, factor.axes, kept, new)))
            else:
                bounds += self._by_sets(factor, new, {*across} - new, labels)
        return min(bounds, key=lambda bound: bound.square)

    def _by_sets(self, factor: Operand, new: set[int], gone: set[int], labels: Mapping[int, float]) -> Iterator[Bound]:
        """The norm of each matrix of a factor between the labels that it makes and those that it adds up along."""
        for rows, columns, bound in self._sets(factor.node):
            made, taken = ({factor.axes[k] for k in axes} for axes in (rows, columns))
            own = Bound(bound**2)
            if rows and (made, taken) in ((new, gone), (gone, new)):
                yield own
            elif not rows and taken <= new | gone:
                yield own * _summed((new | gone) - taken, labels)

    def _sets(self, node: Node) -> Iterator[tuple[Sequence[int], Sequence[int], Fraction]]:
        """The axes between which the norm of a node is bounded, and the bound; vectors have no rows."""
        one = Fraction(1)
        if isinstance(node, Softmax | ArgMax):
            yield (), node.axes, one
        if not isinstance(node, Input):
            return
        if node in self.simplexes:
            yield (), self.simplexes[node], one
        for part in self.structure.get(node, ()):
            if part.kind == "orthogonal":
                yield part.rows, part.columns, one
            elif part.kind == "sphere":
                yield (), part.columns, one
            elif part.kind == "norm":
                yield part.rows, part.columns, Fraction(part.bound)

    def _ones(self, factor: Operand, across: Sequence[int], labels: Mapping[int, float]) -> float:
        """How many entries of each matrix of a factor may differ from 0."""
        node = factor.node
        if isinstance(node, Indicator) and node.condition.op == "==" and len(set(factor.axes)) == len(factor.axes):
            sides = node.condition.parts
            alone = {k.args[0] for k, other in (sides, sides[::-1]) if k.op == "axis" and k.args[0] not in other.axes()}
            free = [a for k, a in enumerate(factor.axes) if k in alone and a in across]
            if free:
                widest = max(free, key=labels.__getitem__)
                across = [a for a in across if a != widest]
        return float(math.prod(labels[a] for a in across))

    def array(self, node: Node) -> Array | None:
        """The numbers of a node that are known, in float64."""
        if node not in self._arrays:
            self._arrays[node] = self._evaluated(node)
        return self._arrays[node]

    def _evaluated(self, node: Node) -> Array | None:
        read = inputs_of([node])
        if not self.given or not all(n in self.given for n in read):
            return None
        inputs = {key(n): self.given[n] for n in read}
        (found,) = evaluate([node], inputs, sizes=self.extents, values=self.enclosures.values)
        return np.broadcast_to(found[0] if node.batched else found, tuple(self.extents[d] for d in node.dims))

    def _largest(self, array: Array, axes: Sequence[int], kept: set[int], new: set[int]) -> float:
        """The largest singular value over the matrices that the kept labels count."""
        order = sorted(range(len(axes)), key=lambda k: (axes[k] not in kept, axes[k] in new))
        count = math.prod(array.shape[k] for k in order if axes[k] in kept)
        height = math.prod(array.shape[k] for k in order if axes[k] in new)
        flat = np.transpose(array, order).reshape(count, -1, height)
        return float(np.linalg.norm(flat, 2, axis=(1, 2)).max(initial=0.0)) * (1 + ROUNDING)


def _either(size: float) -> Range:
    return widened(-size, size)


def _summed(gone: Iterable[int], labels: Mapping[int, float]) -> Bound:
    """The norm of adding up along labels, or of repeating along them."""
    return Bound(_whole(math.prod(labels[a] for a in gone)))


def _square(size: float) -> Bound:
    return Bound(Fraction(size) ** 2 if math.isfinite(size) else math.inf)


def _whole(count: float) -> Fraction | float:
    return Fraction(count) if math.isfinite(count) else math.inf
