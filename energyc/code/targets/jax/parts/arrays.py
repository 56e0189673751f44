"""Operations on arrays that JAX has no name for."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


def spread(x: Array, sizes: tuple[int, ...]) -> Array:
    """Broadcast each sample to these sizes."""
    return jnp.broadcast_to(x, (*x.shape[:1], *sizes))


def merged(x: Array, first: int, last: int = -1) -> Array:
    """Neighbouring axes as one."""
    behind = x.shape[last + 1 :] if last != -1 else ()
    return x.reshape(*x.shape[:first], -1, *behind)


def rows(x: Array, first: int, sizes: tuple[int, ...]) -> Array:
    """Broadcast to these sizes from an axis on, and those as one."""
    return jnp.broadcast_to(x, (*x.shape[:first], *sizes)).reshape(*x.shape[:first], -1)


def parted(x: Array, axis: int, sizes: tuple[int, ...]) -> Array:
    """One axis as several."""
    return x.reshape(*x.shape[:axis], *sizes, *x.shape[axis + 1 :])


def placed(x: Array, before: int, after: int) -> Array:
    """Add a last axis of zeros, with x in one place."""
    return jnp.pad(x[..., None], [(0, 0)] * x.ndim + [(before, after)])


def windows(x: Array, axis: int, offset: int, counts: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """``x[..., offset + sum(stride * i), ...]`` with an axis for each i; 0 outside of x."""
    places, size = window_places(offset, counts, strides), x.shape[axis]
    before, after = max(0, -int(places.min())), max(0, int(places.max()) + 1 - size)
    if before or after:
        x = jnp.pad(x, [(before, after) if k == axis else (0, 0) for k in range(x.ndim)])
    return jnp.take(x, places + before, axis)


def overlap_add(x: Array, size: int, offset: int, strides: tuple[int, ...]) -> Array:
    """The adjoint of ``windows``: the window axes come last, one axis of ``size`` takes their place."""
    first = x.ndim - len(strides)
    places = window_places(offset, x.shape[first:], strides)
    before, after = max(0, -int(places.min())), max(0, int(places.max()) + 1 - size)
    total = jnp.zeros((*x.shape[:first], before + size + after), x.dtype).at[..., places + before].add(x)
    return total[..., before : before + size]


def window_places(offset: int, counts: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """``offset + sum(stride * i)``, with an axis for each i."""
    rank = len(counts)
    along = [
        s * np.arange(n).reshape([-1 if j == k else 1 for j in range(rank)])
        for k, (n, s) in enumerate(zip(counts, strides, strict=True))
    ]
    return offset + np.asarray(sum(along))


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


def reduced_at(x: Array, index: Array, size: int, how: str = "add", empty: float = 0.0) -> Array:
    """The entries of the last axis, reduced by ``add`` or ``max`` where an index sends them; empty where none goes.

    The index has as many axes as x, of size 1 where it is the same: where all but its last are, rows are reduced as a
    whole.
    """
    index = jnp.broadcast_to(index, (len(x), *index.shape[1:-1], x.shape[-1]))
    if index.size == len(x) * x.shape[-1]:
        return jnp.moveaxis(_reduced(jnp.moveaxis(x, -1, 1), merged(index, 1), size, how, empty), 1, -1)
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
        return gather(x, merged(index, 1), x.ndim - 1)
    return jnp.take_along_axis(x, jnp.broadcast_to(index, (*x.shape[:-1], index.shape[-1])), -1)


def segment_count(index: Array, size: int) -> Array:
    """How often each of ``0 ... size - 1`` is in the index of a sample."""
    flat = index.reshape(len(index), -1)
    return 1.0 * jax.vmap(lambda at: jnp.zeros(size, jnp.int32).at[at].add(1))(flat)


def batch_median(x: Array) -> Array:
    """The median over the batch; the mean of the middle two of an even number."""
    ordered, count = jnp.sort(x, 0), len(x)
    return (ordered[(count - 1) // 2] + ordered[count // 2]) / 2


def softmax(x: Array, axes: int | tuple[int, ...]) -> Array:
    """Softmax along the axes; 0 where every entry is -inf."""
    top = x.max(axes, keepdims=True)
    weights = jnp.exp(x - jnp.where(top == -jnp.inf, 0.0, top))
    total = weights.sum(axes, keepdims=True)
    return weights / jnp.where(total == 0, 1.0, total)


def or_zero(x: Array) -> Array:
    """0 in the place of -inf, which is what a reduction of nothing gives."""
    return jnp.where(x == -jnp.inf, 0.0, x)


def largest_entry(x: Array, axes: int | tuple[int, ...]) -> Array:
    """The largest entry along the axes."""
    return x.max(axes)


def first_largest(x: Array, axes: int | tuple[int, ...]) -> Array:
    """1 at the first largest entry along the axes, else 0; 0 where every entry is -inf."""
    axes = (axes,) if isinstance(axes, int) else axes
    order = (*(k for k in range(x.ndim) if k not in axes), *axes)
    moved = x.transpose(order)
    flat = moved.reshape(*moved.shape[: -len(axes)], -1)
    hot = (jnp.arange(flat.shape[-1]) == flat.argmax(-1, keepdims=True)) & (flat.max(-1, keepdims=True) > -jnp.inf)
    return 1.0 * hot.reshape(moved.shape).transpose(tuple(np.argsort(order)))


def segment_softmax(x: Array, index: Array, size: int, mask: Array | None = None) -> Array:
    """``exp(x)`` over its sum in the segment: of the last axis, the entries that the index sends to one place."""
    weights, _, total = segment_exponentials(x, index, size, mask)
    return weights / taken_at(jnp.where(total == 0, 1.0, total), index)


def segment_logsumexp(x: Array, index: Array, size: int, mask: Array | None = None) -> Array:
    """``log sum exp(x)`` of each segment; 0 of an empty one."""
    _, top, total = segment_exponentials(x, index, size, mask)
    return jnp.log(jnp.where(total == 0, 1.0, total)) + top


def segment_max(x: Array, index: Array, size: int, mask: Array | None = None) -> Array:
    """The largest entry of each segment; 0 of an empty one."""
    return or_zero(segment_largest(segment_entries(x, index, mask), index, size))


def segment_first_largest(x: Array, index: Array, size: int, mask: Array | None = None) -> Array:
    """1 at the first largest entry of each segment, else 0."""
    x = segment_entries(x, index, mask)
    top = taken_at(segment_largest(x, index, size), index)
    none = x.shape[-1]
    places = jnp.where((x == top) & (top > -jnp.inf), jnp.arange(none), none)
    first = -segment_largest(-1.0 * places, index, size)
    return 1.0 * ((places == taken_at(first, index)) & (places < none))


def segment_entries(x: Array, index: Array, mask: Array | None) -> Array:
    """The entries at the shape that they have in common with the index, -inf where the mask excludes."""
    shape = jnp.broadcast_shapes(x.shape, index.shape, () if mask is None else mask.shape)
    return jnp.broadcast_to(x if mask is None else jnp.where(mask, x, -jnp.inf), shape)


def segment_largest(x: Array, index: Array, size: int) -> Array:
    """The largest entry of each segment, -inf of an empty one."""
    return reduced_at(x, index, size, "max", -jnp.inf)


def segment_exponentials(x: Array, index: Array, size: int, mask: Array | None) -> tuple[Array, Array, Array]:
    """``exp(x - top)``, the top and the sum of each segment."""
    x = segment_entries(x, index, mask)
    top = or_zero(segment_largest(x, index, size))
    weights = jnp.exp(x - taken_at(top, index))
    return weights, top, reduced_at(weights, index, size)
