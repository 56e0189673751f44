"""Forms in directions as sums of products, equal ones added up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from energyc.mathematics.ir import ONE, Coefficient, Input, Node, Operand, is_mask
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
