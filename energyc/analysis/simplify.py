"""The identities that a monomial is brought to rest with.

======================================  =====================================================
identity                                holds because
======================================  =====================================================
``x^a x^b = x^(a+b)``                   wherever both are defined
``[c] [c] = [c]``, ``step^2 = step``    they are 0 or 1
``[c and d] = [c] [d]``
``sum_j [i == j] f(j) = f(i)``
``softmax [its guard] = softmax``       its weights outside of the guard are 0 (argmax likewise)
``relu(u) step(u) = relu(u)``           with step(0) = 0 = relu(0)
``u impulse(u) = 0``                    and of relu(u), abs(u) in the place of u
``sum_s softmax_s = 1``                 where the guard is somewhere true, else 0
======================================  =====================================================

A label that is summed over and is lost on the way is worth its dim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from energyc.analysis.canonical import Factor, arranged_labels
from energyc.analysis.conditions import FALSE, TRUE, condition_key
from energyc.analysis.impulses import IMPULSE
from energyc.ir import Coefficient, IndexExpr
from energyc.ir.indexing import axis

if TYPE_CHECKING:
    from energyc.analysis.atoms import Atom, AtomTable, Reading
    from energyc.ir import Graph, Node

ONE = Fraction(1)


@dataclass(frozen=True)
class Monomial:
    """``coefficient * product of factors``, to be summed over every label that is not free."""

    coefficient: Coefficient
    factors: tuple[Factor, ...]

    @property
    def labels(self) -> set[int]:
        """The labels that index something."""
        return {a for f in self.factors for a in f.labels}


class Context(Protocol):
    """What simplifying needs of a normaliser."""

    graph: Graph
    table: AtomTable
    dims: dict[int, str]

    def reading(self, node: Node) -> Reading:
        """A node as one atom."""
        ...

    def count(self, dim: str) -> Coefficient:
        """The size of a dim."""
        ...

    def truth_key(self, condition: IndexExpr, dims: Sequence[str], names: Sequence[int]) -> tuple[Any, ...]:
        """A condition's normal form, with axis k called ``names[k]``."""
        ...


def simplified(context: Context, monomial: Monomial, free: set[int]) -> Monomial | None:
    """The monomial at rest; None where it is zero."""
    while True:
        before = monomial
        for step in (_indicators, _merged, _identified, _absorbed, _without_impulses_at_zeros, _summed_softmax):
            found = step(context, monomial, free)
            if found is None:
                return None
            monomial = found
        if monomial == before:
            return monomial


def _atom(context: Context, factor: Factor) -> Atom:
    return context.table.atoms[factor.atom]


def _recounted(
    context: Context, before: Monomial, factors: Sequence[Factor], free: set[int], gone: Sequence[int] = ()
) -> Monomial:
    """New factors; a bound label that is lost, other than those in ``gone``, is worth its dim."""
    after = Monomial(before.coefficient, tuple(factors))
    coefficient = before.coefficient
    for label in sorted(before.labels - after.labels - free - set(gone)):
        coefficient = coefficient * context.count(context.dims[label])
    return Monomial(coefficient, after.factors)


def _indicators(context: Context, monomial: Monomial, free: set[int]) -> Monomial | None:
    """Indicators split at ``and``, on distinct labels, without those that are true; None with one that is false."""
    factors: list[Factor] = []
    for f in monomial.factors:
        atom = _atom(context, f)
        if atom.kind != "indicator" or atom.guard is None:
            factors.append(f)
            continue
        parts = indicator_factors(context, atom.guard, f.labels)
        if parts is None:
            return None
        factors += parts
    return _recounted(context, monomial, factors, free)


def indicator_factors(context: Context, condition: IndexExpr, labels: Sequence[int]) -> list[Factor] | None:
    """A condition on labels as a product of indicators; None where it is false."""
    if condition.op == "and":
        parts = [indicator_factors(context, part, labels) for part in condition.parts]
        return None if any(p is None for p in parts) else [f for p in parts if p is not None for f in p]
    places = sorted({labels[k] for k in condition.axes()})
    renumbered = condition.renumbered({k: places.index(labels[k]) for k in condition.axes()})
    key = context.truth_key(renumbered, [context.dims[a] for a in places], range(len(places)))
    if key == FALSE:
        return None
    if key == TRUE:
        return []
    node = context.graph.indicator([context.dims[a] for a in places], renumbered)
    reading = context.reading(node)
    return [Factor(reading.atom.number, tuple(places[k] for k in reading.order), ONE)]


def _merged(context: Context, monomial: Monomial, free: set[int]) -> Monomial:
    """Powers of one atom at the same labels as one factor."""
    exponents: dict[tuple[int, tuple[int, ...]], Fraction] = {}
    sign = 1
    for f in monomial.factors:
        labels, s = arranged_labels(f.labels, f.exponent, context.table.symmetries[f.atom])
        sign *= s
        exponents[f.atom, labels] = exponents.get((f.atom, labels), Fraction(0)) + f.exponent
    idempotent = {"indicator", "step", "argmax"}
    factors = [
        Factor(number, labels, ONE if context.table.atoms[number].kind in idempotent and exponent > 0 else exponent)
        for (number, labels), exponent in exponents.items()
        if exponent
    ]
    signed = Monomial(monomial.coefficient.scaled(sign), monomial.factors)
    return _recounted(context, signed, factors, free)


