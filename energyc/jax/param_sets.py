"""Sets of params: the nearest points on them, and the parts of gradients along them.

``rows`` and ``columns`` are axes of the param; a matrix has an index of all its rows by one of all its columns, and the
other axes count matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array


def _matrices(x: Array, rows: tuple[int, ...], columns: tuple[int, ...]) -> tuple[Array, Callable[[Array], Array]]:
    """The matrices of an array, [all other axes, rows, columns], and the way back from them to the array."""
    order = [*(k for k in range(x.ndim) if k not in rows and k not in columns), *rows, *columns]
    moved = x.transpose(order)
    height = math.prod(x.shape[k] for k in rows)
    flat = moved.reshape(*moved.shape[: -len(rows) - len(columns)], height, -1)
    return flat, lambda flat: flat.reshape(moved.shape).transpose(np.argsort(order))


def mirrored(x: Array, rows: tuple[int, ...], columns: tuple[int, ...]) -> Array:
    """A symmetric start: the entries on and above the diagonal, and their mirrors below, which follow their law too."""
    flat, back = _matrices(x, rows, columns)
    return back(jnp.triu(flat) + jnp.triu(flat, 1).swapaxes(-1, -2))


def symmetric(x: Array, rows: tuple[int, ...], columns: tuple[int, ...]) -> Array:
    """The nearest symmetric array; also the part of a gradient along the set."""
    flat, back = _matrices(x, rows, columns)
    return back((flat + flat.swapaxes(-1, -2)) / 2)


def zero_diagonal(x: Array, rows: tuple[int, ...], columns: tuple[int, ...]) -> Array:
    """The nearest array with 0 where rows and columns agree; also the part of a gradient along the set."""
    flat, back = _matrices(x, rows, columns)
    return back(jnp.where(jnp.eye(flat.shape[-1], dtype=bool), 0.0, flat))


def orthogonal(x: Array, rows: tuple[int, ...], columns: tuple[int, ...]) -> Array:
    """The nearest matrices with orthonormal rows: ``u v^T`` of the singular value decomposition ``u s v^T``."""
    flat, back = _matrices(x, rows, columns)
    u, _, vt = jnp.linalg.svd(flat, full_matrices=False)
    return back(u @ vt)


def along_orthogonal(gradient: Array, x: Array, rows: tuple[int, ...], columns: tuple[int, ...]) -> Array:
    """``G - (G X^T + X G^T) X / 2``: the part along the matrices with orthonormal rows at X (Absil et al. 2008)."""
    (g, back), (flat, _) = _matrices(gradient, rows, columns), _matrices(x, rows, columns)
    across = g @ flat.swapaxes(-1, -2)
    return back(g - (across + across.swapaxes(-1, -2)) @ flat / 2)


def norm_at_most(x: Array, rows: tuple[int, ...], columns: tuple[int, ...], bound: float) -> Array:
    """The nearest matrices of an operator norm of at most ``bound``, cut lower by what rounding may raise."""
    flat, back = _matrices(x, rows, columns)
    u, s, vt = jnp.linalg.svd(flat, full_matrices=False)
    room = 10 * jnp.finfo(x.dtype).eps * s.shape[-1] ** 0.5
    cut = u * jnp.minimum(s, bound * (1 - room))[..., None, :] @ vt
    return back(jnp.where((s <= bound).all(-1)[..., None, None], flat, cut))


def unit(x: Array, axes: tuple[int, ...]) -> Array:
    """The nearest vectors of norm 1 along the axes; a vector of zeros becomes that of equal entries."""
    largest = jnp.abs(x).max(axes, keepdims=True)
    wide = jnp.where(largest == 0, 1.0, x / largest)
    return wide / jnp.sqrt((wide * wide).sum(axes, keepdims=True))


def along_sphere(gradient: Array, x: Array, axes: tuple[int, ...]) -> Array:
    """``g - x <x, g>``: the part of a gradient along the sphere at x."""
    return gradient - x * (x * gradient).sum(axes, keepdims=True)
