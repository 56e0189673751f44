"""Kinks that move by proximal steps: their operators, the adjoints of these, and the slopes of their weights.

A corner is a number at which a slope rises from ``-below`` to ``above``, in the units of a step: the step times the
weight of the kink, or 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
from jax import Array

from energyc.code.targets.jax.parts.network import (
    Fixed,
    Params,
    Slopes,
    States,
    kink_slopes,
    proximal,
    proximal_vjp,
    smooth_vjp,
)
from energyc.code.targets.jax.parts.steps import moved, step_sizes

#: A corner: the number, and the thresholds below and above it.
Corner = tuple[float, Array | float, Array | float]


def advanced(params: Params, states: States, fixed: Fixed, slopes: States) -> States:
    """Each state along a force without its kinks, then to its proximal point."""
    return proximal(params, fixed, moved(fixed, states, slopes), step_sizes(fixed))


def advanced_vjp(params: Params, at: States, fixed: Fixed, cotangents: States) -> States:
    """P^T cotangents, P the derivative of the proximal point at where a force led."""
    return proximal_vjp(params, fixed, at, cotangents)


def force_vjp(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """J^T cotangents of the force without its kinks; the slopes by params are those of the kinks at rest too."""
    return kinked_vjp(params, states, states, fixed, cotangents)


def kinked_vjp(
    params: Params, states: States, after: States, fixed: Fixed, cotangents: States
) -> tuple[States, Slopes]:
    """The same, with the slopes of kinks at where a step leads."""
    earlier, slopes = smooth_vjp(params, states, fixed, cotangents)
    kinks = kink_slopes(params, after, fixed, cotangents)
    return earlier, {**slopes, **{name: slopes[name] + x if name in slopes else x for name, x in kinks.items()}}


def thresholds(x: Array, corners: Sequence[Corner]) -> Iterator[tuple[Corner, Array, Array]]:
    """Each corner in the order of their numbers, with the distance from it and where its operator leads from there.

    That is the nearest of the numbers from ``x - above`` to ``x + below``; on the corner it is the corner exactly. Of
    several corners all slopes but the first begin at 0, so that their operators follow each other.
    """
    if len(corners) > 1:
        x = x + sum(below for _, below, _ in corners)
        corners = [(at, 0.0, below + above) for at, below, above in corners]
    for at, below, above in corners:
        led = jnp.maximum(jnp.minimum(x + below, at), x - above)
        yield (at, below, above), x - at, led
        x = led


def at_corners(x: Array, corners: Sequence[Corner]) -> Array:
    """The proximal point of a sum of corners, in the order of their numbers: soft thresholds."""
    for _, _, led in thresholds(x, corners):
        x = led
    return x


def corners_vjp(x: Array, cotangent: Array, corners: Sequence[Corner]) -> Array:
    """The cotangent, 0 where the operator leads onto a corner; at its edge it is that of what moves."""
    for (_, below, above), away, _ in thresholds(x, corners):
        cotangent = jnp.where((away >= above) | (-away >= below), cotangent, 0.0)
    return cotangent


def shrunk(x: Array, threshold: Array, axes: tuple[int, ...]) -> Array:
    """The proximal point of a norm along the axes: shorter by the threshold, 0 where it is as short."""
    length = jnp.sqrt((x * x).sum(axes, keepdims=True))
    return x * (jax.nn.relu(length - threshold) / jnp.where(length == 0, 1.0, length))


def shrunk_vjp(x: Array, cotangent: Array, threshold: Array, axes: tuple[int, ...]) -> Array:
    """``(1 - t/|x|) c + t/|x| u <u, c>`` with u = x / |x|; 0 where the operator leads to 0."""
    length, u = jnp.sqrt((x * x).sum(axes, keepdims=True)), direction(x, axes)
    across = cotangent - u * (u * cotangent).sum(axes, keepdims=True)
    back = cotangent - threshold / jnp.where(length == 0, 1.0, length) * across
    return jnp.where((length > threshold) | (threshold == 0), back, 0.0)


def direction(x: Array, axes: tuple[int, ...]) -> Array:
    """Vectors of length 1 along the axes; zero stays as it is."""
    length = jnp.sqrt((x * x).sum(axes, keepdims=True))
    return x / jnp.where(length == 0, 1.0, length)
