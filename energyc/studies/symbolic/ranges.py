"""Sums over indices: for all sizes, as ``Sum`` over symbolic indices; or written out, a term for each place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Integer, Rational, Sum

from energyc.derivation.notation.contraction import Contraction, at
from energyc.derivation.notation.indices import IndexNames
from energyc.mathematics.ir import Coefficient, Einsum, Indicator, Input
from energyc.mathematics.ir.indexing import axis
from energyc.studies.symbolic.functions import rational
from energyc.studies.symbolic.indices import Condition, Place, Places, both
from energyc.studies.symbolic.symbols import Symbols, element, is_declared

#: The names of the indices that surround an element.
Scope = frozenset[str]
Body = Callable[[Places, Scope], Any]


@dataclass(frozen=True)
class Axis:
    """What an index runs over, and what it would best be called."""

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
    def nowhere(self, axes: Sequence[Axis], scope: Scope, condition: Body) -> Condition:
        """Whether a condition holds at no place along some axes."""

    @abstractmethod
    def contraction(self, node: Einsum) -> Contraction:
        """Which labels of an einsum are given by others, and the conditions that are left."""

    def factor(self, coefficient: Coefficient) -> Expr:
        """An exact factor."""
        product: Expr = rational(coefficient.value)
        for name, power in coefficient.powers:
            base = self.symbols.consts[name] if name in self.symbols.consts else self.size(name)
            product *= sympy.sympify(base) ** rational(power)
        return product

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
        if not axes:
            return body((), scope)
        chosen = self._fresh(axes, scope)
        places = tuple(map(self.symbols.index, chosen))
        inner = body(places, scope | set(chosen))
        limits = [(place, 0, self.size(axis.dim) - 1) for place, axis in zip(places, axes, strict=True)]
        return inner if inner == 0 else Sum(inner, *limits)

    def nowhere(self, axes: Sequence[Axis], scope: Scope, condition: Body) -> Condition:
        """The number of places where it holds is 0."""
        count = self.sum(axes, scope, lambda places, inner: guarded(condition(places, inner), lambda: Integer(1)))
        return sympy.Eq(count, 0)

    def contraction(self, node: Einsum) -> Contraction:
        """As many labels as can be are solved for: ``x[2*i + p]`` in place of a sum."""
        return Contraction.of(node, self.sizes)

    def _fresh(self, axes: Sequence[Axis], scope: Scope) -> list[str]:
        chosen: list[str] = []
        for axis in axes:
            chosen.append(self.names.fresh(axis.dim, scope | set(chosen), axis.wish))
        return chosen


@dataclass(frozen=True)
class Written(Ranges):
    """At given sizes; inputs of which ``values`` are known appear as numbers."""

    sizes: Mapping[str, int]
    values: Mapping[str, np.ndarray] = field(default_factory=dict)

    def size(self, dim: str) -> Place:
        """The size."""
        return self.sizes[dim]

    def places(self, dims: Sequence[str]) -> product[tuple[int, ...]]:
        """Every place of a tensor."""
        return product(*(range(self.sizes[dim]) for dim in dims))

    def sum(self, axes: Sequence[Axis], scope: Scope, body: Body) -> Expr:
        """A term for each place."""
        return sympy.Add(*(body(places, scope) for places in self.places([axis.dim for axis in axes])))

    def nowhere(self, axes: Sequence[Axis], scope: Scope, condition: Body) -> Condition:
        """It is false at each place."""
        return both([sympy.Not(condition(places, scope)) for places in self.places([axis.dim for axis in axes])])

    def contraction(self, node: Einsum) -> Contraction:
        """Nothing is solved for: a condition on numbers is true or false."""
        conditions = (
            at(o.node.condition, dict(enumerate(map(axis, o.axes))))
            for o in node.operands
            if isinstance(o.node, Indicator)
        )
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


def guarded(condition: Condition, body: Callable[[], Expr]) -> Expr:
    """A body where a condition holds, else 0."""
    if condition in (True, False):
        return body() if condition else Integer(0)
    value = body()
    return value if value == 0 else sympy.Piecewise((value, condition), (Integer(0), True), evaluate=False)


def number(value: Any) -> Expr:
    """A number of an array, exact where it is an integer or a fraction."""
    if isinstance(value, float | np.floating):
        return sympy.Float(float(value))
    return Rational(value.numerator, value.denominator) if hasattr(value, "numerator") else sympy.sympify(value)

