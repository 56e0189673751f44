"""Quadratic forms in directions: how large they are at least and at most, by the norms of what stands between two."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from energyc.checker.algebra import Atom, Poly, free, lone, moved, new_index, seen
from energyc.checker.bounds import Bounds, sets_of
from energyc.checker.case import require
from energyc.checker.ranges import Facts, number, of_ends, root
from energyc.checker.syntax import Spec, expression

#: For two states s and t numbers a and b: all that reads v_s and w_t is from ``a |v_s| |w_t|`` to ``b |v_s| |w_t|``.
Blocks = dict[tuple[str, str], tuple[Any, Any]]
Factor = tuple[Atom, Any]
Indices = frozenset[Atom]
#: The most factors between two directions.
FACTORS = 6


class Forms:
    """Bounds on polynomials with two directions in each product."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds, self.spec = bounds, bounds.spec
        self.places: dict[str, tuple[Atom, ...]] = {}

    def blocks(self, form: Poly) -> Blocks:
        """The bounds of a form, by the states of its directions. Raises Refused for what is no form."""
        found: Blocks = {}
        for pair, known in self.parts(form):
            low, high = found.get(pair, (0, 0))
            found[pair] = low + known.low, high + known.high
        return found

    def is_definite(self, form: Poly) -> bool:
        """Whether a form in one direction is above 0 wherever that is not 0."""
        return reduce(operator.add, (known for _, known in self.parts(form)), number(0)).positive

    def parts(self, form: Poly) -> Iterator[tuple[tuple[str, str], Facts]]:
        """What is known of the products of a form, for directions of norm 1; those at one element are taken together.

        Raises Refused for what is no form.
        """
        own: dict[tuple[Atom, Atom], Poly] = {}
        for (bound, factors), value in form:
            ends = [(atom, e) for atom, e in factors if atom.kind == "element" and atom.name[:2] in ("u.", "w.")]
            ways = sorted((atom for atom, e in ends for _ in range(2 if e == 2 else 1)), key=lambda atom: atom.name)
            require(len(ways) == 2 and all(e in (1, 2) for _, e in ends), "the rule form: a product is no form")
            rest = factors.difference(ends)
            if self.is_each(bound, *ways):
                pair, part = self.at_one_place(ways, rest, value)
                own[pair] = own.get(pair, Poly(())) + part
            else:
                low, high = self.of_product(bound, [*rest], value, *ways)
                yield (ways[0].name[2:], ways[1].name[2:]), Facts(low, high)
        for (first, second), factor in own.items():
            known = self.bounds.of_cases(factor)
            if first != second:
                known = Facts(min(known.low, 0), max(known.high, 0))
            yield (first.name[2:], second.name[2:]), known

    def is_each(self, bound: Sequence[Atom], first: Atom, second: Atom) -> bool:
        """Whether a product is summed over all elements of a state and nothing else, with two directions at each."""
        alike = first.args == second.args and first.name[2:] == second.name[2:]
        return alike and self.indices(first) == frozenset(bound) and self.bounds.is_each(first, bound)

    def at_one_place(self, ways: Sequence[Atom], rest: Iterable[Factor], value: Any) -> tuple[tuple[Atom, Atom], Poly]:
        """Two directions at one element and what is before them, at indices that each state has of its own."""
        name = ways[0].name[2:]
        if name not in self.places:
            self.places[name] = tuple(map(new_index, self.bounds.formulas.signature(ways[0].name)))
        new = tuple(map(lone, self.places[name]))
        named = {index: place for old, place in zip(ways[0].args, new, strict=True) for index in free(old)}
        first, second = (way._replace(args=new) for way in ways)
        return (first, second), moved(Poly([(((), frozenset(rest)), value)]), named)

    def of_product(
        self, bound: Sequence[Atom], factors: Sequence[Factor], value: Any, first: Atom, second: Atom
    ) -> tuple[Any, Any]:
        """The bounds of a product, for directions of norm 1."""
        start, end = self.indices(first), self.indices(second)
        if start is None or end is None or len(factors) > FACTORS:
            return -math.inf, math.inf
        if first.args == second.args and first.name[2:] == second.name[2:]:
            known = number(value) * self.bounds.of_product([i for i in bound if i not in start], factors)
            each = self.bounds.is_each(first, bound) and first == second
            return (known.low, known.high) if each else (min(known.low, 0), max(known.high, 0))
        norm = of_ends(abs(value), root(self.chain(start, factors, end)))
        return -norm, norm

    def indices(self, element: Atom) -> Indices | None:
        """The indices of an element at plain places, no two of which are the same; None of any other."""
        found = seen(element)[0]
        places = {*element.args} == {lone(index) for index in found} and len(found) == len(element.args)
        return found if places else None

    def chain(self, current: Indices, factors: Sequence[Factor], end: Indices) -> Any:
        """The square of a norm of the map from tensors over ``current`` to those over ``end``, the least by any order.

        Each factor is a map of its own: it adds up along indices that nothing after it reads, and makes new ones.
        """
        if not factors:
            return self.count(current ^ end)
        return min(
            self.applied(current, factors[k], [*factors[:k], *factors[k + 1 :]], end) for k in range(len(factors))
        )

    def applied(self, current: Indices, factor: Factor, rest: Sequence[Factor], end: Indices) -> Any:
        """That of a factor and the ``rest`` after it."""
        own, needed = seen(factor[0])[0], end.union(*(seen(atom)[0] for atom, _ in rest))
        gone, after = (own & current) - needed, current | own
        norm = self.norm(factor, gone, own - current)
        left = of_ends(self.count(after - gone - needed), self.chain(after & needed, rest, end))
        return of_ends(norm, left)

    def norm(self, factor: Factor, gone: Indices, new: Indices) -> Any:
        """The square of the norm of the matrices of a factor from indices that are ``gone`` to ``new`` ones."""
        atom, exponent = factor
        known = self.bounds.of_power(atom, Fraction(exponent))
        largest = max(abs(known.low), abs(known.high))
        norms = [of_ends(of_ends(largest, largest), self.count(gone | new))]
        if exponent == 1 and atom.kind == "element" and (own := self.indices(atom)) is not None:
            norms += self.by_sets(atom, own, gone, new)
        return min(norms)

    def by_sets(self, atom: Atom, own: Indices, gone: Indices, new: Indices) -> Iterator[Any]:
        """Squares of norms by the sets of a param or a state: of the matrix that it is, and of vectors in it."""
        left = self.spec["tensors"].get(atom.name)
        for kind, inside in sets_of(left) if left is not None and left.word in ("param", "state") else ():
            if kind in ("norm", "orthogonal") and len(gone) == len(new) == 1 and len(own) == 2:
                yield self.bounds.of(expression(inside[0]), {}).high ** 2 if kind == "norm" else 1
            elif kind in ("sphere", "simplex"):
                dims = self.bounds.formulas.signature(atom.name)
                places = [(place, dim) for place, dim in zip(atom.args, dims, strict=True) if dim in inside]
                along = {index for index in own if any(place == lone(index) for place, _ in places)}
                if len({*dims}) == len(dims) and along <= gone | new:
                    yield self.count((gone | new) - along)

    def count(self, indices: Collection[Atom]) -> Any:
        """In how many ways indices can be chosen, at most."""
        found: Any = 1
        for index in indices:
            found = of_ends(found, self.bounds.size(index.below).high)
        return found


