"""Views, windows, reads at integer places, and their adjoints. The batch is the first axis of each array."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax


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
    places, before, after = _window_places(x.shape[axis], offset, counts, strides)
    if before or after:
        x = jnp.pad(x, [(before, after) if k == axis else (0, 0) for k in range(x.ndim)])
    return jnp.take(x, places, axis)


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
    places, before, after = _window_places(size, offset, x.shape[first:], strides)
    total = jnp.zeros((*x.shape[:first], before + size + after), x.dtype).at[..., places].add(x)
    return total[..., before : before + size]


def _window_places(
    size: int, offset: int, counts: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[np.ndarray, int, int]:
    """``offset + sum(stride * i)`` with an axis for each i, and the padding before and after ``size`` entries."""
    steps = [stride * np.arange(count) for count, stride in zip(counts, strides, strict=True)]
    places = offset + np.asarray(sum(np.ix_(*steps)))
    before, after = max(0, -int(places.min())), max(0, int(places.max()) + 1 - size)
    return places + before, before, after


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
    """How often each of ``0 ... size - 1`` is in the index of a sample."""
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
