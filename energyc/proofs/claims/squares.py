"""Products with two directions in them as sums of squares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from energyc.mathematics.ir import ONE, Graph, Input, Node, Operand
from energyc.proofs.claims.products import Product
from energyc.proofs.fields.structured import NONE, Structures, symmetries

#: The most labels of a product whose exchanges are tried.
MOST_LABELS = 6


@dataclass(frozen=True)
class Square:
    """``sum_m s_m (A v)_m^2``: the factors of A, those of s, and the labels m."""

    half: tuple[Operand, ...]
    middle: tuple[Operand, ...]
    labels: tuple[int, ...]


def squares(product: Product, first: Operand, second: Operand, structures: Structures = NONE) -> Iterator[Square]:
    """The ways to read a product with two directions as a sum of squares times the rest.

    An exchange of labels takes one direction to the other. Factors with labels that move pair up: one of each pair is
    in the half of the first direction, its image in that of the second, and the halves share fixed labels only.
    """
    if first.node is not second.node:
        return
    turn = dict(zip(first.axes, second.axes, strict=True)) | dict(zip(second.axes, first.axes, strict=True))
    others = sorted({a for f in product.factors for a in f.axes} - turn.keys())
    if len(others) > MOST_LABELS or any(turn[turn[a]] != a for a in turn):
        return
    rest = [_least_order(f, structures) for f in product.factors if f is not first and f is not second]
    dims = {a: d for f in rest for a, d in zip(f.axes, f.node.dims, strict=True)}
    for exchange in _exchanges(others, dims):
        found = _halved(rest, first, turn | exchange, structures)
        if found is not None:
            yield found


def _exchanges(labels: Sequence[int], dims: Mapping[int, str]) -> Iterator[dict[int, int]]:
    """The ways to leave labels as they are, or to exchange two of one dim, in lexicographic order of the images."""
    if not labels:
        yield {}
        return
    label, *others = labels
    for mate in (each for each in labels if dims[each] == dims[label]):
        for rest in _exchanges([each for each in others if each != mate], dims):
            yield {label: mate, mate: label, **rest}


def squared(graph: Graph, product: Product, square: Square, direction: Operand) -> Node:
    """A product as the sum of squares that it is."""
    dims = {a: d for f in product.factors for a, d in zip(f.axes, f.node.dims, strict=True)}
    factors = [(f.node, f.axes) for f in (*square.half, direction)]
    own = _of_labels(dims, factors)
    out = tuple(a for a in square.labels if a in own)
    half = graph.einsum(ONE, factors, own, out)
    whole = [(half, out)] * 2 + [(f.node, f.axes) for f in square.middle]
    return graph.einsum(product.coefficient, whole, _of_labels(dims, whole), ())


def _of_labels(dims: Mapping[int, str], factors: Sequence[tuple[Node, tuple[int, ...]]]) -> dict[int, str]:
    return {a: dims[a] for _, axes in factors for a in axes}


def _halved(
    rest: Sequence[Operand], first: Operand, exchange: Mapping[int, int], structures: Structures
) -> Square | None:
    moving = {a for a in exchange if exchange[a] != a}
    half, left, reached = list[Operand](), list(rest), moving & set(first.axes)
    while near := _next(left, reached, moving):
        left.remove(near)
        mirror = _least_order(Operand(near.node, tuple(exchange[a] for a in near.axes)), structures)
        if mirror not in left:
            return None
        left.remove(mirror)
        half.append(near)
        reached |= set(near.axes) & moving
    if reached & {exchange[a] for a in reached}:
        return None
    labels = {a for f in (first, *half, *left) for a in f.axes} - moving
    return Square(tuple(half), tuple(left), tuple(sorted(labels)))


def _next(left: Sequence[Operand], reached: set[int], moving: set[int]) -> Operand | None:
    """A factor that hangs together with what is reached by labels that move, else any that has such labels."""
    near = next((f for f in left if reached & set(f.axes)), None)
    return near or next((f for f in left if moving & set(f.axes)), None)


def _least_order(factor: Operand, structures: Structures) -> Operand:
    """A symmetric param with its axes in the least of the orders that are alike."""
    parts = structures.get(cast(Input, factor.node), ())
    orders = (tuple(factor.axes[k] for k in turn) for turn in symmetries(parts, len(factor.axes)))
    return Operand(factor.node, min((factor.axes, *orders))) if parts else factor
