"""The logistic sigmoid and what is made of it: tanh, softplus, silu."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from energyc.mathematics.expressions import U, call
from energyc.mathematics.functions.entry import Array, Form, ScalarFunction


def sigmoid(u: Array) -> Array:
    """``1 / (1 + exp(-u))`` without overflow."""
    falling = np.exp(np.where(u.real > 0, -u, u))
    return np.where(u.real > 0, 1.0, falling) / (1.0 + falling)


def _softplus(u: Array) -> Array:
    return np.where(u.real > 0, u, 0.0) + _log1p(np.exp(np.where(u.real > 0, -u, u)))


def _log1p(x: Array) -> Array:
    """``log(1 + x)``; NumPy's own loses small complex arguments."""
    if not np.iscomplexobj(x):
        return np.asarray(np.log1p(x))
    return 0.5 * np.log1p(x.real * (2.0 + x.real) + x.imag**2) + 1j * np.arctan2(x.imag, 1.0 + x.real)


def _silu_slope(u: Array) -> Array:
    """``s (1 + u (1 - s))`` with ``1 - s = sigmoid(-u)``; without it the far left would lose its digits."""
    return sigmoid(u) * (1.0 + u * sigmoid(-u))


def _silu_integral(u: Array) -> Array:
    """``u log(1 + e^u) + Li2(-e^u)``; the right half by Li2(-e^u) + Li2(-e^-u) = -pi^2/6 - u^2/2."""
    right = u.real > 0
    falling = np.exp(np.where(right, -u, u))
    tail = u * _log1p(falling)
    return np.where(right, u * u / 2 - math.pi**2 / 6 + tail - _dilogarithm(-falling), tail + _dilogarithm(-falling))


def _dilogarithm(x: Array) -> Array:
    """``Li2(x)`` for ``|x| <= 1``, of real x only where ``x <= 0``."""
    return _complex_dilogarithm(x) if np.iscomplexobj(x) else _real_dilogarithm(x)


#: ``B_2k / (2k + 1)!``, of the Bernoulli numbers, for k = 1 and on: the last is below rounding where ``|w| <= log(2)``.
BERNOULLI = (1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000, 1 / 1120863744000)


def _real_dilogarithm(x: Array) -> Array:
    """``w = log(1 - x)``: ``-(w + w^2/4 + sum[k](B_2k w^(2k+1) / (2k+1)!))``, since SciPy takes long to import."""
    w = np.log1p(-x)
    return -(w + w * w / 4 + sum(b * w ** (2 * k + 1) for k, b in enumerate(BERNOULLI, 1)))


def _complex_dilogarithm(x: Array) -> Array:
    """SciPy's; a series near 0, where ``1 - x`` would round."""
    from scipy.special import spence

    near = np.where(np.abs(x) < 0.03, x, 0.0)
    series = sum((near**k / k**2 for k in range(1, 12)), np.zeros_like(near))
    return np.where(np.abs(x) < 0.03, series, spence(1.0 - x))


HALF = Fraction(1, 2)
S, TANH = call("sigmoid"), call("tanh")
#: ``-Li2(-e^u)``.
SOFTPLUS_PRIMITIVE = U * call("softplus") - call("silu_integral")
#: The least value of u sigmoid(u), and the largest of its slope, rounded outward.
SILU_LOW, SILU_SLOPE_HIGH = -0.27846455, 1.09984

FUNCTIONS = (
    ScalarFunction(
        name="sigmoid",
        value=sigmoid,
        derivative=S - S * S,
        antiderivative=call("softplus"),
        latex=r"\sigma({0})",
        forms=(
            Form("torch", "torch.sigmoid({u})", complex="complex_sigmoid({u})"),
            Form("cpp", "of::sigmoid({u})"),
            Form("triton", "tl.sigmoid({u})"),
            Form("spice", "(1 / (1 + exp(-({u}))))"),
        ),
        nameable=True,
        low=0.0,
        high=1.0,
        monotone=1,
        positive="everywhere",
    ),
    ScalarFunction(
        name="tanh",
        value=np.tanh,
        derivative=1 - TANH * TANH,
        antiderivative=U + call("softplus", -2 * U),  # log cosh u + log 2, without overflow
        formula=2 * call("sigmoid", 2 * U) - 1,
        latex=r"\tanh({0})",
        forms=(
            Form("torch", "torch.tanh({u})", extends=True),
            Form("cpp", "of::tanh({u})"),
            Form("triton", "block_tanh({u})"),
            Form("spice", "tanh({u})"),
        ),
        nameable=True,
        low=-1.0,
        high=1.0,
        monotone=1,
        parity=-1,
        positive="right",
    ),
    ScalarFunction(
        name="logsigmoid",
        value=lambda u: -_softplus(-u),
        derivative=call("sigmoid", -U),
        antiderivative=-U * call("softplus", -U) - call("silu_integral", -U),
        latex=r"\log\sigma({0})",
        forms=(
            Form("torch", "functional.logsigmoid({u})", complex="-complex_softplus(-({u}))"),
            Form("cpp", "of::logsigmoid({u})"),
            Form("triton", "(-block_softplus(-{atom}))"),
        ),
        nameable=True,
        high=0.0,
        monotone=1,
        asymptotes=((1, 1), (0, 1)),
    ),
    ScalarFunction(
        name="softplus",
        value=_softplus,
        derivative=S,
        antiderivative=SOFTPLUS_PRIMITIVE,
        latex=r"\operatorname{{softplus}}({0})",
        forms=(
            Form("torch", "softplus({u})", complex="complex_softplus({u})"),
            Form("cpp", "of::softplus({u})"),
            Form("triton", "block_softplus({u})"),
        ),
        nameable=True,
        low=0.0,
        monotone=1,
        positive="everywhere",
        asymptotes=((0, 1), (1, 1)),
    ),
    ScalarFunction(
        name="silu",
        value=lambda u: u * sigmoid(u),
        derivative=call("silu_slope"),
        antiderivative=call("silu_integral"),
        formula=U * S,
        latex=r"\operatorname{{silu}}({0})",
        forms=(Form("torch", "functional.silu({u})", complex="complex_silu({u})"),),
        nameable=True,
        low=SILU_LOW,
        positive="right",
        asymptotes=((0, 1), (1, 1)),
    ),
    ScalarFunction(
        name="silu_slope",
        value=_silu_slope,
        derivative=(S - S * S) * (2 + U - 2 * (U * S)),
        antiderivative=call("silu"),
        formula=S * (1 + U * call("sigmoid", -U)),
        latex=r"\operatorname{{silu}}'({0})",
        forms=(
            Form("torch", "silu_slope({u})", complex="complex_silu_slope({u})"),
            Form("cpp", "of::silu_slope({u})"),
            Form("triton", "block_silu_slope({u})"),
        ),
        derivative_of="silu",
        low=1.0 - SILU_SLOPE_HIGH,
        high=SILU_SLOPE_HIGH,
        positive="right",
    ),
    ScalarFunction(
        name="silu_integral",
        value=_silu_integral,
        derivative=call("silu"),
        latex=r"\textstyle\int\operatorname{{silu}}({0})",
        forms=(Form("torch", "silu_integral({u})"),),
        description="an integral of silu",
        definition="fn silu_integral'(u) = silu(u)",
        low=-0.822468,
        asymptotes=((0, 1), (HALF, 2)),
    ),
)
