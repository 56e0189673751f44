"""Forms in directions as sums of products, equal ones added up."""

from __future__ import annotations

from energyc.mathematics.ir import ONE, Graph, Node
from energyc.proofs.fields.problem import ForceField, inputs_of
from energyc.proofs.normal_form.products import Product, multiplied_out


def collected(form: Node, field: ForceField) -> list[Product] | None:
    """A form as products, equal ones added up; None where they are too many.

    Slopes of functions stay whole, so that what is known of their range is not lost.
    """
    graph = field.graph
    apart = {node for node in inputs_of([form]) if node.kind in ("direction", "param")}
    products = multiplied_out(form, field.structure, apart)
    if products is None:
        return None
    # Deltas are resolved now, so that what cancels is one node: v . (B - B^T) v.
    added = graph.add([(p.coefficient, _without_coefficient(p, graph)) for p in products], ())
    return [] if added is graph.zero(()) else multiplied_out(added, field.structure, apart)


def _without_coefficient(product: Product, graph: Graph) -> Node:
    return graph.einsum(ONE, [(f.node, f.axes) for f in product.factors], {}, ())
