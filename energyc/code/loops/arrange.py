"""How buffers between statements are laid out: as they are read, without axes along which nothing differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from energyc.code.loops.expressions import relocated, rewritten
from energyc.code.loops.matrices import product_of
from energyc.code.loops.nest import Buffer, Expr, Load, MatrixProduct, Scatter, Statement, Step, indices, loads
from energyc.mathematics.ir import IndexExpr
from energyc.mathematics.ir.indexing import axis, integer

Change = Callable[[Expr], Expr]
#: Fewer columns than these leave much of their vectors empty.
NARROW = 32
#: The axes of a buffer that stay, in their new order.
Order = tuple[int, ...]


def arranged(steps: Sequence[Step], sizes: Mapping[str, int]) -> list[Step]:
    """The same steps over buffers that are laid out anew, from the last to the first, so that readers come first."""
    present = list(steps)
    touching = _touching(steps)
    for buffer in reversed(dict.fromkeys(step.target for step in steps)):
        near = {k: present[k] for k in touching[buffer]}
        writers = [step for step in near.values() if step.target is buffer]
        if buffer.kind != "scratch" or any(isinstance(step, Scatter) for step in writers):
            continue
        natural = tuple(range(len(buffer.sizes)))
        used = set[int]().union(*map(_used, writers))
        busy = [k for k in natural if k in used]
        order = tuple(k for k in _wished(buffer, writers, near.values()) if k in busy)
        for tried in (order, tuple(busy)):
            changed = reordered(near.values(), buffer, tried, sizes) if tried != natural else None
            if changed is not None:
                for k, step in zip(near, changed, strict=True):
                    present[k] = step
                break
    return present


def widened(
    steps: Sequence[Step], total: Buffer, sizes: Mapping[str, int]
) -> tuple[list[Step], Buffer, tuple[int, ...]]:
    """The same steps, a total, and the order of its axes: with what was rows last where products have few columns."""
    natural = tuple(range(len(total.sizes)))
    writers = {k: step for k, step in enumerate(steps) if step.target is total}
    orders = {_turned(step) if isinstance(step, MatrixProduct) else natural for step in writers.values()}
    order = orders.pop() if len(orders) == 1 else natural
    changed = reordered(writers.values(), total, order, sizes) if order != natural else None
    if changed is None:
        return list(steps), total, natural
    present = {**dict(enumerate(steps)), **dict(zip(writers, changed, strict=True))}
    return [present[k] for k in range(len(steps))], changed[0].target, order


def _turned(product: MatrixProduct) -> Order:
    """The axes of what a product gives, its rows last; in their own order where it has columns enough."""
    natural = tuple(range(len(product.target.sizes)))
    if product.columns.count >= min(NARROW, product.rows.count):
        return natural
    labels = [{label for index in load.place for label in index.axes()} for load in product.loads]
    right, left = labels if natural[-1] in labels[0] else labels[::-1]
    rows = [k for k in natural if k in left - right]
    return (*(k for k in natural if k not in rows), *rows)


def _touching(steps: Sequence[Step]) -> dict[Buffer, list[int]]:
    """For each buffer the places of the steps that write or read it, which are not many of all the steps."""
    touching: dict[Buffer, list[int]] = {}
    for k, step in enumerate(steps):
        for buffer in {step.target: None, **dict.fromkeys(load.buffer for load in _loads(step))}:
            touching.setdefault(buffer, []).append(k)
    return touching


def _used(step: Step) -> set[int]:
    """The labels along which what a step computes differs."""
    parts = step.loads if isinstance(step, MatrixProduct) else (step.expr,)
    return {label for part in parts for index in indices(part) for label in index.axes()}


def _loads(step: Step) -> list[Load]:
    return list(step.loads) if isinstance(step, MatrixProduct) else list(loads(step.expr))


def _wished(buffer: Buffer, writers: Sequence[Step], steps: Iterable[Step]) -> Order:
    """The order of the axes in which most walk along a buffer, if that has another one last; else its own.

    A statement that writes it has a say for each buffer, as large as itself, along which it walks. Where the last axis
    stays the others do, so that statements go on to share their loops.
    """
    natural = tuple(range(len(buffer.sizes)))
    votes: Counter[Order] = Counter()
    for load in (load for step in steps for load in _loads(step) if load.buffer is buffer):
        walked = _labels(load)
        votes[natural if walked is None else tuple(sorted(natural, key=walked.__getitem__))] += 1
    own = [load for step in writers if isinstance(step, Statement) for load in loads(step.expr)]
    for load in (load for load in own if load.buffer.batched or not buffer.batched):
        labels = [label for label in _labels(load) or () if label in natural]
        votes[tuple(labels)] += len(labels) == len(natural)
    best = max([natural, *votes], key=lambda order: votes[order])
    return best if best and best[-1] != natural[-1] else natural


def _labels(load: Load) -> list[int] | None:
    """The labels along which a load walks, an axis each; None where it walks otherwise."""
    labels: list[int] = [place.args[0] for place in load.place if place.op == "axis"]  # type: ignore[misc]
    return labels if len(set(labels)) == len(load.place) else None


def reordered(steps: Iterable[Step], buffer: Buffer, order: Order, sizes: Mapping[str, int]) -> list[Step] | None:
    """The steps that touch a buffer with it in another order, which is a new buffer.

    None where a matrix product would be worse, or none.
    """
    made = Buffer(buffer.name, tuple(buffer.sizes[k] for k in order), buffer.batched, buffer.kind, buffer.integers)

    def moved(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer is buffer:
            return Load(made, tuple(expr.place[k] for k in order))
        return expr

    changed: list[Step] = []
    for step in steps:
        found = _with(step, buffer, made, order, sizes, moved)
        if found is None:
            return None
        changed.append(found)
    return changed


def _with(
    step: Step, buffer: Buffer, made: Buffer, order: Order, sizes: Mapping[str, int], moved: Change
) -> Step | None:
    """A step that reads and writes the new buffer in the place of the old one."""
    extents, place = step.extents, [axis(k) for k in range(len(step.extents))]
    target = step.target
    if target is buffer:
        count = len(buffer.sizes)
        labels = [*order, *range(count, len(extents))]
        place = [axis(labels.index(k)) if k in labels else integer(0) for k in range(len(extents))]
        extents, target = tuple(extents[k] for k in labels), made
    if isinstance(step, MatrixProduct):
        return _product(step, target, [_at(load, moved, place) for load in step.loads], extents, sizes)
    return replace(step, target=target, extents=extents, expr=_at(step.expr, moved, place))


def _at(expr: Expr, moved: Change, place: Sequence[IndexExpr]) -> Expr:
    return relocated(rewritten(expr, moved), place)


def _product(
    step: MatrixProduct, target: Buffer, at: Sequence[Expr], extents: tuple[int, ...], sizes: Mapping[str, int]
) -> MatrixProduct | None:
    """A product as good as the step, or None."""
    first, second = at
    assert isinstance(first, Load) and isinstance(second, Load)
    found = product_of(target, (first, second), step.factor, extents, sizes)
    if found is None or (step.packed_once and not found.packed_once):
        return None
    return replace(found, adds=step.adds, label=step.label, contrasted=step.contrasted)
