"""Projections on constraint sets in PyTorch, and the adjoints of their derivatives.

Each kind has a call that projects in place, and an expression for ``P^T seed`` at the point before projection. What is
held passes nothing on, whatever its seed: a slope may be infinite on the rim of a set.
"""

from __future__ import annotations

from energyc.code.targets.torch.initial import bounds
from energyc.code.tree.expressions import Binary, Comparison, Expr, Number, call, integers, number
from energyc.language.network import ConstraintSet


def projection(state: Expr, constraint: ConstraintSet) -> Expr:
    """The call that projects a state in place."""
    axes = _axes(constraint)
    match constraint.kind:
        case "box":
            return state.method("clamp_", **bounds(constraint.low, constraint.high))
        case "nonnegative":
            return state.method("clamp_", **bounds(0, None))
        case kind:
            return call(f"{kind}_", state, axes)


def adjoint(at: Expr, seed: Expr, constraint: ConstraintSet) -> Expr:
    """``P^T seed`` at a point. On the face of a box it is the inside's, as torch has it."""
    axes = _axes(constraint)
    match constraint.kind:
        case "box":
            ends = ((">=", constraint.low), ("<=", constraint.high))
            tests: list[Expr] = [Comparison(sign, at, number(end)) for sign, end in ends if end is not None]
            return call("torch.where", tests[0] if len(tests) == 1 else Binary("&", *tests), seed, Number(0.0))
        case "nonnegative":
            return call("torch.where", Comparison(">=", at, Number(0)), seed, Number(0.0))
        case kind:
            return call(f"{kind}_adjoint", at, seed, axes)


def _axes(constraint: ConstraintSet) -> Expr:
    return integers(*(axis + 1 for axis in constraint.axes))
