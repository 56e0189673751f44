"""Linear systems without a matrix, one for each row."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def gmres(
    operator: Callable[[Tensor], Tensor],
    rhs: Tensor,
    tolerance: float,
    restart: int,
    cycles: int,
    start: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Solve ``operator(x) = rhs`` for each row by restarted GMRES (Saad and Schultz 1986), from 0 or a ``start``.

    Returns x [batch, entries] and the relative residual of each row [batch], infinite where a product is not finite.
    """
    scale = rhs.norm(dim=1).clamp_min(torch.finfo(rhs.dtype).tiny)
    x, residual = (torch.zeros_like(rhs), rhs) if start is None else (start, rhs - operator(start))
    for _ in range(cycles):
        size = residual.norm(dim=1)
        if bool((size <= tolerance * scale).all()):
            break
        basis, triangle, turned = arnoldi(operator, residual, size, tolerance * scale, min(restart, rhs.shape[1]))
        if not bool(triangle.isfinite().all()):
            return x, torch.full_like(size, torch.inf)
        x = x + (least_squares(triangle, turned) @ basis.transpose(0, 1))[:, 0]
        residual = rhs - operator(x)
    return x, residual.norm(dim=1) / scale


def arnoldi(
    operator: Callable[[Tensor], Tensor], residual: Tensor, size: Tensor, goal: Tensor, most: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Orthonormal vectors [n, batch, entries] and their least-squares problem, n at most ``most``.

    Givens rotations bring the Hessenberg matrix to a triangle [batch, n, n] as it grows, and the right-hand side to
    what is returned with it [batch, n]; what they leave below is the least residual. It ends where that of each row is
    within its goal.
    """
    batch, entries = residual.shape
    basis = residual.new_empty(most + 1, batch, entries)
    triangle, turned = residual.new_zeros(batch, most, most), residual.new_zeros(batch, most)
    turns = residual.new_ones(batch, 1, 1)  # the product of the rotations
    basis[0] = residual / size.clamp_min(torch.finfo(residual.dtype).tiny)[:, None]
    for k in range(most):
        w, known = operator(basis[k]), basis[: k + 1].transpose(0, 1)
        column = residual.new_zeros(batch, k + 1)
        for _ in range(2):  # twice is enough (Kahan, in Parlett 1980)
            h = (known @ w[:, :, None])[:, :, 0]
            w = w - (h[:, None] @ known)[:, 0]
            column += h
        height = w.norm(dim=1)
        basis[k + 1] = w / torch.where(height > 1e-14 * size, height, torch.inf)[:, None]
        column = (turns @ column[:, :, None])[:, :, 0]
        turns, column[:, k] = rotated(turns, column[:, k], height)
        triangle[:, : k + 1, k], turned[:, k] = column, size * turns[:, k, 0]
        if not bool((size * turns[:, k + 1, 0].abs() > goal).any()):
            break
    return basis[: k + 1], triangle[:, : k + 1, : k + 1], turned[:, : k + 1]


def rotated(turns: Tensor, above: Tensor, below: Tensor) -> tuple[Tensor, Tensor]:
    """Rotations [batch, n, n] with one more, of the last two rows, that brings ``below`` to 0; and then ``above``."""
    length = torch.hypot(above, below)
    whole = length.clamp_min(torch.finfo(length.dtype).tiny)
    c, s = torch.where(length > 0, above / whole, 1.0)[:, None], (below / whole)[:, None]
    grown = F.pad(turns, (0, 1, 0, 1))
    upper = grown[:, -2].clone()
    grown[:, -1, -1] = 1
    grown[:, -2], grown[:, -1] = c * upper + s * grown[:, -1], c * grown[:, -1] - s * upper
    return grown, length


def least_squares(triangle: Tensor, turned: Tensor) -> Tensor:
    """The weights [batch, 1, n] of the vectors; none of those of a space that is exhausted."""
    diagonal = triangle.diagonal(dim1=1, dim2=2)
    empty = diagonal.abs() <= torch.finfo(diagonal.dtype).eps * diagonal.abs().amax(1, keepdim=True)
    whole = triangle + torch.diag_embed(torch.where(empty, 1.0 - diagonal, 0.0))
    right = torch.where(empty, 0.0, turned)[:, :, None]
    return torch.linalg.solve_triangular(whole, right, upper=True).mT
