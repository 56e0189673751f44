"""Scalar functions of blocks, for kernels in Triton; they are made of what its interpreter computes too."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None


def has_triton() -> bool:
    """Return whether Triton is installed."""
    return triton is not None


def jit(function: Callable[..., Any]) -> Any:
    """A function as a kernel, or as a part of one; the function itself where there is no Triton."""
    return function if triton is None else triton.jit(function)


def interpreted() -> bool:
    """Return whether Triton interprets its kernels."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "yes", "on", "y")


#: The interpreter multiplies no numbers in bfloat16.
WIDENED = None if triton is None else tl.constexpr(interpreted())


@jit
def block_dot(left: tl.tensor, right: tl.tensor, total: tl.tensor, precision: tl.constexpr) -> tl.tensor:
    """The total and the product of two blocks; the left one is rounded to the type of the right one."""
    left = left.to(right.dtype)
    if WIDENED:
        left = left.to(total.dtype)
        right = right.to(total.dtype)
    return tl.dot(left, right, total, input_precision=precision, out_dtype=total.dtype)


@jit
def block_relu(u: tl.tensor) -> tl.tensor:
    """max(u, 0), and NaN for NaN."""
    return tl.where(u < 0, 0.0, u)


@jit
def block_step(u: tl.tensor) -> tl.tensor:
    """1 where u > 0, else 0."""
    return (u > 0).to(u.dtype)


@jit
def block_reached(u: tl.tensor) -> tl.tensor:
    """1 where u >= 0 or is NaN, else 0."""
    return 1 - (u < 0).to(u.dtype)


@jit
def block_sign(u: tl.tensor) -> tl.tensor:
    """-1, 0 or 1."""
    return (u > 0).to(u.dtype) - (u < 0).to(u.dtype)


@jit
def block_whole_power(u: tl.tensor, exponent: tl.constexpr) -> tl.tensor:
    """A product of equal factors."""
    value = u
    for _ in tl.static_range(exponent - 1):
        value = value * u
    return value


@jit
def block_power(u: tl.tensor, exponent: tl.constexpr) -> tl.tensor:
    """u^exponent by the logarithm; a negative u has only whole powers."""
    size = tl.exp(exponent * tl.log(tl.abs(u)))
    if exponent % 2 == 0:
        return size
    if exponent % 1 == 0:
        return tl.where(u < 0, -size, size)
    return tl.where(u < 0, float("nan"), size)


@jit
def block_tanh(u: tl.tensor) -> tl.tensor:
    """By Gauss's continued fraction near 0, where (1 - e) / (1 + e) with e = exp(-2 |u|) would cancel."""
    e = tl.exp(-2.0 * tl.abs(u))
    far = (1.0 - e) / (1.0 + e)
    far = tl.where(u < 0, -far, far)
    s = u * u
    near = u / (1.0 + s / (3.0 + s / (5.0 + s / (7.0 + s / (9.0 + s / (11.0 + s / (13.0 + s / 15.0)))))))
    return tl.where(s < 0.25, near, far)


@jit
def block_log1p(u: tl.tensor) -> tl.tensor:
    """log(1 + u) for u from 0 to 1: 2 artanh(z) with z = u / (2 + u), by its series."""
    z = u / (2.0 + u)
    s = z * z
    value = 1.0 + s * 0.0
    for k in tl.static_range(16):
        # Horner's scheme for the sum of s^k / (2 k + 1), k up to 16, with factors (2 k + 1) / (2 k + 3)
        value = 1.0 + value * s * ((31.0 - 2.0 * k) / (33.0 - 2.0 * k))
    return 2.0 * z * value


@jit
def block_softplus(u: tl.tensor) -> tl.tensor:
    """log(1 + exp(u))."""
    return block_relu(u) + block_log1p(tl.exp(-tl.abs(u)))


@jit
def block_silu_slope(u: tl.tensor) -> tl.tensor:
    """The derivative of u sigmoid(u)."""
    s = tl.sigmoid(u)
    return s + u * s * tl.sigmoid(-u)


@jit
def block_cumulative(u: tl.tensor) -> tl.tensor:
    """The normal distribution function; on the far left it is right to rounding of 1, not of itself."""
    return 0.5 * (1.0 + tl.erf(u * 0.70710678118654752440))


@jit
def block_gelu_tanh_core(u: tl.tensor) -> tl.tensor:
    """The tanh in the tanh form of GELU."""
    return block_tanh(0.79788456080286535588 * (u + 0.044715 * u * u * u))


@jit
def block_gelu_tanh_slope(u: tl.tensor) -> tl.tensor:
    """The derivative of GELU in its tanh form."""
    t = block_gelu_tanh_core(u)
    rise = 0.79788456080286535588 * (1.0 + 0.134145 * u * u)
    return 0.5 * (1.0 + t) + 0.5 * u * (1.0 - t) * (1.0 + t) * rise


@jit
def block_floor_div(a: tl.tensor, b: tl.tensor) -> tl.tensor:
    """a / b rounded down; Triton rounds to 0."""
    return (a - block_modulo(a, b)) // b


@jit
def block_modulo(a: tl.tensor, b: tl.tensor) -> tl.tensor:
    """The remainder of a / b rounded down, which has the sign of b."""
    rest = a % b
    return tl.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


# By their formulas.


@jit
def block_silu(u: tl.tensor) -> tl.tensor:
    """u * sigmoid(u)."""
    return u * tl.sigmoid(u)


@jit
def block_erf_slope(u: tl.tensor) -> tl.tensor:
    """1.1283791670955126 * exp(-u * u)."""
    return 1.1283791670955126 * tl.exp(-u * u)


@jit
def block_gauss(u: tl.tensor) -> tl.tensor:
    """0.3989422804014327 * exp(-0.5 * u * u)."""
    return 0.3989422804014327 * tl.exp(-0.5 * u * u)


@jit
def block_gelu(u: tl.tensor) -> tl.tensor:
    """u * cumulative(u)."""
    return u * block_cumulative(u)


@jit
def block_gelu_slope(u: tl.tensor) -> tl.tensor:
    """cumulative(u) + u * gauss(u)."""
    return block_cumulative(u) + u * block_gauss(u)


@jit
def block_gelu_tanh(u: tl.tensor) -> tl.tensor:
    """0.5 * u * (1 + gelu_tanh_core(u))."""
    return 0.5 * u * (1.0 + block_gelu_tanh_core(u))


@jit
def block_softsign(u: tl.tensor) -> tl.tensor:
    """u / (1 + abs(u))."""
    return u / (1.0 + tl.abs(u))


# end
