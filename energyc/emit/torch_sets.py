"""Projections on constraint sets in PyTorch, and the adjoints of their derivatives.

Each kind has a line that projects in place, and an expression for ``P^T seed`` at the point before projection.
"""

from __future__ import annotations

from collections.abc import Mapping

from energyc.emit.code import number
from energyc.resolve.network import ConstraintSet


def projection(state: str, constraint: ConstraintSet) -> tuple[str, str | None]:
    """The line that projects a state in place, and the helper it needs."""
    axes = _axes(constraint)
    match constraint.kind:
        case "box":
            return f"{state}.clamp_({_bounds(constraint)})", None
        case "nonnegative":
            return f"{state}.clamp_(min=0)", None
        case kind:
            return f"{kind}_({state}, {axes})", f"{kind}_"


def adjoint(at: str, seed: str, constraint: ConstraintSet) -> tuple[str, str | None]:
    """``P^T seed`` at a point, and the helper it needs. On the face of a box it is the inside's, as torch has it."""
    axes = _axes(constraint)
    match constraint.kind:
        case "box":
            tests = [f"({at} >= {number(constraint.low)})"] if constraint.low is not None else []
            tests += [f"({at} <= {number(constraint.high)})"] if constraint.high is not None else []
            return f"{seed} * ({' & '.join(tests)})" if len(tests) > 1 else f"{seed} * {tests[0]}", None
        case "nonnegative":
            return f"{seed} * ({at} >= 0)", None
        case kind:
            return f"{kind}_adjoint({at}, {seed}, {axes})", f"{kind}_adjoint"


def _axes(constraint: ConstraintSet) -> str:
    axes = [axis + 1 for axis in constraint.axes]
    return f"({', '.join(map(str, axes))},)" if len(axes) == 1 else f"({', '.join(map(str, axes))})"


def _bounds(constraint: ConstraintSet) -> str:
    low = "" if constraint.low is None else f"min={number(constraint.low)}"
    high = "" if constraint.high is None else f"max={number(constraint.high)}"
    return ", ".join(part for part in (low, high) if part)


HELPERS: Mapping[str, str] = {
    "standardized_": '''def standardized_(x: Tensor, axes: tuple[int, ...]) -> None:
    """To mean 0 and variance 1 along the axes, in place; what has no variance stays as it is."""
    centred = x - x.mean(axes, keepdim=True)
    deviation = centred.square().mean(axes, keepdim=True).sqrt_()
    torch.where(deviation > 0, centred / deviation, x, out=x)''',
    "standardized_adjoint": '''def standardized_adjoint(x: Tensor, seed: Tensor, axes: tuple[int, ...]) -> Tensor:
    """``(seed - mean(seed) - u mean(u seed)) / deviation`` with u the standardised x."""
    centred = x - x.mean(axes, keepdim=True)
    deviation = centred.square().mean(axes, keepdim=True).sqrt_()
    u = centred / deviation
    back = (seed - seed.mean(axes, keepdim=True) - u * (u * seed).mean(axes, keepdim=True)) / deviation
    return torch.where(deviation > 0, back, seed)''',
    "sphere_": '''def sphere_(x: Tensor, axes: tuple[int, ...]) -> None:
    """To norm 1 along the axes, in place; zero stays as it is."""
    length = x.square().sum(axes, keepdim=True).sqrt_()
    x.div_(length.masked_fill_(length == 0, 1.0))''',
    "sphere_adjoint": '''def sphere_adjoint(x: Tensor, seed: Tensor, axes: tuple[int, ...]) -> Tensor:
    """``(seed - u <u, seed>) / |x|`` with u = x / |x|."""
    length = x.square().sum(axes, keepdim=True).sqrt_()
    u = x / length
    back = (seed - u * (u * seed).sum(axes, keepdim=True)) / length
    return torch.where(length > 0, back, seed)''',
    "simplex_": '''def simplex_(x: Tensor, axes: tuple[int, ...]) -> None:
    """To the nearest nonnegative point of sum 1 along the axes, in place (Held, Wolfe and Crowder 1974)."""
    x.sub_(simplex_threshold(x, axes)).clamp_(min=0)''',
    "simplex_adjoint": '''def simplex_adjoint(x: Tensor, seed: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The seed less its mean over the support, on the support."""
    support = (x > simplex_threshold(x, axes)).to(x.dtype)
    mean = (seed * support).sum(axes, keepdim=True) / support.sum(axes, keepdim=True)
    return (seed - mean) * support''',
    "simplex_threshold": '''def simplex_threshold(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """What is taken from each entry before those below zero are cut off."""
    kept = [k for k in range(x.dim()) if k not in axes]
    flat = x.permute(*kept, *axes).flatten(len(kept))
    falling = flat.sort(-1, descending=True).values
    excess = falling.cumsum(-1) - 1
    count = torch.arange(1, flat.shape[-1] + 1, device=x.device)
    size = (falling * count > excess).sum(-1, keepdim=True)
    threshold = excess.gather(-1, size - 1) / size
    shape = [1 if k in axes else x.shape[k] for k in range(x.dim())]
    return threshold.view(shape)''',
}

REQUIRES: Mapping[str, tuple[str, ...]] = {
    "simplex_": ("simplex_threshold",),
    "simplex_adjoint": ("simplex_threshold",),
}
