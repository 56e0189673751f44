"""Simplifies monomials with the identities below until none applies.

======================================  =====================================================
identity                                holds because
======================================  =====================================================
``x^a x^b = x^(a+b)``                   wherever both are defined
``[c] [c] = [c]``, ``step^2 = step``    they are 0 or 1
``[c and d] = [c] [d]``
``sum_j [i == j] f(j) = f(i)``
``[n == i_e] [m == i_e] = [n == m]``    times the first of them, where i_e is sure to be a place of n
``sum_n [n == i_e] = 1``                likewise
``[n == i_e] [i_e == i_f]``             is ``[n == i_e] [n == i_f]``
``softmax [its guard] = softmax``       its weights outside of the guard are 0 (argmax likewise)
``relu(u) step(u) = relu(u)``           with step(0) = 0 = relu(0)
``u impulse(u) = 0``                    likewise for relu(u) and abs(u) in place of u
``sum_s softmax_s = 1``                 if the guard holds somewhere, otherwise 0
``W_nn = 0``, ``W_nm [n != m] = W_nm``  if W has a zero diagonal
``sum_d P_kd^2 = 1``                    if P is on a sphere along d, or has orthonormal rows
``sum_d Q_kd Q_ld = [k == l]``          if Q has orthonormal rows; along its columns too if it is square
======================================  =====================================================

A summed label that a rewriting removes contributes the size of its dim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, cast

from energyc.mathematics.ir import Coefficient, IndexExpr
from energyc.mathematics.ir.indexing import axis, equal
from energyc.mathematics.sparse.selection import Selection, selection_of, substituted
from energyc.proofs.enclosures.impulses import IMPULSE
from energyc.proofs.fields.conditions import FALSE, TRUE, condition_key
from energyc.proofs.normal_form.canonical import Factor, arranged_labels

if TYPE_CHECKING:
    from energyc.language.network import Structure
    from energyc.mathematics.ir import Graph, Input, Node
    from energyc.proofs.normal_form.atoms import Atom, AtomTable, Reading

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

    @property
    def degree(self) -> Fraction:
        """The sum of the exponents."""
        return sum((f.exponent for f in self.factors), Fraction(0))


class Context(Protocol):
    """The part of a normaliser used by the simplification."""

    graph: Graph
    table: AtomTable
    dims: dict[int, str]
    structure: Mapping[Input, tuple[Structure, ...]]

    def reading(self, node: Node) -> Reading:
        """A node as one atom."""
        ...

    def count(self, dim: str) -> Coefficient:
        """The size of a dim."""
        ...

    def truth_key(self, condition: IndexExpr, dims: Sequence[str], names: Sequence[int]) -> tuple[Any, ...]:
        """The normal form of a condition, with axis k named ``names[k]``."""
        ...


def simplified(context: Context, monomial: Monomial, free: set[int]) -> Monomial | None:
    """The fully simplified monomial, None if it is zero."""
    while True:
        before = monomial
        for step in (
            _split_indicators,
            _merge_powers,
            _eliminate_deltas,
            _eliminate_reads,
            _drop_implied,
            _without_impulses_at_zeros,
            _sum_softmax,
            _use_zero_diagonals,
            _use_directions,
        ):
            result = step(context, monomial, free)
            if result is None:
                return None
            monomial = result
        if monomial == before:
            return monomial


def _atom(context: Context, factor: Factor) -> Atom:
    return context.table.atoms[factor.atom]


def _with_factors(
    context: Context, before: Monomial, factors: Sequence[Factor], free: set[int], eliminated: Sequence[int] = ()
) -> Monomial:
    """The monomial with new factors, times the size of each bound label that disappears, except ``eliminated`` ones."""
    after = Monomial(before.coefficient, tuple(factors))
    coefficient = before.coefficient
    for label in sorted(before.labels - after.labels - free - set(eliminated)):
        coefficient = coefficient * context.count(context.dims[label])
    return Monomial(coefficient, after.factors)


def _split_indicators(context: Context, monomial: Monomial, free: set[int]) -> Monomial | None:
    """Indicators split at ``and``, on distinct labels, with true ones dropped; None if one is false."""
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
    return _with_factors(context, monomial, factors, free)


def indicator_factors(context: Context, condition: IndexExpr, labels: Sequence[int]) -> list[Factor] | None:
    """A condition on labels as a product of indicators, None if it is false."""
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


def _merge_powers(context: Context, monomial: Monomial, free: set[int]) -> Monomial:
    """Powers of an atom at the same labels merged into one factor."""
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
    return _with_factors(context, signed, factors, free)


def _eliminate_deltas(context: Context, monomial: Monomial, free: set[int]) -> Monomial:
    """Eliminate ``[i == j]`` with a bound label by renaming that label to the other."""
    for k, f in enumerate(monomial.factors):
        atom = _atom(context, f)
        if atom.guard is None or atom.kind != "indicator" or len(f.labels) != 2 or not _is_delta(atom):
            continue
        a, b = f.labels
        bound, other = (b, a) if b not in free else (a, b)
        if bound in free or context.dims[a] != context.dims[b]:
            continue
        rest = [_renamed(g, bound, other) for j, g in enumerate(monomial.factors) if j != k]
        return _with_factors(context, monomial, rest, free, eliminated=(bound,))
    return monomial


def _eliminate_reads(context: Context, monomial: Monomial, free: set[int]) -> Monomial | None:
    """Labels that are read, ``[n == i_e]``: equal ones merged, unused ones summed, what others read of them put in."""
    reads = [(k, read) for k, f in enumerate(monomial.factors) if (read := _selection(context, f)) is not None]
    heads: dict[IndexExpr, int] = {}
    for k, read in reads:
        if _index_nothing_else(monomial, k, [read.head], free):
            rest = [g for j, g in enumerate(monomial.factors) if j != k]
            return _with_factors(context, monomial, rest, free, eliminated=(read.head,))
        other = heads.setdefault(read.place, read.head)
        bound, kept = (read.head, other) if read.head not in free else (other, read.head)
        if bound != kept and bound not in free:
            renamed = [_renamed(g, bound, kept) for g in monomial.factors]
            return _with_factors(context, monomial, renamed, free, eliminated=(bound,))
    for k, read in reads:
        for j, g in enumerate(monomial.factors):
            condition = _condition(context, g) if j != k else None
            known = condition and _where_read(condition, read)
            if known is not None and known != condition:
                parts = indicator_factors(context, known, range(max(known.axes()) + 1))
                if parts is None:
                    return None
                others = [h for i, h in enumerate(monomial.factors) if i != j]
                return _with_factors(context, monomial, [*others, *parts], free)
    return monomial


def _condition(context: Context, factor: Factor) -> IndexExpr | None:
    """The condition of an indicator that reads inputs, over labels."""
    atom = _atom(context, factor)
    if atom.kind != "indicator" or atom.guard is None or not atom.guard.inputs:
        return None
    return atom.guard.renumbered(dict(enumerate(factor.labels)))


def _selection(context: Context, factor: Factor) -> Selection | None:
    condition, dims = _condition(context, factor), _atom(context, factor).dims
    return None if condition is None else selection_of(condition, dict(zip(factor.labels, dims, strict=True)))


def _where_read(condition: IndexExpr, read: Selection) -> IndexExpr:
    """A condition where a selection holds: ``i[n]`` is ``i[i_e]``, and ``i_e == i_f`` is ``n == i_f``."""
    if condition.op == "==" and read.place in condition.parts and all(p.op == "read" for p in condition.parts):
        return equal(axis(read.head), *(p for p in condition.parts if p != read.place))
    parts = [substituted(part, read) if part.op == "read" else part for part in condition.parts]
    return IndexExpr(condition.op, tuple(parts)) if condition.op == "==" else condition


def _is_delta(atom: Atom) -> bool:
    assert atom.guard is not None
    return condition_key(atom.guard, (0, 1)) == condition_key(IndexExpr("==", (axis(0), axis(1))), (0, 1))


def _renamed(factor: Factor, old: int, new: int) -> Factor:
    return Factor(factor.atom, tuple(new if a == old else a for a in factor.labels), factor.exponent)


def _drop_implied(context: Context, monomial: Monomial, free: set[int]) -> Monomial | None:
    """Drop guards that a softmax already satisfies, and steps next to the relu of the same argument."""
    implied: set[Factor] = set()
    for f in monomial.factors:
        atom = _atom(context, f)
        if atom.kind in ("softmax", "argmax") and atom.guard is not None and f.exponent > 0:
            guards = indicator_factors(context, atom.guard, f.labels)
            if guards is None:
                return None
            implied.update(_arranged(context, g) for g in guards)
    relus = {
        (_atom(context, f).argument, f.labels)
        for f in monomial.factors
        if _atom(context, f).kind == "relu" and f.exponent > 0
    }
    remaining = [
        f
        for f in monomial.factors
        if _arranged(context, f) not in implied
        and not (_atom(context, f).kind == "step" and (_atom(context, f).argument, f.labels) in relus)
    ]
    return _with_factors(context, monomial, remaining, free)


def _without_impulses_at_zeros(context: Context, monomial: Monomial, free: set[int]) -> Monomial | None:
    """None if a factor vanishes at an impulse. Raises NotImplementedError if a factor jumps there."""
    for f in monomial.factors:
        impulse = _atom(context, f)
        if impulse.kind != IMPULSE:
            continue
        same_argument = [g for g in monomial.factors if g.atom != f.atom and _same_argument(_atom(context, g), impulse)]
        base = impulse.base and Factor(impulse.base.atom, tuple(f.labels[k] for k in impulse.base.labels), ONE)
        powers = [g for g in monomial.factors if base and (g.atom, g.labels) == (base.atom, base.labels)]
        corners = [g for g in same_argument if _atom(context, g).kind in ("relu", "abs") and g.labels == f.labels]
        if any(g.exponent > 0 for g in (*powers, *corners)):
            return None
        if f.exponent != 1 or any(_atom(context, g).kind in ("step", "sign") for g in same_argument):
            raise NotImplementedError("a jump and the slope of a jump at one place have no product")
    return monomial


def _same_argument(first: Atom, second: Atom) -> bool:
    """Whether two functions have the same argument, up to a factor."""
    return first.argument is not None and second.argument is not None and first.argument[1:] == second.argument[1:]


def _arranged(context: Context, factor: Factor) -> Factor:
    labels, _ = arranged_labels(factor.labels, factor.exponent, context.table.symmetries[factor.atom])
    return Factor(factor.atom, labels, factor.exponent)


def _sum_softmax(context: Context, monomial: Monomial, free: set[int]) -> Monomial:
    """Replace a softmax summed over labels that index nothing else by 1, or by whether its guard holds somewhere."""
    for k, f in enumerate(monomial.factors):
        atom = _atom(context, f)
        summed = [f.labels[a] for a in atom.reduced]
        if (
            atom.kind not in ("softmax", "argmax")
            or f.exponent != 1
            or not _index_nothing_else(monomial, k, summed, free)
        ):
            continue
        rest = [g for j, g in enumerate(monomial.factors) if j != k]
        if atom.guard is None or _guard_is_reflexive(atom):
            return _with_factors(context, monomial, rest, free, eliminated=summed)
        return _with_factors(
            context, monomial, [*rest, _guard_holds_somewhere(context, atom, f.labels)], free, eliminated=summed
        )
    return monomial


def _index_nothing_else(monomial: Monomial, k: int, summed: Sequence[int], free: set[int]) -> bool:
    elsewhere = {a for j, g in enumerate(monomial.factors) if j != k for a in g.labels}
    labels = monomial.factors[k].labels
    return len(set(summed)) == len(summed) and all(
        a not in free and a not in elsewhere and labels.count(a) == 1 for a in summed
    )


def _guard_is_reflexive(atom: Atom) -> bool:
    """Whether the guard always holds where the summed axis equals some other axis, so that it is never empty."""
    assert atom.guard is not None
    if len(atom.reduced) != 1:
        return False
    (summed,) = atom.reduced
    others = [k for k, dim in enumerate(atom.dims) if k != summed and dim == atom.dims[summed]]
    names = range(len(atom.dims))
    return any(condition_key(atom.guard, [k if a == summed else a for a in names]) == TRUE for k in others)


def _guard_holds_somewhere(context: Context, atom: Atom, labels: Sequence[int]) -> Factor:
    """The indicator that the guard holds at some position of the summed axes: the maximum of its values."""
    assert atom.guard is not None
    axes = sorted(atom.guard.axes())
    condition = atom.guard.renumbered({a: k for k, a in enumerate(axes)})
    indicator = context.graph.indicator([atom.dims[a] for a in axes], condition)
    summed = [k for k, a in enumerate(axes) if a in atom.reduced]
    node = context.graph.max(indicator, summed) if summed else indicator
    remaining = [labels[a] for a in axes if a not in atom.reduced]
    reading = context.reading(node)
    return Factor(reading.atom.number, tuple(remaining[k] for k in reading.order), ONE)


# ---------------------------------------------------------------- params with structure


def _structures(context: Context, factor: Factor, *kinds: str) -> Iterator[Structure]:
    """The sets of these kinds that a factor is on, if it is a param."""
    parts = context.structure.get(cast("Input", _atom(context, factor).node), ())
    return (part for part in parts if part.kind in kinds)


def _use_zero_diagonals(context: Context, monomial: Monomial, free: set[int]) -> Monomial | None:
    """None if a factor is on its zero diagonal; without the guards that only keep others off theirs."""
    kept_off: set[frozenset[int]] = set()
    for f in monomial.factors:
        for part in _structures(context, f, "zero_diagonal") if f.exponent > 0 else ():
            pairs = [{f.labels[row], f.labels[column]} for row, column in zip(part.rows, part.columns, strict=True)]
            if all(len(pair) == 1 for pair in pairs):
                return None
            kept_off |= {frozenset(pairs[0])} if len(pairs) == 1 else set()
    remaining = [f for f in monomial.factors if frozenset(f.labels) not in kept_off or not _is_unequal(context, f)]
    return _with_factors(context, monomial, remaining, free)


def _is_unequal(context: Context, factor: Factor) -> bool:
    atom = _atom(context, factor)
    unequal = condition_key(IndexExpr("!=", (axis(0), axis(1))), (0, 1))
    return atom.kind == "indicator" and atom.guard is not None and condition_key(atom.guard, (0, 1)) == unequal


def _use_directions(context: Context, monomial: Monomial, free: set[int]) -> Monomial:
    """Replace the scalar product of a direction with itself, or with another of its matrix, by what it is."""
    for k, f in enumerate(monomial.factors):
        for part in _structures(context, f, "sphere", "orthogonal"):
            for along in _directions(context, f, part):
                result = _one(context, monomial, k, along, free) or _delta(context, monomial, k, part, along, free)
                if result is not None:
                    return result
    return monomial


def _directions(context: Context, factor: Factor, part: Structure) -> list[tuple[int, ...]]:
    """The axes along which there are unit vectors: those of the columns, of a square matrix also those of the rows."""
    dims = _atom(context, factor).dims
    square = part.kind == "orthogonal" and [dims[k] for k in part.rows] == [dims[k] for k in part.columns]
    return [part.columns, part.rows] if square else [part.columns]


def _one(context: Context, monomial: Monomial, k: int, along: Sequence[int], free: set[int]) -> Monomial | None:
    """Without the k-th factor where it is a square summed along a direction, which is 1."""
    f = monomial.factors[k]
    summed = [f.labels[a] for a in along]
    if f.exponent != 2 or not _index_nothing_else(monomial, k, summed, free):
        return None
    rest = [g for j, g in enumerate(monomial.factors) if j != k]
    return _with_factors(context, monomial, rest, free, eliminated=summed)


def _delta(
    context: Context, monomial: Monomial, k: int, part: Structure, along: Sequence[int], free: set[int]
) -> Monomial | None:
    """With a delta in the place of two rows, or columns, of one orthogonal matrix summed along them; None without."""
    f = monomial.factors[k]
    if part.kind != "orthogonal" or f.exponent != 1:
        return None
    (summed,), (across,) = along, part.rows if along == part.columns else part.columns
    for j, g in enumerate(monomial.factors):
        same = [a == b for a, b in zip(f.labels, g.labels, strict=True)] if g.atom == f.atom else []
        if j <= k or g.exponent != 1 or not same or same.count(False) != 1 or same[across]:
            continue
        label, rest = f.labels[summed], [h for i, h in enumerate(monomial.factors) if i not in (j, k)]
        counts = f.labels.count(label) == g.labels.count(label) == 1
        if label not in free and counts and all(label not in h.labels for h in rest):
            equal = IndexExpr("==", (axis(0), axis(1)))
            deltas = indicator_factors(context, equal, (f.labels[across], g.labels[across]))
            return None if deltas is None else _with_factors(context, monomial, [*rest, *deltas], free, (label,))
    return None
