"""Projections on sets, and the adjoints of their derivatives; what has no nearest point becomes NaN."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array


def standardized(x: Array, axes: tuple[int, ...]) -> Array:
    """To mean 0 and variance 1 along the axes; what has no variance stays as it is."""
    centred = x - x.mean(axes, keepdims=True)
    deviation = finite_length(jnp.sqrt((centred * centred).mean(axes, keepdims=True)))
    return jnp.where(deviation == 0, x, centred / deviation)


def standardized_vjp(x: Array, cotangent: Array, axes: tuple[int, ...]) -> Array:
    """``(c - mean(c) - u mean(u c)) / deviation`` with u the standardised x."""
    centred = x - x.mean(axes, keepdims=True)
    deviation = jnp.sqrt((centred * centred).mean(axes, keepdims=True))
    u = centred / deviation
    back = cotangent - cotangent.mean(axes, keepdims=True) - u * (u * cotangent).mean(axes, keepdims=True)
    return jnp.where(deviation > 0, back / deviation, cotangent)


def sphere(x: Array, axes: tuple[int, ...]) -> Array:
    """To norm 1 along the axes; zero stays as it is."""
    length = finite_length(jnp.sqrt((x * x).sum(axes, keepdims=True)))
    return x / jnp.where(length == 0, 1.0, length)


def sphere_vjp(x: Array, cotangent: Array, axes: tuple[int, ...]) -> Array:
    """``(c - u <u, c>) / |x|`` with u = x / |x|."""
    length = jnp.sqrt((x * x).sum(axes, keepdims=True))
    u = x / length
    back = (cotangent - u * (u * cotangent).sum(axes, keepdims=True)) / length
    return jnp.where(length > 0, back, cotangent)


def finite_length(length: Array) -> Array:
    """Lengths with NaN for those that overflow, by which a vector would be divided into zeros."""
    return jnp.where(length == jnp.inf, jnp.nan, length)


def simplex(x: Array, axes: tuple[int, ...]) -> Array:
    """To the nearest nonnegative point of sum 1 along the axes (Held, Wolfe and Crowder 1974)."""
    x = x - x.max(axes, keepdims=True)  # the projection is the same, and its threshold exact however large x is
    return jnp.maximum(x - simplex_threshold(x, axes), 0)


def simplex_vjp(x: Array, cotangent: Array, axes: tuple[int, ...]) -> Array:
    """The cotangent less its mean over the support, on the support."""
    x = x - x.max(axes, keepdims=True)
    support = x > simplex_threshold(x, axes)
    cotangent = jnp.where(support, cotangent, 0.0)
    mean = cotangent.sum(axes, keepdims=True) / support.sum(axes, keepdims=True)
    return jnp.where(support, cotangent - mean, 0.0)


def simplex_threshold(x: Array, axes: tuple[int, ...]) -> Array:
    """The threshold of the projection: it is subtracted from each entry before those below zero are cut off."""
    kept = [k for k in range(x.ndim) if k not in axes]
    moved = x.transpose(*kept, *axes)
    falling = -jnp.sort(-moved.reshape(*moved.shape[: len(kept)], -1), -1)
    excess, count = falling.cumsum(-1) - 1, np.arange(1, falling.shape[-1] + 1)
    size = jnp.maximum((falling * count > excess).sum(-1, keepdims=True), 1)
    threshold = jnp.take_along_axis(excess, size - 1, -1) / size
    return threshold.reshape([1 if k in axes else x.shape[k] for k in range(x.ndim)])
