"""Scalar functions that JAX has no stable form of."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import Array


def silu_slope(u: Array) -> Array:
    """``s (1 + u (1 - s))`` with s the sigmoid of u: the slope of silu."""
    return jax.nn.sigmoid(u) * (1 + u * jax.nn.sigmoid(-u))


def silu_integral(u: Array) -> Array:
    """``u log(1 + e^u) + Li2(-e^u)``: the integral of silu, by the Bernoulli series of the dilogarithm."""
    w = jnp.log1p(jnp.exp(-jnp.abs(u)))
    series = w + w**2 / 4
    for k, b in enumerate((1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000), 1):
        series = series + b * w ** (2 * k + 1)
    dilogarithm = jnp.where(u > 0, math.pi**2 / 6 + u * u / 2 - series, series)
    return u * (jax.nn.relu(u) + w) - dilogarithm


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
