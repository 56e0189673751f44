"""Totals: what a kernel adds up over the samples of a tile, as slopes by params, without one for each sample."""

from __future__ import annotations

from energyc.code.loops.affine import labels_of
from energyc.code.loops.expressions import scaled
from energyc.code.loops.lower import Lowering
from energyc.code.loops.nest import Buffer, Scatter
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Node


def add_up(lowering: Lowering, node: Node, total: Buffer, coefficient: Coefficient = ONE) -> None:
    """The steps that add a node, times a coefficient, to a total of its sizes.

    A product of two tensors is one matrix product whose terms are those of all samples.
    """
    if node not in lowering.buffers and lowering.uses[node] <= 1:
        if isinstance(node, Add):
            for factor, term in node.terms:
                add_up(lowering, term, total, coefficient * factor)
            return
        if isinstance(node, Einsum):
            _add_up_product(lowering, node, total, coefficient)
            return
    _scatter(lowering, node, total, coefficient)


def _add_up_product(lowering: Lowering, node: Einsum, total: Buffer, coefficient: Coefficient) -> None:
    if lowering.solution(node).never:
        return
    product = lowering.product(node, coefficient, total)
    if product is not None:
        lowering.steps.append(product)
    elif _ends_at_its_places(lowering, node) and total.size > 1:
        solved = lowering.solution(node)
        lowering.hold_narrow(node)
        entry = scaled(lowering.factor(coefficient), lowering.term(node))
        place = solved.out if solved.scatters else labels_of(len(node.dims))
        lowering.steps.append(Scatter(total, tuple(solved.extents), tuple(place), entry, "sum", lowering.text(node)))
    else:
        _scatter(lowering, node, total, coefficient)


def _ends_at_its_places(lowering: Lowering, node: Einsum) -> bool:
    """Whether what is summed lies, along its last axis, as its total does: then a sum of its own would jump."""
    solved = lowering.solution(node)
    last = [place[-1] for _, place in solved.operands if place]
    return bool(solved.scatters) or all(label < solved.plain for index in last for label in index.axes())


def _scatter(lowering: Lowering, node: Node, total: Buffer, coefficient: Coefficient) -> None:
    """Each sample's own entries are added to the total."""
    place = labels_of(len(node.dims))
    entry = scaled(lowering.factor(coefficient), lowering.at(node, place))
    lowering.steps.append(Scatter(total, lowering.extents(node), place, entry, "sum", lowering.text(node)))
