"""Turns nodes into atoms: the key that identifies an atom, and the symmetries of its axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby, islice, permutations, product
from typing import Any, Protocol

from energyc.language.network import Structure
from energyc.mathematics.ir import (
    Add,
    BatchStatistic,
    IndexExpr,
    Indicator,
    Input,
    Map,
    Node,
    NoRule,
    Position,
    Reduction,
)
from energyc.proofs.enclosures.impulses import IMPULSE
from energyc.proofs.fields.conditions import linear, negative
from energyc.proofs.fields.structured import symmetries
from energyc.proofs.normal_form.atoms import AtomTable, Body, Reading
from energyc.proofs.normal_form.canonical import Factor, Symmetry

Key = tuple[Any, ...]
PERMUTATIONS = 24


class Normalising(Protocol):
    """The part of a normaliser used to read a node: its table of atoms, and the normal forms of arguments."""

    table: AtomTable
    structure: Mapping[Input, tuple[Structure, ...]]

    def fresh(self, dim: str) -> int:
        """A new label."""
        ...

    def factor_of(self, node: Node, labels: Sequence[int]) -> Factor:
        """A node as one factor, at labels for its axes."""
        ...

    def single_factor(self, node: Node, labels: Sequence[int]) -> Factor | None:
        """The atom of which a node is a multiple, with labels for the node's axes; None if there is none."""
        ...

    def truth_key(self, condition: IndexExpr, dims: Sequence[str], names: Sequence[int]) -> Key:
        """The normal form of a condition, with axis k named ``names[k]``."""
        ...

    def body(self, node: Node) -> Body:
        """A node's normal form with its axes in canonical order."""
        ...

    def ordered(
        self, node: Node, roles: Sequence[int], extra: Sequence[Factor] = (), labels: Sequence[int] | None = None
    ) -> Body:
        """The body with the least key over all orders of the axes that keep dims and roles together."""
        ...


def read(normaliser: Normalising, node: Node) -> Reading:
    """A node as one atom. Raises OverBudget."""
    match node:
        case Input():
            return _input(normaliser, node)
        case Map():
            return _map(normaliser, node)
        case Reduction():
            return _reduction(normaliser, node)
        case Indicator() | Position():
            return _condition(normaliser, node)
        case Add():
            return _sum(normaliser, node)
        case BatchStatistic():
            return _batch_statistic(normaliser, node)
    raise NoRule("normal form", node)


def _input(normaliser: Normalising, node: Input) -> Reading:
    order = tuple(range(len(node.dims)))
    turned = [(axes, 1) for axes in symmetries(normaliser.structure.get(node, ()), len(node.dims))]
    key = ("input", node.kind, node.name)
    return Reading(normaliser.table.intern(key, "input", node, order, turned), order)


def _batch_statistic(normaliser: Normalising, node: BatchStatistic) -> Reading:
    body = normaliser.body(node.argument)
    key = ("batch", node.kind, body.key)
    atom = normaliser.table.intern(key, f"batch {node.kind}", node, body.order, body.symmetries, scale=body.lead)
    return Reading(atom, body.order, body.lead)


def _sum(normaliser: Normalising, node: Add) -> Reading:
    body = normaliser.body(node)
    key = ("sum", body.key)
    atom = normaliser.table.intern(key, "sum", node, body.order, body.symmetries, scale=body.lead)
    return Reading(atom, body.order, body.lead)


def _map(normaliser: Normalising, node: Map) -> Reading:
    """A function as an atom, without the sign of its argument if it has a parity, nor the size if it is homogeneous."""
    body = normaliser.body(node.argument)
    function = _function_key(normaliser, node)
    kind = str(function[0])
    parity, degree = _parity_and_degree(node)
    lead, scale = _lead_and_scale(body.lead, parity, degree)
    symmetries = body.symmetries if parity == -1 else body.even
    if parity == 1:
        symmetries = tuple((axes, 1) for axes, _ in body.symmetries)
    base = _base_factor(normaliser, node.argument, body) if kind == IMPULSE else None
    more = {"argument": (lead, body.key), "base": base}
    key = (function, more["argument"])
    atom = normaliser.table.intern(key, kind, node, body.order, symmetries, scale=scale, more=more)
    return Reading(atom, body.order, scale)


def _parity_and_degree(node: Map) -> tuple[int, int | None]:
    """The parity in ``f(-u) = parity f(u)``, and the k in ``f(c u) = c^k f(u)`` for c > 0, None if there is none."""
    if node.function.named(IMPULSE):
        return 1, -1
    if node.function.slope is not None:
        return 0, None
    entry = node.function.entry
    return entry.parity, entry.homogeneous.degree if entry.homogeneous else None


def _lead_and_scale(lead: Fraction, parity: int, degree: int | None) -> tuple[Fraction, Fraction]:
    """The lead that stays in the argument, and the scale by which the function is then multiplied."""
    scale = Fraction(-1 if parity == -1 and lead < 0 else 1)
    remaining = abs(lead) if parity else lead
    if degree is not None and lead:
        return remaining / abs(lead), scale * abs(lead) ** degree
    return remaining, scale


