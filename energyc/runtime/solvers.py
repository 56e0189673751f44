"""Linear systems without a matrix, and Newton's method."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from energyc.runtime.equations import Equations
from energyc.runtime.products import precise
from energyc.runtime.records import Fixed, Tensors
from energyc.runtime.states import flatten, norm, per_sample, unflatten


def gmres(
    operator: Callable[[Tensor], Tensor], rhs: Tensor, tolerance: float, restart: int, cycles: int
) -> tuple[Tensor, Tensor]:
    """Solve ``operator(x) = rhs`` for each row by restarted GMRES (Saad and Schultz 1986).

    Returns x [batch, entries] and the relative residual of each row [batch], infinite where a product is not finite.
    """
    x = torch.zeros_like(rhs)
    scale = rhs.norm(dim=1).clamp_min(torch.finfo(rhs.dtype).tiny)
    residual = rhs
    for _ in range(cycles):
        size = residual.norm(dim=1)
        if bool((size <= tolerance * scale).all()):
            break
        basis = [residual / size.clamp_min(torch.finfo(rhs.dtype).tiny)[:, None]]
        columns = []
        for _ in range(min(restart, rhs.shape[1])):
            w = operator(basis[-1])
            heights = []
            for _ in range(2):  # twice is enough (Kahan, in Parlett 1980)
                h = torch.stack([(w * v).sum(1) for v in basis], 1)
                w = w - torch.stack([h[:, k, None] * v for k, v in enumerate(basis)]).sum(0)
                heights.append(h)
            height = w.norm(dim=1)
            columns.append(torch.cat([sum(heights[1:], heights[0]), height[:, None]], 1))
            basis.append(w / torch.where(height > 1e-14 * size, height, torch.inf)[:, None])
            if bool((height <= 1e-14 * size).all()):
                break
        n = len(columns)
        hessenberg = torch.stack([F.pad(column, (0, n + 1 - column.shape[1])) for column in columns], 2)
        if not bool(hessenberg.isfinite().all()):
            return x, torch.full_like(size, torch.inf)
        target = F.pad(size[:, None], (0, n))
        weights = torch.linalg.pinv(hessenberg) @ target[:, :, None]
        x = x + torch.stack([weights[:, k] * v for k, v in enumerate(basis[:n])]).sum(0)
        residual = rhs - operator(x)
    return x, residual.norm(dim=1) / scale


def newton_step(net: Equations, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
    """One damped Newton step in place, with products in full precision."""
    with precise(net):
        solved_step(net, states, fixed, step)


def solved_step(net: Equations, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
    """One damped Newton step on R(z) = P(z + step F(z)) - z, in place, where P projects on the sets of the states.

    (I - P'(I + step J)) d = R by GMRES, P' the derivative of the projection: of a box its active set (a semismooth
    method, Qi and Sun 1993). It is halved until |R| falls; where it never does the step is the plain one.
    """
    moved = projected(net, states, fixed, step)
    here, gap = flatten(states), flatten(moved) - flatten(states)

    def operator(direction: Tensor) -> Tensor:
        parts = unflatten(direction, states)
        pushed = [h * u for h, u in zip(step, net._force_tangent(states, fixed, parts))]
        if not net.constrained:
            return -flatten(pushed)
        at = [x + h * f for x, f, h in zip(states, net._force(states, fixed), step)]
        return direction - flatten(net._project_adjoint(at, [d + u for d, u in zip(parts, pushed)]))

    goal = 1e-10 if net.dtype == torch.float64 else 1e-5
    delta, _ = gmres(operator, gap, tolerance=goal, restart=50, cycles=4)
    damping, size = gap.new_ones(len(gap)), norm(gap)
    for _ in range(30):
        trial = unflatten(here + damping[:, None] * delta, states)
        net._project_(trial)
        left = norm(flatten(projected(net, trial, fixed, step)) - flatten(trial))
        worse = ~(left <= (1 - 1e-4 * damping) * size)
        if not bool(worse.any()):
            break
        damping = torch.where(worse, damping / 2, damping)
    for x, plain, newton in zip(states, moved, trial):
        x.copy_(torch.where(per_sample(worse, x), plain, newton))


def projected(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float]) -> list[Tensor]:
    """Where a plain step leads from some states."""
    moved = [x + h * f for x, f, h in zip(states, net._force(states, fixed), step)]
    net._project_(moved)
    return moved
