"""Projections on the sets of states, and their adjoints."""

from __future__ import annotations

from energyc.code.module.context import Context
from energyc.code.tree.expressions import (
    Attribute,
    Binary,
    Comparison,
    Constant,
    Expr,
    Name,
    Number,
    call,
    integers,
    number,
)
from energyc.code.tree.quotation import quote_body
from energyc.code.tree.statements import Body
from energyc.language.network import ConstraintSet

_PROJECT = '''
def project(states: States) -> States:
    """Each state onto its set."""
    return {projected}


def project_vjp(at: States, cotangents: States) -> States:
    """P^T cotangents, P the derivative of the projection at a point."""
    return {back}
'''


def projections(context: Context, library: str) -> Body:
    """``project`` and ``project_vjp``; nothing where no state is in a set."""
    states = context.network.states
    if all(state.constraint is None for state in states.values()):
        return ()
    projected, back = list[Expr](), list[Expr]()
    for name, state in states.items():
        z, at, cotangent = (Attribute(Name(owner), context.local[name]) for owner in ("states", "at", "cotangents"))
        projected.append(z if state.constraint is None else _projection(z, state.constraint, library))
        back.append(cotangent if state.constraint is None else _adjoint(at, cotangent, state.constraint, library))
    return quote_body(_PROJECT, projected=call("States", *projected), back=call("States", *back))


def bounded(context: Context) -> bool:
    """Whether every state is kept in a bounded set, so that none can explode."""
    return all(_is_bounded(state.constraint) for state in context.network.states.values())


def _is_bounded(constraint: ConstraintSet | None) -> bool:
    if constraint is None or constraint.kind == "nonnegative":
        return False
    return constraint.kind != "box" or None not in (constraint.low, constraint.high)


def _projection(state: Expr, constraint: ConstraintSet, library: str) -> Expr:
    match constraint.kind:
        case "box":
            low, high = (Constant(None) if end is None else number(end) for end in (constraint.low, constraint.high))
            return call(f"{library}.clip", state, low, high)
        case "nonnegative":
            return call(f"{library}.maximum", state, Number(0))
        case kind:
            return call(kind, state, _axes(constraint))


def _adjoint(at: Expr, cotangent: Expr, constraint: ConstraintSet, library: str) -> Expr:
    """0 of what is held, whatever its cotangent; on the face of a box it is the inside's."""
    match constraint.kind:
        case "box":
            ends = ((">=", constraint.low), ("<=", constraint.high))
            tests: list[Expr] = [Comparison(sign, at, number(end)) for sign, end in ends if end is not None]
            inside = tests[0] if len(tests) == 1 else Binary("&", *tests)
            return call(f"{library}.where", inside, cotangent, Number(0.0))
        case "nonnegative":
            return call(f"{library}.where", Comparison(">=", at, Number(0)), cotangent, Number(0.0))
        case kind:
            return call(f"{kind}_vjp", at, cotangent, _axes(constraint))


def _axes(constraint: ConstraintSet) -> Expr:
    return integers(*(axis + 1 for axis in constraint.axes))