def matrix_of(blocks: Blocks, states: Sequence[str], end: int) -> list[list[Any]]:
    """The lower (0) or upper (1) bounds of a form in one direction as a symmetric matrix, a row for each state."""
    halves = {pair: (ends[end] if pair[0] == pair[1] else ends[end] / 2) for pair, ends in blocks.items()}
    return [[halves.get((s, t), halves.get((t, s), 0)) for t in states] for s in states]


def largest(blocks: Blocks) -> Blocks:
    """The bounds of absolute values."""
    return {pair: (0, max(-low, high)) for pair, (low, high) in blocks.items()}


def is_semidefinite(matrix: Sequence[Sequence[Any]]) -> bool:
    """Whether a symmetric matrix of fractions is positive semidefinite, by elimination."""
    rows = [list(row) for row in matrix]
    if any(abs(entry) == math.inf for row in rows for entry in row):
        return False
    while rows:
        pivot, *first = rows[0]
        if pivot < 0 or (pivot == 0 and any(first)):
            return False
        ratio = [Fraction(entry) / pivot if pivot else 0 for entry in first]
        rows = [
            [a - r * b for a, b in zip(row[1:], first, strict=True)] for r, row in zip(ratio, rows[1:], strict=True)
        ]
    return True


def shifted(matrix: Sequence[Sequence[Any]], by: Sequence[Any], sign: int) -> list[list[Any]]:
    """``sign`` times a matrix, with numbers added to its diagonal."""
    return [[sign * entry + (by[i] if i == j else 0) for j, entry in enumerate(row)] for i, row in enumerate(matrix)]


def beside(matrix: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """``[[0, M], [M^T, 0]]``."""
    blank = [0] * len(matrix)
    return [[*blank, *row] for row in matrix] + [[*column, *blank] for column in zip(*matrix, strict=True)]


def sized(found: Mapping[str, int], spec: Spec) -> dict[str, int]:
    """The sizes that a statement gives to some dims. Raises Refused for what is none."""
    others = found.keys() - {name for name, left in spec["consts"].items() if left.word == "dim"}
    require(not others, f"the statement gives {min(others, default='')} a size, which is no dim of the spec")
    require(all(size > 0 for size in found.values()), "a size is not above 0")
    return dict(found)
