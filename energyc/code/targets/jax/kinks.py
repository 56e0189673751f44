"""Kinks of energies that move by proximal steps: where a step leads, its adjoint, and the slopes of their weights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from energyc.code.module.context import Context
from energyc.code.module.library import Reads
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
from energyc.code.tree.statements import Body, Statement, Verbatim

#: Where parts project what is not the start: there a step leads to the proximal point.
_PROJECTED = re.compile(r"(?<!def )\bproject(_vjp)?\((?!start\()")

_PROXIMAL = '''
def proximal(params: Params, fixed: Fixed, states: States) -> States:
    """Where a step leads: the proximal points of corners, of the sets, of norms."""
    kinks = weights(params, fixed)
    states = project({cornered})
    return {shrunk}


def proximal_vjp(params: Params, fixed: Fixed, at: States, cotangents: States) -> States:
    """The adjoint of its derivative at a point."""
    kinks = weights(params, fixed)
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
        z, back, step = (Attribute(Name(owner), name) for owner in ("states", "cotangents", "STEP"))

        def threshold(weight: int, step: Expr = step) -> Expr:
            return Binary("*", step, Name("kinks")[Number(weight)])

        sides = [[None if s is None else numbers[s] for s in (c.below, c.above)] for c in kinks.corners]
        corners = List(
            tuple(
                Tuple((number(corner.at), *(Number(0.0) if k is None else threshold(k) for k in pair)))
                for corner, pair in zip(kinks.corners, sides, strict=True)
            )
        )
        if kinks.corners:
            cornered[name] = call("at_corners", z, corners)
            points[name] = call("at_corners", Attribute(Name("at"), name), corners)
            cornered_back[name] = call("corners_vjp", Attribute(Name("at"), name), back, corners)
        if kinks.norm is not None:
            axes, weight = integers(*(axis + 1 for axis in kinks.norm.axes)), threshold(numbers[kinks.norm.weight])
            shrunk[name] = call("shrunk", z, weight, axes)
            shrunk_back[name] = call("shrunk_vjp", z, back, weight, axes)
    made = quote_body(
        _PROXIMAL,
        cornered=_replaced("states", cornered),
        points=_replaced("at", points),
        shrunk=_replaced("states", shrunk),
        cornered_back=_replaced("cotangents", cornered_back),
        shrunk_back=_replaced("cotangents", shrunk_back),
        pulls=List(tuple(_pulls(context))),
    )
    return made


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


def with_proximal_steps(parts: Body) -> Body:
    """Parts whose steps lead to the proximal point, where those of other networks project."""
    return tuple(_with_proximal_step(part) for part in parts)


def _with_proximal_step(part: Statement) -> Statement:
    if not isinstance(part, Verbatim) or part.defines & {"project", "project_vjp"}:
        return part
    text = _PROJECTED.sub(r"proximal\1(params, fixed, ", part.text)
    return replace(part, text=text, reads=Reads.of(text).names - part.defines)
