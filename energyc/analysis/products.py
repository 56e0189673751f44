"""Tensors multiplied out: sums of products of factors with labels, Kronecker deltas resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from energyc.ir import ONE, Add, Coefficient, Einsum, Indicator, Node, Operand, Stop
from energyc.ir.indexing import axis, equal

MOST = 200


@dataclass(frozen=True)
class Product:
    """``coefficient`` times factors, each a node with labels for its axes, summed over all labels."""

    coefficient: Coefficient
    factors: tuple[Operand, ...]


def multiplied_out(node: Node) -> list[Product] | None:
    """A node without dims as a sum of products; None where that is too long."""
    products = _products(node, (), count())
    return None if products is None else [_identified(product) for product in products]


def _products(node: Node, labels: tuple[int, ...], fresh: Iterator[int]) -> list[Product] | None:
    match node:
        case Stop():
            return _products(node.argument, labels, fresh)
        case Add():
            parts = [(c, _products(term, labels, fresh)) for c, term in node.terms]
            if any(part is None for _, part in parts):
                return None
            return [Product(c * p.coefficient, p.factors) for c, part in parts for p in part or ()]
        case Einsum():
            names = dict(zip(node.out, labels, strict=True))
            names |= {label: next(fresh) for label in node.contracted}
            result = [Product(node.coefficient, ())]
            for operand in node.operands:
                inner = _products(operand.node, tuple(names[a] for a in operand.axes), fresh)
                if inner is None or len(result) * len(inner) > MOST:
                    return None
                result = [Product(a.coefficient * b.coefficient, a.factors + b.factors) for a in result for b in inner]
            return result
    return [Product(ONE, (Operand(node, labels),))]


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
