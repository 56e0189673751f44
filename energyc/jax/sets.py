"""Sets of states and of params: projections on them, and the proximal operators of kinks of energies.

Those of states are differentiable: ``jax.vjp`` gives 0 in the entries that a set holds, and on an edge the derivative
of the inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax


@dataclass(frozen=True)
class Real:
    """All real arrays of a shape, which is that of a state without the batch; the base of sets in it."""

    shape: tuple[int, ...]

    def project(self, x: Array) -> Array:
        """The nearest point of the set to x [batch, ...]; NaN where there is none."""
        return x


@dataclass(frozen=True)
class Box(Real):
    """Entries from ``low`` to ``high``; None for no bound."""

    low: float | None = None
    high: float | None = None

    def project(self, x: Array) -> Array:
        x = x if self.low is None else jnp.where(x < self.low, self.low, x)
        return x if self.high is None else jnp.where(x > self.high, self.high, x)


@dataclass(frozen=True)
class Along(Real):
    """A set of the vectors along some axes, which are counted from the last."""

    axes: tuple[int, ...] = ()


class Standardized(Along):
    """Vectors of mean 0 and variance 1; a vector without variance stays as it is."""

    def project(self, x: Array) -> Array:
        centred = x - x.mean(self.axes, keepdims=True)
        variance = (centred * centred).mean(self.axes, keepdims=True)
        return jnp.where(variance == 0, x, centred / _root(variance))


class Sphere(Along):
    """Vectors of norm 1; a vector of zeros stays as it is."""

    def project(self, x: Array) -> Array:
        return x / _root((x * x).sum(self.axes, keepdims=True))


class Simplex(Along):
    """Nonnegative vectors of sum 1 (Held, Wolfe and Crowder 1974)."""

    def project(self, x: Array) -> Array:
        x = x - lax.stop_gradient(x.max(self.axes, keepdims=True))  # so that the threshold is exact
        return jax.nn.relu(x - self._threshold(x))

    def _threshold(self, x: Array) -> Array:
        """The number that is subtracted from each entry before those below zero are cut off."""
        count = len(self.axes)
        moved = lax.collapse(jnp.moveaxis(x, self.axes, range(-count, 0)), x.ndim - count)
        falling = -jnp.sort(-moved, -1)
        excess, numbers = falling.cumsum(-1) - 1, np.arange(1, falling.shape[-1] + 1)
        size = jnp.maximum((falling * numbers > excess).sum(-1, keepdims=True), 1)
        threshold = jnp.take_along_axis(excess, size - 1, -1) / size
        return jnp.expand_dims(threshold.squeeze(-1), self.axes)


def _root(squares: Array) -> Array:
    """The root of a sum of squares: 1 of nothing; NaN where it overflows and would divide a vector into zeros."""
    root = jnp.sqrt(jnp.where(squares == 0, 1.0, squares))
    return jnp.where(root == jnp.inf, jnp.nan, root)


# ---------------------------------------------------------------------- kinks


class Corner(NamedTuple):
    """A number at which the slope of an energy rises from ``-below`` to ``above``.

    Both are weights, by their places among the weights of the network, or None for 0.
    """

    at: float
    below: int | None
    above: int | None


class Norm(NamedTuple):
    """A weight times the norm along axes of the state, which are counted from the last."""

    weight: int
    axes: tuple[int, ...]


@dataclass(frozen=True)
class Kinks:
    """The kinks of the energy of one state that move it by proximal steps: corners in order, then a norm.

    Operators take them as thresholds: the step times the weight.
    """

    corners: tuple[Corner, ...] = ()
    norm: Norm | None = None

    def at_corners(self, x: Array, step: Array, weights: Sequence[Array]) -> Array:
        """The proximal point of the corners: soft thresholds.

        Of several corners all slopes but the first begin at 0, so that their operators follow each other.
        """
        corners = [(at, step * below, step * above) for at, below, above in self._weighed(weights)]
        if len(corners) > 1:
            x = x + sum(below for _, below, _ in corners)
            corners = [(at, 0.0, below + above) for at, below, above in corners]
        for at, below, above in corners:
            up, down = x + below, x - above
            x = jnp.where(down >= at, down, jnp.where(up <= at, up, at))
        return x

    def shrunk(self, x: Array, step: Array, weights: Sequence[Array]) -> Array:
        """The proximal point of the norm: shorter by the threshold, 0 where it is as short."""
        if self.norm is None:
            return x
        threshold, squares = step * weights[self.norm.weight], self._squares(x)
        length = _root(squares)
        held = ((length <= threshold) | (squares == 0)) & (threshold > 0)
        return jnp.where(held, 0.0, x * (1 - threshold / length))

    def force(self, x: Array, weights: Sequence[Array]) -> Array:
        """The force of the kinks at x, without what holds a state that is on one."""
        force = jnp.zeros_like(x)
        for at, below, above in self._weighed(weights):
            force = force + below * (x < at) - above * (x > at)
        return force if self.norm is None else force - weights[self.norm.weight] * (x / _root(self._squares(x)))

    def _weighed(self, weights: Sequence[Array]) -> list[tuple[float, Array | float, Array | float]]:
        """Each corner with its weights."""

        def weight(place: int | None) -> Array | float:
            return 0.0 if place is None else weights[place]

        return [(at, weight(below), weight(above)) for at, below, above in self.corners]

    def _squares(self, x: Array) -> Array:
        """The squared norm."""
        assert self.norm is not None
        return (x * x).sum(self.norm.axes, keepdims=True)


# ---------------------------------------------------------------------- sets of params
# ``rows`` and ``columns`` are axes of the param; a matrix has an index of all its rows by one of all its columns, and
# the other axes count matrices.


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
