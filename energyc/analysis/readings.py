"""How nodes become atoms: what an atom is known by, and what its axes may do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby, islice, permutations, product
from typing import Any, Protocol

from energyc.analysis.atoms import AtomTable, Body, Reading
from energyc.analysis.canonical import Factor, Symmetry
from energyc.analysis.conditions import linear, negative
from energyc.analysis.impulses import IMPULSE
from energyc.ir import Add, IndexExpr, Indicator, Input, Map, Node, NoRule, Position, Reduction

Key = tuple[Any, ...]
PERMUTATIONS = 24


class Normalising(Protocol):
    """What reading a node needs of a normaliser: its table of atoms, and normal forms of what is inside the node."""

    table: AtomTable
    symmetric: Mapping[Input, tuple[int, ...]]

    def fresh(self, dim: str) -> int:
        """A new label."""
        ...

    def factor_of(self, node: Node, labels: Sequence[int]) -> Factor:
        """A node as one factor, at labels for its axes."""
        ...

    def single_factor(self, node: Node, labels: Sequence[int]) -> Factor | None:
        """The atom of which a node is a multiple, at labels for the node's axes; None where it is no such."""
        ...

    def truth_key(self, condition: IndexExpr, dims: Sequence[str], names: Sequence[int]) -> Key:
        """A condition's normal form, with axis k called ``names[k]``."""
        ...

    def body(self, node: Node) -> Body:
        """A node's normal form with its axes in canonical order."""
        ...

    def ordered(
        self, node: Node, roles: Sequence[int], extra: Sequence[Factor] = (), labels: Sequence[int] | None = None
    ) -> Body:
        """The least key over all orders of the axes that keep dims and roles together."""
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
    raise NoRule("normal form", node)


def _input(normaliser: Normalising, node: Input) -> Reading:
    order = tuple(range(len(node.dims)))
    turned = [(normaliser.symmetric[node], 1)] if node in normaliser.symmetric else []
    key = ("input", node.kind, node.name)
    return Reading(normaliser.table.intern(key, "input", node, order, turned), order)


def _sum(normaliser: Normalising, node: Add) -> Reading:
    body = normaliser.body(node)
    key = ("sum", body.key)
    atom = normaliser.table.intern(key, "sum", node, body.order, body.symmetries, scale=body.lead)
    return Reading(atom, body.order, body.lead)


def _map(normaliser: Normalising, node: Map) -> Reading:
    """Of an even function the sign of the argument is dropped, of an odd one it is taken out, and so are lengths."""
    body = normaliser.body(node.argument)
    function = _function_key(normaliser, node)
    kind = str(function[0])
    parity, degree = _parity_and_degree(node)
    lead, scale = _lead_and_scale(body.lead, parity, degree)
    symmetries = body.symmetries if parity == -1 else body.even
    if parity == 1:
        symmetries = tuple((axes, 1) for axes, _ in body.symmetries)
    base = _base(normaliser, node.argument, body) if kind == IMPULSE else None
    more = {"argument": (lead, body.key), "base": base}
    key = (function, more["argument"])
    atom = normaliser.table.intern(key, kind, node, body.order, symmetries, scale=scale, more=more)
    return Reading(atom, body.order, scale)


def _parity_and_degree(node: Map) -> tuple[int, int | None]:
    """Of ``f(-u) = parity f(u)``, and k of ``f(c u) = c^k f(u)`` for a positive number c, None where there is none."""
    if node.function.named(IMPULSE):
        return 1, -1
    if node.function.slope is not None:
        return 0, None
    entry = node.function.entry
    return entry.parity, entry.homogeneous.degree if entry.homogeneous else None


def _lead_and_scale(lead: Fraction, parity: int, degree: int | None) -> tuple[Fraction, Fraction]:
    """The lead that stays in an argument, and what the function of it is times that of the whole argument."""
    scale = Fraction(-1 if parity == -1 and lead < 0 else 1)
    kept = abs(lead) if parity else lead
    if degree is not None and lead:
        return kept / abs(lead), scale * abs(lead) ** degree
    return kept, scale


def _base(normaliser: Normalising, argument: Node, body: Body) -> Factor | None:
    """An argument that is a number times one atom, with the places of its labels among the axes of the body."""
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
    """Known by its argument and guard, with the reduced axes told from the others and in the last places."""
    dims = node.argument.dims
    roles = [int(k in node.axes) for k in range(len(dims))]
    labels = [normaliser.fresh(dim) for dim in dims]
    guard = node.guard
    extra = (normaliser.factor_of(guard.indicator, [labels[a] for a in guard.axes]),) if guard else ()
    body = normaliser.ordered(node.argument, roles, extra, labels)
    kind = node.operator
    key = (kind, body.lead, body.key)
    if node.keeps_axes:
        atom = normaliser.table.intern(key, kind, node, body.order, body.even, more=_weights_facts(node, body))
        return Reading(atom, body.order)
    kept = [k for k in range(len(dims)) if k not in node.axes]
    order = tuple(kept.index(a) for a in body.order[: len(kept)])
    atom = normaliser.table.intern(key, kind, node, order, _restricted(body.even, len(kept)))
    return Reading(atom, order)


def _weights_facts(node: Reduction, body: Body) -> dict[str, Any]:
    """Along which axes weights sum to one, and where they are zero."""
    place = {axis: k for k, axis in enumerate(body.order)}
    guard = node.guard
    condition = guard and guard.indicator.condition.renumbered({k: place[a] for k, a in enumerate(guard.axes)})
    return {"reduced": tuple(place[a] for a in node.axes), "guard": condition}


def _restricted(symmetries: Sequence[Symmetry], rank: int) -> tuple[Symmetry, ...]:
    """What a symmetry does to the first axes: those that a reduction keeps."""
    return tuple((axes[:rank], sign) for axes, sign in symmetries)


def _condition(normaliser: Normalising, node: Indicator | Position) -> Reading:
    """Known by the normal form of its value, in the order of the axes that makes it least."""
    forms = [(order, _value_key(normaliser, node, order)) for order in axis_orders(node.dims, [0] * len(node.dims))]
    order, form = min(forms, key=lambda each: (repr(each[1]), each[0]))
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
    """The orders of axes in which those of one role and dim stay together; one of them where they are too many."""
    kinds = [(role, dim) for role, dim in zip(roles, dims, strict=True)]
    ranked = sorted(range(len(kinds)), key=lambda k: kinds[k])
    groups = [list(group) for _, group in groupby(ranked, key=lambda k: kinds[k])]
    found = list(islice(_orders_of_groups(groups), PERMUTATIONS + 1))
    return found if len(found) <= PERMUTATIONS else found[:1]


def _orders_of_groups(groups: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """The groups one after the other, each in all of its orders."""
    choices = product(*(list(_first_permutations(group)) for group in groups))
    return (tuple(axis for part in parts for axis in part) for parts in choices)


def _first_permutations(group: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return islice(permutations(group), PERMUTATIONS + 1)