def _identified(context: Context, monomial: Monomial, free: set[int]) -> Monomial:
    """``[i == j]`` with one of the two bound: the bound one is the other."""
    for k, f in enumerate(monomial.factors):
        atom = _atom(context, f)
        if atom.guard is None or atom.kind != "indicator" or len(f.labels) != 2 or not _is_delta(atom):
            continue
        a, b = f.labels
        bound, other = (b, a) if b not in free else (a, b)
        if bound in free or context.dims[a] != context.dims[b]:
            continue
        rest = [_renamed(g, bound, other) for j, g in enumerate(monomial.factors) if j != k]
        return _recounted(context, monomial, rest, free, gone=(bound,))
    return monomial


def _is_delta(atom: Atom) -> bool:
    assert atom.guard is not None
    return condition_key(atom.guard, (0, 1)) == condition_key(IndexExpr("==", (axis(0), axis(1))), (0, 1))


def _renamed(factor: Factor, old: int, new: int) -> Factor:
    return Factor(factor.atom, tuple(new if a == old else a for a in factor.labels), factor.exponent)


def _absorbed(context: Context, monomial: Monomial, free: set[int]) -> Monomial | None:
    """Guards that a softmax already obeys, and steps beside their relu, are left out."""
    obeyed: set[Factor] = set()
    for f in monomial.factors:
        atom = _atom(context, f)
        if atom.kind in ("softmax", "argmax") and atom.guard is not None and f.exponent > 0:
            guards = indicator_factors(context, atom.guard, f.labels)
            if guards is None:
                return None
            obeyed.update(_arranged(context, g) for g in guards)
    relus = {
        (_atom(context, f).argument, f.labels)
        for f in monomial.factors
        if _atom(context, f).kind == "relu" and f.exponent > 0
    }
    kept = [
        f
        for f in monomial.factors
        if _arranged(context, f) not in obeyed
        and not (_atom(context, f).kind == "step" and (_atom(context, f).argument, f.labels) in relus)
    ]
    return _recounted(context, monomial, kept, free)


def _without_impulses_at_zeros(context: Context, monomial: Monomial, free: set[int]) -> Monomial | None:
    """None where a factor vanishes at an impulse. Raises NotImplementedError where a factor jumps there."""
    for f in monomial.factors:
        impulse = _atom(context, f)
        if impulse.kind != IMPULSE:
            continue
        beside = [g for g in monomial.factors if g.atom != f.atom and _same_argument(_atom(context, g), impulse)]
        base = impulse.base and Factor(impulse.base.atom, tuple(f.labels[k] for k in impulse.base.labels), ONE)
        powers = [g for g in monomial.factors if base and (g.atom, g.labels) == (base.atom, base.labels)]
        corners = [g for g in beside if _atom(context, g).kind in ("relu", "abs") and g.labels == f.labels]
        if any(g.exponent > 0 for g in (*powers, *corners)):
            return None
        if f.exponent != 1 or any(_atom(context, g).kind in ("step", "sign") for g in beside):
            raise NotImplementedError("a jump and the slope of a jump at one place have no product")
    return monomial


def _same_argument(one: Atom, other: Atom) -> bool:
    """Whether two functions are of the same argument, up to a factor."""
    return one.argument is not None and other.argument is not None and one.argument[1:] == other.argument[1:]


def _arranged(context: Context, factor: Factor) -> Factor:
    labels, _ = arranged_labels(factor.labels, factor.exponent, context.table.symmetries[factor.atom])
    return Factor(factor.atom, labels, factor.exponent)


def _summed_softmax(context: Context, monomial: Monomial, free: set[int]) -> Monomial:
    """A softmax whose summed labels index nothing else is 1, or whether its guard is true anywhere."""
    for k, f in enumerate(monomial.factors):
        atom = _atom(context, f)
        summed = [f.labels[a] for a in atom.reduced]
        if atom.kind not in ("softmax", "argmax") or f.exponent != 1 or not _only_here(monomial, k, summed, free):
            continue
        rest = [g for j, g in enumerate(monomial.factors) if j != k]
        if atom.guard is None or _reflexive(atom):
            return _recounted(context, monomial, rest, free, gone=summed)
        return _recounted(context, monomial, [*rest, _somewhere(context, atom, f.labels)], free, gone=summed)
    return monomial


def _only_here(monomial: Monomial, k: int, summed: Sequence[int], free: set[int]) -> bool:
    elsewhere = {a for j, g in enumerate(monomial.factors) if j != k for a in g.labels}
    labels = monomial.factors[k].labels
    return len(set(summed)) == len(summed) and all(
        a not in free and a not in elsewhere and labels.count(a) == 1 for a in summed
    )


def _reflexive(atom: Atom) -> bool:
    """Whether the guard holds where the summed axis equals some other axis, so that it is never empty."""
    assert atom.guard is not None
    if len(atom.reduced) != 1:
        return False
    (summed,) = atom.reduced
    others = [k for k, dim in enumerate(atom.dims) if k != summed and dim == atom.dims[summed]]
    names = range(len(atom.dims))
    return any(condition_key(atom.guard, [k if a == summed else a for a in names]) == TRUE for k in others)


def _somewhere(context: Context, atom: Atom, labels: Sequence[int]) -> Factor:
    """Whether the guard is true for some position of the summed axes: the largest of its values."""
    assert atom.guard is not None
    axes = sorted(atom.guard.axes())
    condition = atom.guard.renumbered({a: k for k, a in enumerate(axes)})
    indicator = context.graph.indicator([atom.dims[a] for a in axes], condition)
    summed = [k for k, a in enumerate(axes) if a in atom.reduced]
    node = context.graph.max(indicator, summed) if summed else indicator
    kept = [labels[a] for a in axes if a not in atom.reduced]
    reading = context.reading(node)
    return Factor(reading.atom.number, tuple(kept[k] for k in reading.order), ONE)
