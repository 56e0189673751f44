"""Sums over indices: for all sizes, as ``Sum`` over symbolic indices; or written out, a term for each place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product as places_of
from math import prod
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Integer, Product, Rational, Sum
from sympy.logic.boolalg import BooleanAtom

from energyc.derivation.notation.contraction import Contraction, at
from energyc.derivation.notation.indices import IndexNames
from energyc.mathematics.ir import Coefficient, Einsum, Guard, Indicator, Input
from energyc.mathematics.ir.indexing import axis
from energyc.mathematics.ir.interpreter import evaluate
from energyc.studies.symbolic.functions import rational
from energyc.studies.symbolic.indices import Condition, Place, Places, bracket
from energyc.studies.symbolic.symbols import Symbols, element, is_declared

#: The names of the indices that surround an element.
Scope = frozenset[str]
Body = Callable[[Places, Scope], Any]
ZERO = Integer(0)
#: Places at which a guard is tried.
MOST_PLACES = 1_000_000


@dataclass(frozen=True)
class Axis:
    """The dim that an index runs over, and the name that would suit it best."""

    dim: str
    wish: str | None = None


@dataclass(frozen=True)
class Ranges(ABC):
    """How indices run, and what is read of inputs."""

    symbols: Symbols

    @abstractmethod
    def size(self, dim: str) -> Place:
        """The size of a dim."""

    @abstractmethod
    def sum(self, axes: Sequence[Axis], scope: Scope, body: Body) -> Expr:
        """The sum of a body over indices along some axes."""

    @abstractmethod
    def product(self, axes: Sequence[Axis], scope: Scope, body: Body) -> Expr:
        """The product of a body over indices along some axes."""

    @abstractmethod
    def contraction(self, node: Einsum) -> Contraction:
        """Which labels of an einsum are given by others, and the conditions that are left."""

    def always_passes(self, guard: Guard, axes: Sequence[int]) -> bool:
        """Whether at every place something along some axes is known to pass a guard."""
        return False

    def factor(self, coefficient: Coefficient) -> Expr:
        """An exact factor."""
        factor: Expr = rational(coefficient.value)
        for name, power in coefficient.powers:
            base = self.symbols.consts[name] if name in self.symbols.consts else self.size(name)
            factor *= sympy.sympify(base) ** rational(power)
        return factor

    def entry(self, node: Input, places: Places) -> Expr:
        """An element of an input."""
        return element(self.symbols.input(node), places)

    def read(self, node: Input, places: Places) -> Place:
        """An element of an integer input."""
        return self.entry(node, places)


@dataclass(frozen=True)
class Symbolic(Ranges):
    """For all sizes for which the spec's windows stay inside of their tensors."""

    names: IndexNames
    sizes: Mapping[str, int]

    def size(self, dim: str) -> Place:
        """The symbol of the dim."""
        return self.symbols.dims[dim]

    def sum(self, axes: Sequence[Axis], scope: Scope, body: Body) -> Expr:
        """A ``Sum`` over indices that nothing around it uses."""
        return self._over(Sum, axes, scope, body)

    def product(self, axes: Sequence[Axis], scope: Scope, body: Body) -> Expr:
        """A ``Product`` over such indices."""
        return self._over(Product, axes, scope, body)

    def _over(self, operation: type[Expr], axes: Sequence[Axis], scope: Scope, body: Body) -> Expr:
        if not axes:
            return body((), scope)
        chosen = self._fresh(axes, scope)
        places = tuple(map(self.symbols.index, chosen))
        inner = body(places, scope | set(chosen))
        limits = [(place, 0, self.size(axis.dim) - 1) for place, axis in zip(places, axes, strict=True)]
        return inner if inner == 0 else operation(inner, *limits)

    def contraction(self, node: Einsum) -> Contraction:
        """As many labels as can be are solved for: ``x[2*i + p]`` in place of a sum."""
        return Contraction.of(node, self.sizes)

    def always_passes(self, guard: Guard, axes: Sequence[int]) -> bool:
        """So it is at the spec's sizes, where the guard reads indices alone."""
        indicator = guard.indicator
        if indicator.condition.inputs or prod(self.sizes[dim] for dim in indicator.dims) > MOST_PLACES:
            return False
        (holds,) = evaluate([indicator], {}, sizes=self.sizes)
        return bool(np.all(np.any(holds != 0, axis=tuple(k for k, a in enumerate(guard.axes) if a in axes))))

    def _fresh(self, axes: Sequence[Axis], scope: Scope) -> list[str]:
        chosen: list[str] = []
        for each in axes:
            chosen.append(self.names.fresh(each.dim, scope | set(chosen), each.wish))
        return chosen


