"""Linear systems without a matrix, one for each row."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


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
