"""Softmax, logsumexp, max and argmax as statements: along axes of the argument, or over the edges into each place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from energyc.code.loops.affine import TRUE, labels_of, written
from energyc.code.loops.expressions import applied, relocated, unless
from energyc.code.loops.nest import Buffer, Expr, Load
from energyc.mathematics.expressions import ZERO, IndexValue, Where, expression
from energyc.mathematics.functions import scalar_function
from energyc.mathematics.ir import IndexExpr
from energyc.mathematics.ir.indexing import Affine, axis
from energyc.mathematics.ir.nodes import ArgMax, LogSumExp, Max, Reduction
from energyc.mathematics.sparse import Segment

Fold = Literal["sum", "max"]
_EMPTY = expression(-math.inf)


class Maker(Protocol):
    """A maker of buffers and of what fills them; see :class:`energyc.code.loops.lower.Lowering`."""

    def put(
        self,
        name: str,
        sizes: Sequence[int],
        batched: bool,
        expr: Expr,
        fold: str = "",
        reduced: Sequence[int] = (),
        label: str = "",
    ) -> Buffer:
        """A new buffer, and the statement that fills it."""
        ...

    def scatter(
        self,
        name: str,
        sizes: Sequence[int],
        batched: bool,
        expr: Expr,
        fold: Fold,
        extents: Sequence[int],
        place: Sequence[IndexExpr],
        label: str = "",
    ) -> Buffer:
        """A new buffer, and what adds to its places."""
        ...


@dataclass(frozen=True)
class Across:
    """How entries of an argument of some sizes are brought together: ``fold`` makes a buffer of an expression at them.

    ``spread`` keeps an expression at all of them, and gives the load of its entries.
    The result has the sizes ``outer``; ``back`` is the place in it for each entry, ``order`` numbers the entries that
    come to one place.
    """

    fold: Callable[[str, Expr, Fold], Buffer]
    spread: Callable[[str, Expr], Load]
    outer: tuple[int, ...]
    back: tuple[IndexExpr, ...]
    order: IndexExpr


def along(maker: Maker, sizes: Sequence[int], batched: bool, axes: Sequence[int]) -> Across:
    """Along axes of the argument."""
    kept = [k for k in range(len(sizes)) if k not in axes]
    outer, reduced = tuple(sizes[k] for k in kept), tuple(sizes[k] for k in axes)
    label_of = {k: axis(j) for j, k in enumerate([*kept, *axes])}
    place = [label_of[k] for k in range(len(sizes))]

    def fold(name: str, expr: Expr, how: Fold) -> Buffer:
        return maker.put(name, outer, batched, relocated(expr, place), how, reduced)

    def spread(name: str, expr: Expr) -> Load:
        buffer = maker.put(name, (*outer, *reduced), batched, relocated(expr, place))
        return Load(buffer, tuple(axis(k) for k in (*kept, *axes)))

    return Across(fold, spread, outer, tuple(axis(k) for k in kept), _order(sizes, axes))


def over_edges(maker: Maker, node: Segment, sizes: Sequence[int], places: int) -> Across:
    """Over the last axes of the argument, each entry to the place that an index gives."""
    kept = len(sizes) - node.count
    outer, back = (*sizes[:kept], places), (*labels_of(kept), node.place)

    def fold(name: str, expr: Expr, how: Fold) -> Buffer:
        return maker.scatter(name, outer, node.batched, expr, how, sizes, back)

    def spread(name: str, expr: Expr) -> Load:
        return Load(maker.put(name, sizes, node.batched, expr), labels_of(len(sizes)))

    return Across(fold, spread, outer, back, _order(sizes, range(kept, len(sizes))))


def reduction(
    maker: Maker,
    kind: type[Reduction],
    across: Across,
    sizes: Sequence[int],
    batched: bool,
    entry: Expr,
    condition: IndexExpr,
    called: tuple[str, str],
) -> Buffer:
    """The buffer of a reduction of the entries under a condition, ``called`` by a name and a label.

    From the largest entry, so that nothing overflows; what no entry comes to is 0.
    """
    (name, label), whole_condition = called, condition is not TRUE

    def masked(expr: Expr, otherwise: Expr) -> Expr:
        return Where(condition, expr, otherwise) if whole_condition else expr

    def back(buffer: Buffer) -> Load:
        return Load(buffer, across.back)

    empty = whole_condition or any(place.op != "axis" for place in across.back)
    largest = across.fold("largest", masked(entry, _EMPTY), "max")
    top = Load(largest, labels_of(len(across.outer)))
    if kind is ArgMax:
        behind = -IndexValue(across.order)
        here = unless(masked(entry, _EMPTY) - back(largest), 0.0, _EMPTY, behind)
        first = back(across.fold("first", here, "max")) - behind
        return maker.put(name, sizes, batched, unless(first, 0.0, ZERO, expression(1)), label=label)
    if kind is Max:
        if not empty:
            return largest
        return maker.put(name, across.outer, batched, unless(top, -math.inf, top, ZERO), label=label)
    power = masked(applied(scalar_function("exp", None), entry - back(largest)), ZERO)
    if kind is LogSumExp:
        whole = Load(across.fold("whole", power, "sum"), top.place)
        level = top + applied(scalar_function("log", None), whole)
        return maker.put(name, across.outer, batched, unless(top, -math.inf, level, ZERO), label=label)
    own = across.spread("power", power)
    total = back(across.fold("whole", own, "sum"))
    share: Expr = own / total
    return maker.put(name, sizes, batched, unless(total, 0.0, share, ZERO) if empty else share, label=label)


def _order(sizes: Sequence[int], axes: Sequence[int]) -> IndexExpr:
    """The number in order of an entry along some axes, over all axes."""
    form, stride = Affine(0, ()), 1
    for k in reversed(axes):
        form = form.plus(Affine(0, ((k, stride),)))
        stride *= sizes[k]
    return written(form)
