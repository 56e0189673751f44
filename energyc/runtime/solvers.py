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
    tiny = torch.finfo(rhs.dtype).tiny
    scale = rhs.norm(dim=1).clamp_min(tiny)
    x, residual = torch.zeros_like(rhs), rhs
    for _ in range(cycles):
        size = residual.norm(dim=1)
        if bool((size <= tolerance * scale).all()):
            break
        basis, hessenberg = arnoldi(operator, residual, size, tolerance * scale, min(restart, rhs.shape[1]))
        if not bool(hessenberg.isfinite().all()):
            return x, torch.full_like(size, torch.inf)
        target = F.pad(size[:, None], (0, hessenberg.shape[2]))
        weights = torch.linalg.pinv(hessenberg) @ target[:, :, None]
        x = x + (weights.mT @ basis.transpose(0, 1))[:, 0]
        residual = rhs - operator(x)
    return x, residual.norm(dim=1) / scale


def arnoldi(
    operator: Callable[[Tensor], Tensor], residual: Tensor, size: Tensor, goal: Tensor, most: int
) -> tuple[Tensor, Tensor]:
    """Orthonormal vectors [n, batch, entries] and their Hessenberg matrix [batch, n + 1, n], n at most ``most``.

    It ends where the least residual of each row is within its goal. That is |r| / |g|, where g is the left null vector
    of the matrix whose first entry is 1: of a row whose space is exhausted it is 0.
    """
    batch, entries = residual.shape
    basis = residual.new_empty(most + 1, batch, entries)
    hessenberg = residual.new_zeros(batch, most + 1, most)
    null = residual.new_ones(batch, 1)
    basis[0] = residual / size.clamp_min(torch.finfo(residual.dtype).tiny)[:, None]
    for k in range(most):
        w, known = operator(basis[k]), basis[: k + 1].transpose(0, 1)
        for _ in range(2):  # twice is enough (Kahan, in Parlett 1980)
            h = (known @ w[:, :, None])[:, :, 0]
            w = w - (h[:, None] @ known)[:, 0]
            hessenberg[:, : k + 1, k] += h
        height = w.norm(dim=1)
        hessenberg[:, k + 1, k] = height
        basis[k + 1] = w / torch.where(height > 1e-14 * size, height, torch.inf)[:, None]
        null = torch.cat([null, -(null * hessenberg[:, : k + 1, k]).sum(1, True) / height[:, None]], 1)
        if not bool((size / null.norm(dim=1) > goal).any()):
            break
    return basis[: k + 1], hessenberg[:, : k + 2, : k + 1]


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
