"""Reductions along axes and over segments, each with the derivative that a spec gives it.

Ties of a maximum go to the first entry, and a reduction of nothing is 0, which ``jax.grad`` of the plain forms would
not respect. A segment are the entries of the last axis that an index sends to one place.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .indexing import reduced_at, taken_at

#: Axes as NumPy takes them.
Axes = int | tuple[int, ...]


def or_zero(x: Array) -> Array:
    """0 in the place of -inf, which is what a reduction of nothing gives."""
    return jnp.where(x == -jnp.inf, 0.0, x)


def _or_one(x: Array) -> Array:
    """1 in the place of 0, which is the sum of nothing."""
    return jnp.where(x == 0, 1.0, x)


# ---------------------------------------------------------------------- along axes


def softmax(x: Array, axes: Axes) -> Array:
    """Softmax along the axes; 0 where every entry is -inf."""
    weights, _ = _exponentials(x, axes)
    return weights / _or_one(weights.sum(axes, keepdims=True))


def logsumexp(x: Array, axes: Axes) -> Array:
    """log sum exp along the axes; 0 where every entry is -inf."""
    weights, top = _exponentials(x, axes)
    return jnp.log(_or_one(weights.sum(axes))) + top.squeeze(axes)


def _exponentials(x: Array, axes: Axes) -> tuple[Array, Array]:
    """``exp(x - top)`` and the top, a constant to differentiation."""
    top = lax.stop_gradient(or_zero(x.max(axes, keepdims=True)))
    return jnp.exp(x - top), top


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def largest_entry(x: Array, axes: Axes) -> Array:
    """The largest entry along the axes; its slope is that of the first one."""
    return x.max(axes)


@largest_entry.defjvp
def _largest_entry_jvp(axes: Axes, given: Any, tangents: Any) -> tuple[Array, Array]:
    (x,), (t,) = given, tangents
    return largest_entry(x, axes), (first_largest(x, axes).astype(t.dtype) * t).sum(axes)


def first_largest(x: Array, axes: Axes) -> Array:
    """1 at the first largest entry along the axes, else 0; 0 where every entry is -inf."""
    axes = (axes,) if isinstance(axes, int) else axes
    order = (*(k for k in range(x.ndim) if k not in axes), *axes)
    moved = x.transpose(order)
    flat = moved.reshape(*moved.shape[: -len(axes)], -1)
    hot = (jnp.arange(flat.shape[-1]) == flat.argmax(-1, keepdims=True)) & (flat.max(-1, keepdims=True) > -jnp.inf)
    return 1.0 * hot.reshape(moved.shape).transpose(tuple(np.argsort(order)))


# ---------------------------------------------------------------------- over segments


def segment_softmax(x: Array, index: Array, size: int, mask: Array | None = None) -> Array:
    """``exp(x)`` over its sum in the segment."""
    weights, _ = _segment_exponentials(x, index, size, mask)
    return weights / taken_at(_or_one(reduced_at(weights, index, size)), index)


def segment_logsumexp(x: Array, index: Array, size: int, mask: Array | None = None) -> Array:
    """``log sum exp(x)`` of each segment; 0 of an empty one."""
    weights, top = _segment_exponentials(x, index, size, mask)
    return jnp.log(_or_one(reduced_at(weights, index, size))) + top


def _segment_exponentials(x: Array, index: Array, size: int, mask: Array | None) -> tuple[Array, Array]:
    """``exp(x - top)`` and the top of each segment, a constant to differentiation."""
    x = _segment_entries(x, index, mask)
    top = or_zero(_segment_largest(lax.stop_gradient(x), index, size))
    return jnp.exp(x - taken_at(top, index)), top


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def segment_max(x: Array, index: Array, size: int, mask: Array | None = None) -> Array:
    """The largest entry of each segment, whose slope is that of the first one; 0 of an empty one."""
    return or_zero(_segment_largest(_segment_entries(x, index, mask), index, size))


@segment_max.defjvp
def _segment_max_jvp(size: int, given: Any, tangents: Any) -> tuple[Array, Array]:
    x, index, mask = given
    first = segment_first_largest(x, index, size, mask).astype(x.dtype)
    return segment_max(x, index, size, mask), reduced_at(first * tangents[0], index, size)


def segment_first_largest(x: Array, index: Array, size: int, mask: Array | None = None) -> Array:
    """1 at the first largest entry of each segment, else 0."""
    x = _segment_entries(x, index, mask)
    top = taken_at(_segment_largest(x, index, size), index)
    none = x.shape[-1]
    places = jnp.where((x == top) & (top > -jnp.inf), jnp.arange(none), none)
    first = -_segment_largest(-1.0 * places, index, size)
    return 1.0 * ((places == taken_at(first, index)) & (places < none))


def _segment_entries(x: Array, index: Array, mask: Array | None) -> Array:
    """The entries at the shape that they have in common with the index, -inf where the mask excludes."""
    shape = jnp.broadcast_shapes(x.shape, index.shape, () if mask is None else mask.shape)
    return jnp.broadcast_to(x if mask is None else jnp.where(mask, x, -jnp.inf), shape)


def _segment_largest(x: Array, index: Array, size: int) -> Array:
    """The largest entry of each segment, -inf of an empty one."""
    return reduced_at(x, index, size, "max", -jnp.inf)
