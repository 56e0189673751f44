"""Forms in directions as sums of products, equal ones added up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeGuard

from energyc.mathematics.ir import ONE, Coefficient, Graph, Input, Map, Node, Operand
from energyc.proofs.fields.problem import ForceField, inputs_of
from energyc.proofs.normal_form.products import Product, multiplied_out


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
    masks = {f.node.argument: f.node for p in products for f in p.factors if _is_mask(f.node, "above")}
    for product in products:
        others = [f for f in product.factors if not (_is_mask(f.node, "reached") and _turned(f.node, graph) in masks)]
        turned = [f for f in product.factors if f not in others]
        if len(turned) != 1:
            terms.append((product.coefficient, product.factors))
            continue
        (mask,) = turned
        above = Operand(masks[_turned(mask.node, graph)], mask.axes)
        terms += [(product.coefficient, others), (-product.coefficient, [*others, above])]
    return _added(terms, field) if len(terms) > len(products) else None


def _is_mask(node: Node, name: str) -> TypeGuard[Map]:
    return isinstance(node, Map) and node.function.named(name)


def _turned(node: Node, graph: Graph) -> Node:
    assert isinstance(node, Map)
    return graph.scale(-1, node.argument)


def _added(terms: Iterable[tuple[Coefficient, Sequence[Operand]]], field: ForceField) -> list[Product] | None:
    """Products added up."""
    graph = field.graph
    nodes = [(value, graph.einsum(ONE, [(f.node, f.axes) for f in factors], {}, ())) for value, factors in terms]
    added = graph.add(nodes, ())
    return [] if added is graph.zero(()) else multiplied_out(added, field.structure, _apart(added))


def _apart(form: Node) -> set[Input]:
    return {node for node in inputs_of([form]) if node.kind in ("direction", "param")}