@dataclass(frozen=True)
class Written(Ranges):
    """At given sizes; inputs of which ``values`` are known appear as numbers."""

    sizes: Mapping[str, int]
    values: Mapping[str, np.ndarray] = field(default_factory=dict)

    def size(self, dim: str) -> Place:
        """The size."""
        return self.sizes[dim]

    def places(self, dims: Sequence[str]) -> Iterator[tuple[int, ...]]:
        """Every place of a tensor."""
        return places_of(*(range(self.sizes[dim]) for dim in dims))

    def sum(self, axes: Sequence[Axis], scope: Scope, body: Body) -> Expr:
        """A term for each place."""
        return sympy.Add(*(body(places, scope) for places in self.places([axis.dim for axis in axes])))

    def product(self, axes: Sequence[Axis], scope: Scope, body: Body) -> Expr:
        """A factor for each place."""
        return sympy.Mul(*(body(places, scope) for places in self.places([axis.dim for axis in axes])))

    def contraction(self, node: Einsum) -> Contraction:
        """Windows are solved for; what an input's element says stays a condition, as its value may not be known."""
        found = Contraction.of(node, self.sizes)
        if not any(value.inputs for value in found.solved.values()):
            return found
        indicators = ((o.node, o.axes) for o in node.operands if isinstance(o.node, Indicator))
        conditions = (at(each.condition, dict(enumerate(map(axis, axes)))) for each, axes in indicators)
        return Contraction({}, tuple(dict.fromkeys(conditions)))

    def entry(self, node: Input, places: Places) -> Expr:
        """A number where it is known."""
        return number(self.values[node.name][places]) if self._knows(node) else super().entry(node, places)

    def read(self, node: Input, places: Places) -> Place:
        """An integer; -1 at a place outside of the input, as in the interpreter."""
        inside = (not isinstance(p, int) or 0 <= p < self.sizes[d] for p, d in zip(places, node.dims, strict=True))
        if not all(inside):
            return 0 if node.over == "relation" else -1
        known = self._knows(node) and all(isinstance(place, int) for place in places)
        return int(self.values[node.name][places]) if known else super().entry(node, places)

    def _knows(self, node: Input) -> bool:
        """A vector on a state shares the state's name, and is not known by it."""
        return node.name in self.values and is_declared(node)


def guarded(condition: Condition, body: Callable[[], Expr], otherwise: Expr = ZERO) -> Expr:
    """A body where a condition holds, else a number.

    A bracket of deltas and steps stands for the condition, and no ``Piecewise``: where a sum holds one, SymPy moves it
    out of sums inside of it as well, away from the indices that its condition reads.
    """
    if isinstance(condition, bool | BooleanAtom):
        return body() if condition else otherwise
    return otherwise + bracket(condition) * (body() - otherwise)


def number(value: Any) -> Expr:
    """A number of an array, exact where it is an integer or a fraction."""
    if isinstance(value, float | np.floating):
        return sympy.Float(float(value))
    return Rational(value.numerator, value.denominator) if hasattr(value, "numerator") else sympy.sympify(value)
