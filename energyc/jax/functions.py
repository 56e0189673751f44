"""Scalar functions that JAX has no stable form of, and roots and logarithms whose slopes may be infinite at 0."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_derivatives import linear_call


def silu_slope(u: Array) -> Array:
    """``s (1 + u (1 - s))`` with s the sigmoid of u: the slope of silu."""
    return jax.nn.sigmoid(u) * (1 + u * jax.nn.sigmoid(-u))


@jax.custom_jvp
def silu_integral(u: Array) -> Array:
    """``u log(1 + e^u) + Li2(-e^u)``: the integral of silu, by the Bernoulli series of the dilogarithm."""
    w = jnp.log1p(jnp.exp(-jnp.abs(u)))
    series = w + w**2 / 4
    for k, b in enumerate((1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000), 1):
        series = series + b * w ** (2 * k + 1)
    dilogarithm = jnp.where(u > 0, math.pi**2 / 6 + u * u / 2 - series, series)
    return u * (jax.nn.relu(u) + w) - dilogarithm


silu_integral.defjvps(lambda tangent, value, u: jax.nn.silu(u) * tangent)


def gelu_slope(u: Array) -> Array:
    """``Phi(u) + u phi(u)``: the slope of gelu."""
    return jax.scipy.special.ndtr(u) + u * jax.scipy.stats.norm.pdf(u)


def gelu_tanh_core(u: Array) -> Array:
    """``tanh(sqrt(2 / pi) (u + 0.044715 u^3))``."""
    return jnp.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))


def gelu_tanh_slope(u: Array) -> Array:
    """The slope of gelu in its tanh form, without the differences that lose digits on the left."""
    inner = 2 * math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)
    slope, decay = 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * u * u), jax.nn.sigmoid(-inner)
    return jax.nn.sigmoid(inner) * (1 + jnp.where(decay == 0, 0.0, u * slope * decay))


# ---------------------------------------------------------------------- at the rim of a set
# A state that its set holds on the rim has the direction 0, and the cotangent 0. What is infinite there counts nothing
# in a product with one of these: a slope times 0 is 0, and while a function is differentiated its value at 0 is that
# at 1. An infinite slope stays infinite where the direction is not 0.


@jax.custom_jvp
def rim_log(u: Array) -> Array:
    """``log(u)``, differentiable on the rim."""
    return jnp.log(u)


rim_log.defjvp(lambda given, tangents: (jnp.log(_off_rim(given[0])), _times(1 / given[0], tangents[0])))


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def rim_power(u: Array, exponent: float) -> Array:
    """``u ^ exponent``, differentiable on the rim."""
    return jnp.sqrt(u) if exponent == 1 / 2 else u**exponent


@rim_power.defjvp
def _rim_power_jvp(exponent: float, given: Any, tangents: Any) -> tuple[Array, Array]:
    (u,), (tangent,) = given, tangents
    value = rim_power(_off_rim(u) if exponent < 0 else u, exponent)
    return value, _times(exponent * u ** (exponent - 1), tangent)


def _off_rim(u: Array) -> Array:
    return jnp.where(u == 0, 1.0, u)


def _times(slope: Array, direction: Array) -> Array:
    """A product that is 0 where the direction is, whatever the slope; so is its transpose."""

    def product(slope: Array, direction: Array) -> Array:
        return jnp.where(direction == 0, 0.0, slope * direction)

    return linear_call(product, product, slope, direction)