def _base_factor(normaliser: Normalising, argument: Node, body: Body) -> Factor | None:
    """The atom of which an argument is a multiple, labelled by the axes of the body; None if there is none."""
    labels = [normaliser.fresh(dim) for dim in argument.dims]
    factor = normaliser.single_factor(argument, labels)
    if factor is None:
        return None
    places = {labels[axis]: k for k, axis in enumerate(body.order)}
    return Factor(factor.atom, tuple(places[a] for a in factor.labels), factor.exponent)


def _function_key(normaliser: Normalising, node: Map) -> Key:
    function = node.function
    if function.slope is None:
        return (function.name, function.exponent)
    primitive = function.primitive and normaliser.body(function.primitive)
    slope = normaliser.body(function.slope)
    return ("potential", slope.lead, slope.key, primitive and (primitive.lead, primitive.key))


def _reduction(normaliser: Normalising, node: Reduction) -> Reading:
    """The key of a reduction is its argument and guard, with the reduced axes marked and last."""
    dims = node.argument.dims
    roles = [int(k in node.axes) for k in range(len(dims))]
    labels = [normaliser.fresh(dim) for dim in dims]
    guard = node.guard
    extra = (normaliser.factor_of(guard.indicator, [labels[a] for a in guard.axes]),) if guard else ()
    body = normaliser.ordered(node.argument, roles, extra, labels)
    kind = node.operator
    key = (kind, body.lead, body.key)
    if node.keeps_axes:
        atom = normaliser.table.intern(key, kind, node, body.order, body.even, more=_weight_details(node, body))
        return Reading(atom, body.order)
    remaining = [k for k in range(len(dims)) if k not in node.axes]
    order = tuple(remaining.index(a) for a in body.order[: len(remaining)])
    atom = normaliser.table.intern(key, kind, node, order, _restricted(body.even, len(remaining)))
    return Reading(atom, order)


def _weight_details(node: Reduction, body: Body) -> dict[str, Any]:
    """The axes along which weights sum to one, and the condition outside of which they are zero."""
    place = {axis: k for k, axis in enumerate(body.order)}
    guard = node.guard
    condition = guard and guard.indicator.condition.renumbered({k: place[a] for k, a in enumerate(guard.axes)})
    return {"reduced": tuple(place[a] for a in node.axes), "guard": condition}


def _restricted(symmetries: Sequence[Symmetry], rank: int) -> tuple[Symmetry, ...]:
    """Symmetries restricted to the first axes, those that a reduction keeps."""
    return tuple((axes[:rank], sign) for axes, sign in symmetries)


def _condition(normaliser: Normalising, node: Indicator | Position) -> Reading:
    """The key of an indicator or position is the least normal form of its value over the orders of the axes."""
    forms = [(order, _value_key(normaliser, node, order)) for order in axis_orders(node.dims, [0] * len(node.dims))]
    order, form = min(forms, key=lambda pair: (repr(pair[1]), pair[0]))
    place = {axis: k for k, axis in enumerate(order)}
    opposite = negative(form) if isinstance(node, Position) else None
    symmetries = [
        (tuple(place[a] for a in turned), 1 if other == form else -1)
        for turned, other in forms
        if other in (form, opposite)
    ]
    kind = "indicator" if isinstance(node, Indicator) else "position"
    key = (kind, tuple(node.dims[k] for k in order), form)
    more = {"guard": node.condition.renumbered(place)} if isinstance(node, Indicator) else {}
    return Reading(normaliser.table.intern(key, kind, node, order, symmetries, more=more), order)


def _value_key(normaliser: Normalising, node: Indicator | Position, order: Sequence[int]) -> Key:
    names = [order.index(axis) for axis in range(len(order))]
    if isinstance(node, Indicator):
        return normaliser.truth_key(node.condition, node.dims, names)
    return linear(node.value, names)


def axis_orders(dims: Sequence[str], roles: Sequence[int]) -> list[tuple[int, ...]]:
    """The orders of axes in which those of one role and dim stay together; a single one if there are too many."""
    kinds = [(role, dim) for role, dim in zip(roles, dims, strict=True)]
    ranked = sorted(range(len(kinds)), key=lambda k: kinds[k])
    groups = [list(group) for _, group in groupby(ranked, key=lambda k: kinds[k])]
    orders = list(islice(_orders_of_groups(groups), PERMUTATIONS + 1))
    return orders if len(orders) <= PERMUTATIONS else orders[:1]


def _orders_of_groups(groups: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """The concatenated groups, each in all of its orders."""
    choices = product(*(list(_first_permutations(group)) for group in groups))
    return (tuple(axis for part in parts for axis in part) for parts in choices)


def _first_permutations(group: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return islice(permutations(group), PERMUTATIONS + 1)
