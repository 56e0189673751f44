"""GELU in the tanh form of Hendrycks and Gimpel (arXiv:1606.08415, section 2).

``gelu_tanh u = u/2 (1 + t)`` with ``t = tanh(k (u + c u^3))``, ``k = sqrt(2 / pi)`` and ``c = 0.044715``. Multiplying
by the irrational k is a function of its own, so that every coefficient of a graph is exact.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from energyc.mathematics.expressions import PI, Expression, U, call
from energyc.mathematics.functions.entry import Array, Form, ScalarFunction
from energyc.mathematics.functions.logistic import sigmoid

SCALE = math.sqrt(2.0 / math.pi)
HALF = Fraction(1, 2)
CUBIC = Fraction(44715, 1000000)


def _inner(u: Array) -> Array:
    return SCALE * (u + float(CUBIC) * u * u * u)


def _gelu_tanh(u: Array) -> Array:
    """``u/2 (1 + tanh a) = u sigmoid(2 a)``, which does not cancel on the left."""
    return u * sigmoid(2.0 * _inner(u))


def _gelu_tanh_slope(u: Array) -> Array:
    inner = 2.0 * _inner(u)
    slope = 2.0 * SCALE * (1.0 + 3.0 * float(CUBIC) * u * u)
    decay = sigmoid(-inner)
    return sigmoid(inner) * (1.0 + np.where(decay == 0, 0.0, u * slope * decay))


def _core_slope(times: int) -> Expression:
    """``k (1 + times c u^2)``: the slope of ``k (u + c u^3)`` for ``times = 3``."""
    return call("gelu_tanh_scale", 1 + times * CUBIC * (U * U))


T = call("gelu_tanh_core")

FUNCTIONS = (
    ScalarFunction(
        name="gelu_tanh",
        value=_gelu_tanh,
        derivative=call("gelu_tanh_slope"),
        formula=U * (1 + T) / 2,
        latex=r"\operatorname{{gelu_{{\tanh}}}}({0})",
        forms=(
            Form(
                "torch",
                'functional.gelu({u}, approximate="tanh")',
                complex="complex_gelu_tanh({u})",
            ),
        ),
        nameable=True,
        low=-0.170041,
        positive="right",
        asymptotes=((0, 1), (1, 1)),
    ),
    ScalarFunction(
        name="gelu_tanh_slope",
        value=_gelu_tanh_slope,
        # (1 - t^2) (a' + 1/2 u a'' - u t a'^2) with a = k (u + c u^3), so that a' + 1/2 u a'' = k (1 + 6 c u^2)
        derivative=(_core_slope(6) - U * T * _core_slope(3) * _core_slope(3)) * (1 - T * T),
        antiderivative=call("gelu_tanh"),
        formula=(1 + T + U * (1 - T * T) * _core_slope(3)) / 2,
        latex=r"\operatorname{{gelu_{{\tanh}}}}'({0})",
        forms=(
            Form("torch", "gelu_tanh_slope({u})", complex="complex_gelu_tanh_slope({u})"),
            Form("cpp", "of::gelu_tanh_slope({u})"),
            Form("triton", "block_gelu_tanh_slope({u})"),
        ),
        derivative_of="gelu_tanh",
        low=-0.1292,
        high=1.1292,
        positive="right",
    ),
    ScalarFunction(
        name="gelu_tanh_core",
        value=lambda u: np.tanh(_inner(u)),
        derivative=(1 - T * T) * _core_slope(3),
        latex=r"\tanh\bigl(\sqrt{{2/\pi}}\,({0} + 0.044715\,{0}^3)\bigr)",
        forms=(
            Form("torch", "gelu_tanh_core({u})", extends=True),
            Form("cpp", "of::gelu_tanh_core({u})"),
            Form("triton", "block_gelu_tanh_core({u})"),
        ),
        low=-1.0,
        high=1.0,
        monotone=1,
        parity=-1,
        positive="right",
    ),
    ScalarFunction(
        name="gelu_tanh_scale",
        value=lambda u: SCALE * u,
        derivative=call("gelu_tanh_scale", 1),
        formula=(2 / PI) ** HALF * U,
        latex=r"\sqrt{{2/\pi}}\,{0}",
        forms=(
            Form("torch", "math.sqrt(2 / math.pi) * {atom}", extends=True, binds="product"),
            Form("cpp", "T(0.79788456080286535588) * ({u})", binds="product"),
            Form("triton", "0.79788456080286535588 * {atom}", binds="product"),
        ),
        monotone=1,
        parity=-1,
        positive="right",
    ),
)
