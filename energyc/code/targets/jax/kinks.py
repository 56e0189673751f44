"""Kinks of energies that move by proximal steps: where a step leads, its adjoint, and the slopes of their weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from energyc.code.module.context import Context
from energyc.code.tree.expressions import (
    Attribute,
    Binary,
    Comparison,
    Expr,
    List,
    Name,
    Number,
    Tuple,
    Unary,
    call,
    integers,
    number,
)
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Body
from energyc.derivation.derive import Proximal
from energyc.mathematics.ir import Node

_PROXIMAL = '''
def proximal(params: Params, fixed: Fixed, states: States, step: States) -> States:
    """The proximal points of corners, of the sets, of norms, each for its step."""
    kinks = weights(params, fixed)
    states = project({cornered})
    return {shrunk}


def proximal_vjp(params: Params, fixed: Fixed, at: States, cotangents: States) -> States:
    """The adjoint of its derivative at where a force led."""
    kinks, step = weights(params, fixed), step_sizes(fixed)
    points = {points}
    states = project(points)
    cotangents = project_vjp(points, {shrunk_back})
    return {cornered_back}


def kink_slopes(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """<cotangents, dF/dtheta> of the kinks, by their weights."""
    return weights_vjp(params, fixed, {pulls})
'''


def proximal_steps(context: Context) -> Body:
    """``proximal``, ``proximal_vjp`` and ``kink_slopes``; nothing where no kink moves so."""
    if not context.derivation.proximal:
        return ()
    local, numbers = context.local, {node: k for k, node in enumerate(context.derivation.weights.values())}
    cornered, points, cornered_back = dict[str, Expr](), dict[str, Expr](), dict[str, Expr]()
    shrunk, shrunk_back = dict[str, Expr](), dict[str, Expr]()
    for state, kinks in context.derivation.proximal.items():
        name = local[state]
        z, at, back, step = (Attribute(Name(n), name) for n in ("states", "at", "cotangents", "step"))
        if kinks.corners:
            cornered[name] = call("at_corners", z, _corners(kinks, numbers, step))
            points[name] = call("at_corners", at, _corners(kinks, numbers, step))
            cornered_back[name] = call("corners_vjp", at, back, _corners(kinks, numbers, step))
        if kinks.norm is not None:
            axes, weight = integers(*(axis + 1 for axis in kinks.norm.axes)), numbers[kinks.norm.weight]
            shrunk[name] = call("shrunk", z, _threshold(weight, step), axes)
            shrunk_back[name] = call("shrunk_vjp", z, back, _threshold(weight, step), axes)
    return quote_body(
        _PROXIMAL,
        cornered=_replaced("states", cornered),
        points=_replaced("at", points),
        shrunk=_replaced("states", shrunk),
        cornered_back=_replaced("cotangents", cornered_back),
        shrunk_back=_replaced("cotangents", shrunk_back),
        pulls=List(tuple(_pulls(context))),
    )


def _corners(kinks: Proximal, numbers: Mapping[Node, int], step: Expr) -> Expr:
    """The corners of a state: of each its number, and its thresholds below and above for a step."""
    sides = [[None if s is None else numbers[s] for s in (c.below, c.above)] for c in kinks.corners]
    made = (
        Tuple((number(corner.at), *(Number(0.0) if k is None else _threshold(k, step) for k in pair)))
        for corner, pair in zip(kinks.corners, sides, strict=True)
    )
    return List(tuple(made))


def _threshold(weight: int, step: Expr) -> Expr:
    return Binary("*", step, Name("kinks")[Number(weight)])


def _replaced(owner: str, parts: dict[str, Expr]) -> Expr:
    return call(f"{owner}._replace", **parts) if parts else Name(owner)


def _pulls(context: Context) -> Iterator[Expr]:
    """By each weight the slope of the force, times the cotangents of its state."""
    for weight in context.derivation.weights.values():
        terms = list[Expr]()
        for state, kinks in context.derivation.proximal.items():
            z, back = (Attribute(Name(owner), context.local[state]) for owner in ("states", "cotangents"))
            for corner in kinks.corners:
                if corner.below == weight:
                    terms.append(Binary("*", back, Comparison("<", z, number(corner.at))))
                if corner.above == weight:
                    terms.append(Unary("-", Binary("*", back, Comparison(">", z, number(corner.at)))))
            if kinks.norm is not None and kinks.norm.weight == weight:
                axes = integers(*(axis + 1 for axis in kinks.norm.axes))
                terms.append(quote("-({c} * direction({z}, {axes}))", c=back, z=z, axes=axes))
        total = terms[0]
        for term in terms[1:]:
            total = Binary("+", total, term)
        yield total
