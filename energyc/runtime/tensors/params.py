"""Params: starting values, sets of params, projections to the nearest point, the part of a gradient along a set.

``rows`` and ``columns`` are axes of the param; a matrix has an index of all its rows by one of all its columns, and the
other axes count matrices. A vector of :func:`unit` runs along ``axes``.
"""

from __future__ import annotations

from math import prod, sqrt

import torch
from torch import Tensor

from .warning import warn_caller

Axes = tuple[int, ...]

# -------------------------------------------------------------------- draws in float64 on the CPU, of noise too
# Neither dtype nor device changes them.


def normal(random: torch.Generator | None, shape: tuple[int, ...], deviation: float) -> Tensor:
    """Normal draws of mean 0 in float64."""
    return deviation * torch.randn(shape, generator=random, dtype=torch.float64)


def uniform(random: torch.Generator | None, shape: tuple[int, ...], low: float, high: float) -> Tensor:
    """Uniform draws in float64."""
    return low + (high - low) * torch.rand(shape, generator=random, dtype=torch.float64)


def glorot(random: torch.Generator | None, shape: tuple[int, ...], copies: int = 0) -> Tensor:
    """Uniform draws on [-b, b] with b = sqrt(6 / (fan_in + fan_out)), in float64 (Glorot and Bengio 2010).

    The first ``copies`` axes number copies of a param; each is drawn as a single one would be.
    """
    bound = sqrt(6 / sum(fans(shape[copies:])))
    return uniform(random, shape, -bound, bound)


def kaiming(random: torch.Generator | None, shape: tuple[int, ...], copies: int = 0) -> Tensor:
    """Normal draws of variance 2 / fan_in in float64 (He et al. 2015), with ``copies`` as ``glorot``."""
    return normal(random, shape, sqrt(2 / fans(shape[copies:])[0]))


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return fan in and fan out of a weight ``W[out, in, ...]``: what follows the second axis is a kernel, in both."""
    if len(shape) < 2:
        return max(prod(shape), 1), max(prod(shape), 1)
    return prod(shape[1:]), shape[0] * prod(shape[2:])


# -------------------------------------------------------------------- sets


def exchanged(x: Tensor, rows: Axes, columns: Axes) -> Tensor:
    """The transpose: a view with rows and columns exchanged."""
    order = list(range(x.dim()))
    for row, column in zip(rows, columns):
        order[row], order[column] = column, row
    return x.permute(order)


def matrices(x: Tensor, rows: Axes, columns: Axes) -> Tensor:
    """The matrices of a tensor, [all other axes, rows, columns]."""
    others = [k for k in range(x.dim()) if k not in rows and k not in columns]
    flat = x.permute(*others, *rows, *columns)
    return flat.flatten(len(others), len(others) + len(rows) - 1).flatten(len(others) + 1)


def of_matrices(flat: Tensor, like: Tensor, rows: Axes, columns: Axes) -> Tensor:
    """The tensor of its :func:`matrices`, of the shape of ``like``."""
    others = [k for k in range(like.dim()) if k not in rows and k not in columns]
    order = [*others, *rows, *columns]
    return flat.reshape([like.shape[k] for k in order]).permute([order.index(k) for k in range(like.dim())])


def mirrored(x: Tensor, rows: Axes, columns: Axes) -> Tensor:
    """A symmetric start: the entries on and above the diagonal, and their mirrors below, which follow their law too."""
    flat = matrices(x, rows, columns)
    return of_matrices(flat.triu() + flat.triu(1).mT, x, rows, columns)


def symmetric(x: Tensor, rows: Axes, columns: Axes) -> Tensor:
    """The nearest symmetric tensor, (x + x^T) / 2; also the part of a gradient along the set."""
    return (x + exchanged(x, rows, columns)) / 2


def zero_diagonal(x: Tensor, rows: Axes, columns: Axes) -> Tensor:
    """The nearest tensor with 0 where rows and columns agree; also the part of a gradient along the set."""
    flat = matrices(x, rows, columns)
    diagonal = torch.eye(flat.shape[-1], dtype=torch.bool, device=x.device)
    return of_matrices(flat.masked_fill(diagonal, 0.0), x, rows, columns)


def unit(x: Tensor, axes: Axes) -> Tensor:
    """The nearest vectors of norm 1 along the axes.

    All are equally near to a vector of zeros: it becomes that of equal entries, with a RuntimeWarning.
    """
    largest = x.abs().amax(axes, keepdim=True)
    if bool((largest == 0).any()):
        message = "a vector of a param on a sphere became zero, which has no direction: all its entries are made equal"
        warn_caller(message)
    wide = torch.where(largest == 0, 1.0, (x / largest).double())
    return (wide / wide.square().sum(axes, keepdim=True).sqrt()).to(x.dtype)


def along_sphere(gradient: Tensor, x: Tensor, axes: Axes) -> Tensor:
    """``g - x <x, g>``: the part of a gradient along the sphere at x."""
    return gradient - x * (x * gradient).sum(axes, keepdim=True)


def orthogonal(x: Tensor, rows: Axes, columns: Axes) -> Tensor:
    """The nearest matrices with orthonormal rows: ``u v^T`` of the singular value decomposition ``u s v^T``.

    It is the polar factor (Fan and Hoffman 1955), made in float64; of normal draws it is uniform on the set (Chikuse
    2003, theorem 2.2.1). What is not finite stays.
    """
    flat = matrices(x, rows, columns).double()
    if not bool(flat.isfinite().all()):
        return x
    u, _, vt = torch.linalg.svd(flat, full_matrices=False)
    return of_matrices((u @ vt).to(x.dtype), x, rows, columns)


def norm_at_most(x: Tensor, rows: Axes, columns: Axes, bound: float) -> Tensor:
    """The nearest matrices of an operator norm of at most ``bound``: larger singular values are cut to it.

    The singular value decomposition is made in float64, and only where the Frobenius norm is above the bound; values
    are cut by as much lower as rounding, in float64 and to the dtype of ``x``, may raise the norm. What is not finite
    stays.
    """
    flat = matrices(x, rows, columns).double()
    if not bool(flat.isfinite().all()) or bool((torch.linalg.matrix_norm(flat) <= bound).all()):
        return x
    u, s, vt = torch.linalg.svd(flat, full_matrices=False)
    if bool((s <= bound).all()):
        return x
    room = torch.finfo(x.dtype).eps * s.shape[-1] ** 0.5 + 10 * torch.finfo(s.dtype).eps * s.shape[-1]
    cut = s.clamp(max=bound * (1 - room))
    return of_matrices((u * cut.unsqueeze(-2) @ vt).to(x.dtype), x, rows, columns)


def along_orthogonal(gradient: Tensor, x: Tensor, rows: Axes, columns: Axes) -> Tensor:
    """``G - (G X^T + X G^T) X / 2``: the part of a gradient along the matrices with orthonormal rows at X.

    Absil, Mahony and Sepulchre 2008, equation 3.35, for the transpose.
    """
    g, flat = matrices(gradient, rows, columns), matrices(x, rows, columns)
    across = g @ flat.mT
    return of_matrices(g - (across + across.mT) @ flat / 2, x, rows, columns)
