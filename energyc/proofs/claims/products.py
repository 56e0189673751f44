"""Tensors multiplied out: sums of products of factors with labels, Kronecker deltas resolved, equal ones added up.

So are scalar products of directions: ``sum_d Q_kd Q_ld = [k == l]`` for orthonormal rows, ``sum_d P_kd^2 = 1``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import cast

from energyc.language.network import Structure
from energyc.mathematics.calculus import monomials
from energyc.mathematics.calculus.monomials import Monomial
from energyc.mathematics.ir import ONE, Coefficient, Indicator, Input, Node, Operand, is_mask
from energyc.mathematics.ir.indexing import axis, equal
from energyc.proofs.fields.problem import ForceField, inputs_of
from energyc.proofs.fields.structured import NONE, Structures

MOST = 200


@dataclass(frozen=True)
class Product:
    """``coefficient`` times factors, each a node with labels for its axes, summed over all labels."""

    coefficient: Coefficient
    factors: tuple[Operand, ...]


def multiplied_out(
    node: Node, structures: Structures = NONE, apart: Collection[Node] | None = None
) -> list[Product] | None:
    """A node without dims as a sum of products; None where that is too long.

    ``structures`` are the sets of params. With nodes ``apart`` a factor that reads none of them stays as it is.
    """
    parts = monomials(node, apart, MOST)
    if parts is None:
        return None
    return [_without_directions(_identified(_counted(part)), structures) for part in parts]


def _counted(part: Monomial) -> Product:
    """A monomial as a product: a label that it is summed over and no factor reads counts its dim."""
    coefficient, read = part.coefficient, {label for _, axes in part.factors for label in axes}
    for dim in (dim for label, dim in part.labels.items() if label not in read and label not in part.out):
        coefficient = coefficient * Coefficient.symbol(dim)
    return Product(coefficient, tuple(Operand(*factor) for factor in part.factors))


def _identified(product: Product) -> Product:
    """Without Kronecker deltas: their labels are one."""
    factors = list(product.factors)
    while delta := next((f for f in factors if _is_delta(f.node)), None):
        factors.remove(delta)
        a, b = delta.axes
        factors = [Operand(f.node, tuple(a if label == b else label for label in f.axes)) for f in factors]
    return Product(product.coefficient, tuple(factors))


def _is_delta(node: Node) -> bool:
    return isinstance(node, Indicator) and len(node.dims) == 2 and node.condition == equal(axis(0), axis(1))


def _without_directions(product: Product, structures: Structures) -> Product:
    """Without the scalar products of the directions of one param."""
    while (reduced := _reduced(product, structures)) is not None:
        product = reduced
    return product


def _reduced(product: Product, structures: Structures) -> Product | None:
    """Without the first scalar product of two directions of a param: 1, or a delta, whose labels are one."""
    for first, second in combinations(product.factors, 2):
        for part in structures.get(cast(Input, first.node), ()) if first.node is second.node else ():
            for along, across in _directions(part, first.node):
                rest = list(product.factors)
                rest.remove(first)
                rest.remove(second)
                if _is_scalar_product(first, second, along, across, rest):
                    return _joined(product.coefficient, (first, second), along, rest)
    return None


def _directions(part: Structure, node: Node) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The axes along which there are unit vectors, and those across which they are orthogonal."""
    if part.kind in ("sphere", "orthogonal"):
        yield part.columns, part.rows
    if part.kind == "orthogonal" and [node.dims[k] for k in part.rows] == [node.dims[k] for k in part.columns]:
        yield part.rows, part.columns


def _is_scalar_product(
    first: Operand, second: Operand, along: Sequence[int], across: Sequence[int], rest: Sequence[Operand]
) -> bool:
    """Whether two directions are multiplied along their axes, which nothing else reads, and differ only across them."""
    summed = [first.axes[k] for k in along]
    elsewhere = {label for f in rest for label in f.axes}
    differ = {k for k, (a, b) in enumerate(zip(first.axes, second.axes, strict=True)) if a != b}
    once = all(first.axes.count(label) == second.axes.count(label) == 1 for label in summed)
    return differ <= set(across) and once and not elsewhere & set(summed)


def _joined(
    coefficient: Coefficient, pair: tuple[Operand, Operand], along: Sequence[int], rest: Sequence[Operand]
) -> Product:
    """The remaining product, labels of both directions identified; one that nothing reads any more counts its dim."""
    first, second = pair
    same = dict(zip(second.axes, first.axes, strict=True))
    factors = tuple(Operand(f.node, tuple(same.get(label, label) for label in f.axes)) for f in rest)
    used = {label for f in factors for label in f.axes}
    unread = {label: first.node.dims[k] for k, label in enumerate(first.axes) if k not in along and label not in used}
    for dim in unread.values():
        coefficient = coefficient * Coefficient.symbol(dim)
    return Product(coefficient, factors)


# -------------------------------------------------------------------- forms in directions


def collected(form: Node, field: ForceField) -> list[Product] | None:
    """A form as products, equal ones added up; None where they are too many.

    Slopes of functions stay whole, so that what is known of their range is not lost.
    """
    products = multiplied_out(form, field.structure, _apart(form))
    # Deltas are resolved now, so that what cancels is one node: v . (B - B^T) v.
    return None if products is None else _added([(p.coefficient, p.factors) for p in products], field)


def with_one_side(products: Sequence[Product], field: ForceField) -> list[Product] | None:
    """The same form with ``-u >= 0`` as 1 less ``u > 0``, where both are in it; None where none are."""
    graph, terms = field.graph, list[tuple[Coefficient, Sequence[Operand]]]()
    masks = {f.node: f.node.argument for p in products for f in p.factors if is_mask(f.node)}
    above = {argument: mask for mask, argument in masks.items() if mask.function.named("above")}
    turned: dict[Node, Node | None] = {
        mask: above.get(graph.scale(-1, u)) for mask, u in masks.items() if mask.function.named("reached")
    }
    for product in products:
        found = [(f, other) for f in product.factors if (other := turned.get(f.node)) is not None]
        if len(found) != 1:
            terms.append((product.coefficient, product.factors))
            continue
        ((mask, other),) = found
        rest = [f for f in product.factors if f is not mask]
        terms += [(product.coefficient, rest), (-product.coefficient, [*rest, Operand(other, mask.axes)])]
    return _added(terms, field) if len(terms) > len(products) else None


def _added(terms: Iterable[tuple[Coefficient, Sequence[Operand]]], field: ForceField) -> list[Product] | None:
    """Products added up."""
    graph = field.graph
    nodes = [(value, graph.einsum(ONE, [(f.node, f.axes) for f in factors], {}, ())) for value, factors in terms]
    added = graph.add(nodes, ())
    return [] if added is graph.zero(()) else multiplied_out(added, field.structure, _apart(added))


def _apart(form: Node) -> set[Input]:
    return {node for node in inputs_of([form]) if node.kind in ("direction", "param")}
