"""Tensors as sums of monomials in canonical form.

A monomial is an exact coefficient times labelled atoms (inputs, scalar functions, softmaxes, indicators, unexpanded
sums), summed over the bound labels. Two tensors with the same normal form are equal at all sizes; the converse need
not hold. Every step is an identity of real numbers wherever the tensors are defined: expansion of products, renaming
of labels, and the identities of :mod:`energyc.proofs.normal_form.simplify`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from energyc.language.network import Structure
from energyc.mathematics.calculus import depends
from energyc.mathematics.ir import (
    ONE,
    Add,
    Coefficient,
    Einsum,
    Graph,
    IndexExpr,
    Input,
    Map,
    Node,
    Reduction,
    Stop,
)
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.fields.conditions import FALSE, TRUE, condition_key
from energyc.proofs.normal_form.atoms import AtomTable, Body, Reading
from energyc.proofs.normal_form.budget import Budget
from energyc.proofs.normal_form.canonical import Factor, Form, Labelling, Symmetry
from energyc.proofs.normal_form.gathers import Gathers
from energyc.proofs.normal_form.readings import axis_orders, read
from energyc.proofs.normal_form.simplify import Monomial, simplified

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Collected:
    """The sum of all equal monomials: ``monomial.coefficient`` times the product with key ``form.key``.

    That product is ``form.sign`` times the factors of ``monomial``, the first of the equal monomials.
    """

    monomial: Monomial
    form: Form


Sum = dict[tuple[Key, Key], Collected]


@dataclass
class Normaliser:
    """Normal forms over one table of atoms. ``keep_sums``: sums without a direction stay unexpanded (the cheap stage).

    With ``divide``, ``x / (1 + x)`` becomes ``1 - 1 / (1 + x)``. Forms hold at all sizes of the dims except those in
    ``pinned``.
    """

    graph: Graph
    budget: Budget
    keep_sums: bool = True
    directions: frozenset[Node] = frozenset()
    structure: Mapping[Input, tuple[Structure, ...]] = field(default_factory=dict)
    pinned: Mapping[str, int] = field(default_factory=dict)
    divide: bool = False
    table: AtomTable = field(default_factory=AtomTable)
    dims: dict[int, str] = field(default_factory=dict)
    _unit_labels: dict[str, int] = field(default_factory=dict)
    _moving: set[Node] = field(default_factory=set)
    _readings: dict[Node, Reading] = field(default_factory=dict)
    _bodies: dict[Node, Body] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start with no function known."""
        self._gathers = Gathers(self.graph)

    def sum_of(self, node: Node) -> tuple[Sum, tuple[int, ...]]:
        """The normal form of a node, and its free labels, one for each dim. Raises OverBudget."""
        self._moving |= depends([node], self.directions)
        labels = tuple(self.fresh(dim) for dim in node.dims)
        return self.collect(self.expand(node, labels), {a: k for k, a in enumerate(labels)}), labels

    def collect(self, monomials: Sequence[Monomial], free: Mapping[int, Any]) -> Sum:
        """Monomials in canonical form, with equal ones added and zeros dropped."""
        total: Sum = {}
        remaining = list(reversed(monomials))
        while remaining:
            monomial = simplified(self, remaining.pop(), set(free))
            quotient = self._divided(monomial) if monomial is not None and self.divide else None
            if quotient is not None:
                remaining += quotient
            elif monomial is not None:
                self._gather(total, monomial, free)
        return {k: c for k, c in total.items() if not c.monomial.coefficient.is_zero}

    def _gather(self, sums: Sum, monomial: Monomial, free: Mapping[int, Any]) -> None:
        form = self.form(monomial.factors, free)
        coefficient = monomial.coefficient.scaled(form.sign)
        key = (form.key, coefficient.powers)
        previous = sums.get(key)
        if previous is None:
            sums[key] = Collected(Monomial(coefficient, monomial.factors), form)
        else:
            value = coefficient.value + previous.monomial.coefficient.value
            sums[key] = Collected(
                Monomial(Coefficient(value, coefficient.powers), previous.monomial.factors), previous.form
            )

    def form(self, factors: Sequence[Factor], free: Mapping[int, Any]) -> Form:
        """The canonical form of a product. Raises OverBudget."""
        used = {a for f in factors for a in f.labels} | set(free)
        dims = {a: self.dims[a] for a in used}
        return Labelling(factors, dims, free, self.table.symmetries, self.table.orbits, self.budget).form()

    def fresh(self, dim: str) -> int:
        """A new label; for a dim pinned to size 1, always the same label."""
        if self.pinned.get(dim) == 1 and dim in self._unit_labels:
            return self._unit_labels[dim]
        self._unit_labels[dim] = len(self.dims)
        self.dims[len(self.dims)] = dim
        return len(self.dims) - 1

    def count(self, dim: str) -> Coefficient:
        """The size of a dim, a number if it is pinned."""
        return self._with_pinned_sizes(Coefficient.symbol(dim))

    def _with_pinned_sizes(self, coefficient: Coefficient) -> Coefficient:
        """A coefficient with the sizes of pinned dims substituted where the result is rational."""
        exact = Coefficient(coefficient.value)
        for name, power in coefficient.powers:
            size = Coefficient(Fraction(self.pinned[name])).power(power) if name in self.pinned else None
            exact = exact * (size or Coefficient.symbol(name, power))
        return exact

    def truth_key(self, condition: IndexExpr, dims: Sequence[str], names: Sequence[int]) -> Key:
        """The normal form of a condition, with axis k named ``names[k]``; its truth table if all sizes are pinned."""
        reads = any(e.op in ("read", "related") for e in condition.walk())
        if reads or not dims or any(dim not in self.pinned for dim in dims):
            return condition_key(condition, names)
        (table,) = evaluate([self.graph.indicator(dims, condition)], {}, sizes=self.pinned)
        turned = np.transpose(table != 0, np.argsort(names))
        return TRUE if turned.all() else ("table", turned.shape, turned.tobytes()) if turned.any() else FALSE

    # ------------------------------------------------------------ expansion

    def expand(self, node: Node, labels: Sequence[int]) -> list[Monomial]:
        """A node with labels for its axes, its outer sums and products expanded. Raises OverBudget."""
        match node:
            case Add():
                return [
                    Monomial(self._with_pinned_sizes(c) * m.coefficient, m.factors)
                    for c, n in node.terms
                    for m in self.expand(n, labels)
                ]
            case Einsum():
                return self._einsum(node, labels)
            case Stop():
                return self.expand(node.argument, labels)
            case Map() | Reduction() if (gathered := self._gathers.outside(node)) is not None:
                return self.expand(gathered, labels)
            case Map() if node.function.exponent is not None:
                return [self._power(node, labels, node.function.exponent)]
        return [self.single(node, labels)]

    def _einsum(self, node: Einsum, labels: Sequence[int]) -> list[Monomial]:
        names = dict(zip(node.out, labels, strict=True))
        summed = {a: self.fresh(node.labels[a]) for a in node.contracted}
        names.update(summed)
        result = [Monomial(self._with_pinned_sizes(node.coefficient), ())]
        for operand in node.operands:
            parts = self._operand(operand.node, [names[a] for a in operand.axes])
            self.budget.spend(len(result) * len(parts))
            result = [Monomial(a.coefficient * b.coefficient, a.factors + b.factors) for a in result for b in parts]
        return [self._times_unused_dims(m, summed.values()) for m in result]

    def _times_unused_dims(self, monomial: Monomial, summed: Any) -> Monomial:
        """The monomial times the size of each summed label that indexes nothing."""
        used = {a for f in monomial.factors for a in f.labels}
        coefficient = monomial.coefficient
        for label in summed:
            if label not in used:
                coefficient = coefficient * self.count(self.dims[label])
        return Monomial(coefficient, monomial.factors)

    def _operand(self, node: Node, labels: Sequence[int]) -> list[Monomial]:
        if isinstance(node, Stop):
            return self._operand(node.argument, labels)
        if isinstance(node, Add) and self.keep_sums and node not in self._moving and self.body(node).terms > 1:
            return [self.single(node, labels)]
        return self.expand(node, labels)

    def single(self, node: Node, labels: Sequence[int]) -> Monomial:
        """A node as a monomial of one atom, with its scale."""
        return Monomial(Coefficient(self.reading(node).scale), (self.factor_of(node, labels),))

    def factor_of(self, node: Node, labels: Sequence[int]) -> Factor:
        """A node as one factor, without its scale, at labels for its axes."""
        reading = self.reading(node)
        return Factor(reading.atom.number, tuple(labels[k] for k in reading.order), Fraction(1))

    def _power(self, node: Map, labels: Sequence[int], exponent: Fraction) -> Monomial:
        """``(lead * base)^p = lead^p * base^p`` if lead is positive or p an integer, and lead^p is rational."""
        powers = self._power_of_product(node.argument, labels, exponent)
        if powers is not None:
            return powers
        plain = self._plain_base(node.argument, labels)
        if plain is not None:
            return Monomial(ONE, (Factor(plain.atom, plain.labels, exponent),))
        body = self.body(node.argument)
        pulled = Coefficient(body.lead).power(exponent) if body.lead > 0 or exponent.denominator == 1 else None
        key, scale = (
            (("sum", body.key), body.lead) if pulled is not None else (("scaled", body.lead, body.key), Fraction(1))
        )
        atom = self.table.intern(key, "sum", node.argument, body.order, body.symmetries, scale=scale)
        places = tuple(labels[k] for k in body.order)
        return Monomial(pulled or ONE, (Factor(atom.number, places, exponent),))

    def _power_of_product(self, node: Node, labels: Sequence[int], exponent: Fraction) -> Monomial | None:
        """``(c x y)^p = c^p x^p y^p`` for an integer p and a product without a sum; None for anything else."""
        if not isinstance(node, Einsum) or node.contracted or exponent.denominator != 1:
            return None
        monomials = self._einsum(node, labels)
        coefficient = monomials[0].coefficient.power(exponent) if len(monomials) == 1 else None
        if coefficient is None or not monomials[0].labels <= set(labels):
            return None
        factors = (Factor(f.atom, f.labels, f.exponent * exponent) for f in monomials[0].factors)
        return Monomial(coefficient, tuple(factors))

    def _divided(self, monomial: Monomial) -> list[Monomial] | None:
        """A product with ``m a^-k``, where ``a = c m + rest``, as ``(a^(1-k) - rest a^-k) / c``; None without one.

        Raises OverBudget.
        """
        for f in monomial.factors:
            if f.exponent < 0 and f.exponent.denominator == 1 and self.table.atoms[f.atom].kind == "sum":
                lead, *rest = self._terms_of(f)
                others = _without(monomial.factors, lead.factors)
                scale = lead.coefficient.power(Fraction(-1))
                if others is not None and scale is not None:
                    self.budget.spend(1 + len(rest))
                    coefficient = monomial.coefficient * scale
                    once = Factor(f.atom, f.labels, Fraction(1))
                    divided = [Monomial(coefficient, (*others, once))]
                    return divided + [Monomial(-coefficient * r.coefficient, others + r.factors) for r in rest]
        return None

    def _terms_of(self, f: Factor) -> list[Monomial]:
        """The terms of a sum that is an atom, that of highest degree first; the sum itself if it has bound labels."""
        atom = self.table.atoms[f.atom]
        places = dict(zip(atom.order, f.labels, strict=True))
        raw = self.expand(atom.node, [places[axis] for axis in range(len(places))])
        terms = [m for m in (simplified(self, m, set(f.labels)) for m in raw) if m is not None]
        if any(not m.labels <= set(f.labels) for m in terms):
            return [Monomial(ONE, (Factor(f.atom, f.labels, Fraction(1)),))]
        free = {label: k for k, label in enumerate(f.labels)}
        terms.sort(key=lambda m: (m.degree, self.form(m.factors, free).key), reverse=True)
        over = Fraction(1) / atom.scale
        return [Monomial(m.coefficient.scaled(over), m.factors) for m in terms]

    def _plain_base(self, node: Node, labels: Sequence[int]) -> Factor | None:
        """The base of a power if it is a single atom with coefficient 1."""
        if isinstance(node, Add | Einsum) or (isinstance(node, Map) and node.function.exponent is not None):
            return None
        monomial = self.expand(node, labels)[0]
        return monomial.factors[0] if monomial.coefficient == ONE and len(monomial.factors) == 1 else None

    def single_factor(self, node: Node, labels: Sequence[int]) -> Factor | None:
        """The atom of which a node is a multiple, with labels for the node's axes; None if there is none."""
        if isinstance(node, Einsum) and (len(node.operands) != 1 or node.contracted):
            return None
        if isinstance(node, Add) or (isinstance(node, Map) and node.function.exponent is not None):
            return None
        monomials = self.expand(node, labels)
        if len(monomials) != 1 or len(monomials[0].factors) != 1 or set(monomials[0].factors[0].labels) != set(labels):
            return None
        return monomials[0].factors[0]

    # ------------------------------------------------------------ bodies of sums

    def body(self, node: Node) -> Body:
        """A node's normal form with its axes in canonical order."""
        if node not in self._bodies:
            self._bodies[node] = self.ordered(node, [0] * len(node.dims))
        return self._bodies[node]

    def ordered(
        self, node: Node, roles: Sequence[int], extra: Sequence[Factor] = (), labels: Sequence[int] | None = None
    ) -> Body:
        """The body with the least key over all orders of the axes that keep dims and roles together.

        The orders that give the same key are its symmetries. ``extra`` factors, on ``labels`` for the axes, are part of
        the key: the guard of a reduction.
        """
        labels = labels or [self.fresh(dim) for dim in node.dims]
        raw = [m for m in (simplified(self, m, set(labels)) for m in self.expand(node, labels)) if m is not None]
        keyed = [(self._keyed(raw, labels, order, extra), order) for order in axis_orders(node.dims, roles)]
        (key, lead, count), order = min(keyed, key=lambda f: (f[0][0], f[1]))
        place = {axis: k for k, axis in enumerate(order)}
        symmetries: list[Symmetry] = []
        for (other, other_lead, _), turned in keyed:
            if other == key and abs(other_lead) == abs(lead):
                symmetries.append((tuple(place[a] for a in turned), 1 if other_lead == lead else -1))
        dims = tuple((node.dims[k], roles[k]) for k in order)
        return Body((dims, key), order, tuple(symmetries), lead, count)

    def _keyed(
        self, raw: Sequence[Monomial], labels: Sequence[int], order: Sequence[int], extra: Sequence[Factor]
    ) -> tuple[Key, Fraction, int]:
        free = {labels[axis]: k for k, axis in enumerate(order)}
        collected = self.collect(raw, free)
        items = sorted(((k, c.monomial.coefficient.value) for k, c in collected.items()), key=lambda i: i[0])
        lead = items[0][1] if items else Fraction(1)
        guard = self.form(extra, free).key if extra else ()
        return (tuple((k, value / lead) for k, value in items), guard), lead, len(items)

    # ------------------------------------------------------------ atoms

    def reading(self, node: Node) -> Reading:
        """A node as one atom."""
        if node not in self._readings:
            self._readings[node] = read(self, node)
        return self._readings[node]


def _without(factors: Sequence[Factor], divisor: Sequence[Factor]) -> tuple[Factor, ...] | None:
    """The factors left after division by a product of positive powers, None where it does not divide them."""
    exponents = {(f.atom, f.labels): f.exponent for f in factors}
    for f in divisor:
        left = exponents.get((f.atom, f.labels), Fraction(0)) - f.exponent
        if f.exponent <= 0 or left < 0:
            return None
        exponents[f.atom, f.labels] = left
    return tuple(Factor(atom, labels, exponent) for (atom, labels), exponent in exponents.items() if exponent)
