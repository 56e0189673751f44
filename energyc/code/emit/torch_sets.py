"""Projections on constraint sets in PyTorch, and the adjoints of their derivatives.

Each kind has a line that projects in place, and an expression for ``P^T seed`` at the point before projection.
"""

from __future__ import annotations

from energyc.code.emit.code import number
from energyc.language.network import ConstraintSet


def projection(state: str, constraint: ConstraintSet) -> str:
    """The line that projects a state in place."""
    axes = _axes(constraint)
    match constraint.kind:
        case "box":
            return f"{state}.clamp_({_bounds(constraint)})"
        case "nonnegative":
            return f"{state}.clamp_(min=0)"
        case kind:
            return f"{kind}_({state}, {axes})"


def adjoint(at: str, seed: str, constraint: ConstraintSet) -> str:
    """``P^T seed`` at a point. On the face of a box it is the inside's, as torch has it."""
    axes = _axes(constraint)
    match constraint.kind:
        case "box":
            tests = [f"({at} >= {number(constraint.low)})"] if constraint.low is not None else []
            tests += [f"({at} <= {number(constraint.high)})"] if constraint.high is not None else []
            return f"{seed} * ({' & '.join(tests)})" if len(tests) > 1 else f"{seed} * {tests[0]}"
        case "nonnegative":
            return f"{seed} * ({at} >= 0)"
        case kind:
            return f"{kind}_adjoint({at}, {seed}, {axes})"


def _axes(constraint: ConstraintSet) -> str:
    axes = [axis + 1 for axis in constraint.axes]
    return f"({', '.join(map(str, axes))},)" if len(axes) == 1 else f"({', '.join(map(str, axes))})"


def _bounds(constraint: ConstraintSet) -> str:
    low = "" if constraint.low is None else f"min={number(constraint.low)}"
    high = "" if constraint.high is None else f"max={number(constraint.high)}"
    return ", ".join(part for part in (low, high) if part)
