"""Views, windows, reads at integer places, their adjoints, and reductions with the derivatives that a spec gives them.

The batch is the first axis of each array. Ties of a maximum go to the first entry, and a reduction of nothing is 0,
which ``jax.grad`` of the plain forms would not respect. A segment are the entries of the last axis that an index sends
to one place.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

#: Axes as NumPy takes them.
Axes = int | tuple[int, ...]


def spread(x: Array, sizes: tuple[int, ...]) -> Array:
    """Broadcast each sample to these sizes."""
    return jnp.broadcast_to(x, (*x.shape[:1], *sizes))


def rows(x: Array, first: int, sizes: tuple[int, ...]) -> Array:
    """Broadcast to these sizes from an axis on, and those as one."""
    return lax.collapse(jnp.broadcast_to(x, (*x.shape[:first], *sizes)), first)


def parted(x: Array, axis: int, sizes: tuple[int, ...]) -> Array:
    """One axis as several."""
    return x.reshape(*x.shape[:axis], *sizes, *x.shape[axis + 1 :])


def placed(x: Array, before: int, after: int) -> Array:
    """Add a last axis of zeros, with x in one place."""
    return jnp.pad(x[..., None], [(0, 0)] * x.ndim + [(before, after)])


# ---------------------------------------------------------------------- windows


def windows(
    x: Array, axis: int | tuple[int, ...], offset: int, counts: tuple[int, ...], strides: tuple[int, ...]
) -> Array:
    """``x[..., offset + sum(stride * i), ...]`` with an axis for each i; 0 outside of x.

    Of several axes of x, in their order, each is replaced so.
    """
    if isinstance(axis, tuple):
        for k, each in enumerate(axis):
            x = windows(x, each + k * (len(counts) - 1), offset, counts, strides)
        return x
    steps = [stride * np.arange(count) for count, stride in zip(counts, strides, strict=True)]
    places = offset + np.asarray(sum(np.ix_(*steps)))
    before, after = max(0, -int(places.min())), max(0, int(places.max()) + 1 - x.shape[axis])
    if before or after:
        x = jnp.pad(x, [(before, after) if k == axis else (0, 0) for k in range(x.ndim)])
    return jnp.take(x, places + before, axis)


def overlap_add(x: Array, size: int | tuple[int, ...], offset: int, strides: tuple[int, ...]) -> Array:
    """The adjoint of ``windows``: the window axes come last, one axis of ``size`` takes their place.

    For several sizes there are windows of as many axes, one after the other, and an axis of each size in their place.
    """
    if isinstance(size, tuple):
        k = len(strides)
        for left in range(len(size), 0, -1):
            first = x.ndim - left * k
            windows_last = jnp.moveaxis(x, range(first, first + k), range(-k, 0))
            x = jnp.moveaxis(overlap_add(windows_last, size[-left], offset, strides), -1, first)
        return x
    first = x.ndim - len(strides)
    like = jax.ShapeDtypeStruct((*x.shape[:first], size), x.dtype)
    return jax.linear_transpose(lambda t: windows(t, first, offset, x.shape[first:], strides), like)(x)[0]


# ---------------------------------------------------------------------- integer places


def element(table: Array, *places: Array) -> Array:
    """Each sample's integers at places: numbers, or tensors with the batch (or 1) in front; -1 outside of the table."""
    at = jnp.broadcast_arrays(*places)
    inside = jnp.stack([(p >= 0) & (p < n) for p, n in zip(at, table.shape[1:], strict=True)]).all(0)
    samples = jnp.arange(len(table)).reshape(-1, *[1] * (at[0].ndim - 1))
    found = table[(samples, *(p.clip(0, n - 1) for p, n in zip(at, table.shape[1:], strict=True)))]
    return jnp.where(inside, found, -1)


def gather(x: Array, index: Array, axis: int) -> Array:
    """Each sample's ``x[..., index, ...]`` along an axis, in whose place are those of the index."""
    x = jnp.broadcast_to(x, (len(index), *x.shape[1:]))
    return jax.vmap(lambda own, at: jnp.take(own, at, axis - 1))(x, index)


def scatter_add(x: Array, index: Array, size: int) -> Array:
    """The adjoint of ``table[index]``: rows of x are added up where they were read from."""
    return jnp.zeros((size, *x.shape[index.ndim :]), x.dtype).at[index].add(x)


def segment_sum(x: Array, index: Array, axis: int, size: int) -> Array:
    """The adjoint of ``gather``: each sample's entries along an axis, added up where the index sends them.

    ``index`` is ``[batch, entries]``, or has as many axes as x, of size 1 where it is the same.
    """
    x = jnp.broadcast_to(x, (len(index), *x.shape[1:]))
    if index.ndim == 2:
        index = index.reshape(len(index), *[-1 if k == axis else 1 for k in range(1, x.ndim)])
    return jnp.moveaxis(reduced_at(jnp.moveaxis(x, axis, -1), jnp.moveaxis(index, axis, -1), size), -1, axis)


def segment_count(index: Array, size: int) -> Array:
    """Count how often each of ``0 ... size - 1`` occurs in the index of a sample."""
    return 1.0 * jax.vmap(lambda at: jnp.zeros(size, jnp.int32).at[at].add(1))(lax.collapse(index, 1))


def reduced_at(x: Array, index: Array, size: int, how: str = "add", empty: float = 0.0) -> Array:
    """The entries of the last axis, reduced by ``add`` or ``max`` where an index sends them; empty where none goes.

    The index has as many axes as x, of size 1 where it is the same: where all but its last are, rows are reduced as a
    whole.
    """
    index = jnp.broadcast_to(index, (len(x), *index.shape[1:-1], x.shape[-1]))
    if index.size == len(x) * x.shape[-1]:
        return jnp.moveaxis(_reduced(jnp.moveaxis(x, -1, 1), lax.collapse(index, 1), size, how, empty), 1, -1)
    own = x.reshape(-1, x.shape[-1]), jnp.broadcast_to(index, x.shape).reshape(-1, x.shape[-1])
    return _reduced(*own, size, how, empty).reshape(*x.shape[:-1], size)


def _reduced(x: Array, index: Array, size: int, how: str, empty: float) -> Array:
    """The rows x ``[batch, entries, ...]`` of each sample, reduced where its index ``[batch, entries]`` sends them."""
    first = jnp.full((size, *x.shape[2:]), empty, x.dtype)
    return jax.vmap(lambda own, at: getattr(first.at[at], how)(own))(x, index)


def taken_at(x: Array, index: Array) -> Array:
    """The adjoint of ``reduced_at`` by ``add``: the entries of the last axis where an index reads them."""
    index = jnp.broadcast_to(index, (len(x), *index.shape[1:]))
    if index.size == len(x) * index.shape[-1]:
        return gather(x, lax.collapse(index, 1), x.ndim - 1)
    return jnp.take_along_axis(x, jnp.broadcast_to(index, (*x.shape[:-1], index.shape[-1])), -1)


# ---------------------------------------------------------------------- reductions along axes


def or_zero(x: Array) -> Array:
    """0 in the place of -inf, which is what a reduction of nothing gives."""
    return jnp.where(x == -jnp.inf, 0.0, x)


def _or_one(x: Array) -> Array:
    """1 in the place of 0, which is the sum of nothing."""
    return jnp.where(x == 0, 1.0, x)


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


# ---------------------------------------------------------------------- reductions over segments


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
