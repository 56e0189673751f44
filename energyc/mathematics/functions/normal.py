"""The normal distribution and what is made of it: erf, gelu in its exact form."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from energyc.mathematics.expressions import PI, U, call, expression
from energyc.mathematics.functions.entry import Array, Form, ScalarFunction


def _erf(u: Array) -> Array:
    """The C library's, right to a unit, for reals; SciPy's continues it."""
    if not np.iscomplexobj(u):
        return np.asarray(np.vectorize(math.erf, otypes=[float])(u))
    from scipy.special import erf

    return np.asarray(erf(u))


def _cumulative(u: Array) -> Array:
    """By erfc, so that the far left keeps its digits."""
    from scipy.special import erfc

    return np.asarray(0.5 * erfc(-u / math.sqrt(2.0)))


def _gauss(u: Array) -> Array:
    return np.exp(-u * u / 2.0) / math.sqrt(2.0 * math.pi)


HALF = Fraction(1, 2)
BELL, NORMAL = call("gauss"), call("cumulative")
#: The least value of u cumulative(u), and the largest of its slope, rounded outward.
GELU_LOW, GELU_SLOPE_HIGH = -0.16997121, 1.12905

FUNCTIONS = (
    ScalarFunction(
        name="erf",
        value=_erf,
        derivative=call("erf_slope"),
        antiderivative=U * call("erf") + call("erf_slope") / 2,
        latex=r"\operatorname{{erf}}({0})",
        forms=(Form("torch", "torch.erf({u})"), Form("cpp", "of::erf({u})"), Form("triton", "tl.erf({u})")),
        nameable=True,
        yields=True,
        low=-1.0,
        high=1.0,
        monotone=1,
        parity=-1,
        positive="right",
    ),
    ScalarFunction(
        name="erf_slope",
        value=lambda u: 2.0 / math.sqrt(math.pi) * np.exp(-u * u),
        derivative=-2 * (U * call("erf_slope")),
        antiderivative=call("erf"),
        formula=2 * (call("exp", -U * U) * PI**-HALF),
        latex=r"\operatorname{{erf}}'({0})",
        forms=(
            Form(
                "torch",
                "2 / math.sqrt(math.pi) * torch.exp(-{atom}.square())",
                extends=True,
                binds="product",
            ),
        ),
        derivative_of="erf",
        low=0.0,
        high=1.1283792,
        parity=1,
        positive="everywhere",
    ),
    ScalarFunction(
        name="gauss",
        value=_gauss,
        derivative=-(U * BELL),
        antiderivative=call("gelu_slope") - U * BELL,
        formula=call("exp", -U * U / 2) * (2 * PI) ** -HALF,
        latex=r"\varphi({0})",
        forms=(Form("torch", "gauss({u})", extends=True),),
        definition="fn gauss(u) = exp(-u^2 / 2) / sqrt(6.283185307179586)",
        low=0.0,
        high=0.39894229,
        parity=1,
        positive="everywhere",
    ),
    ScalarFunction(
        name="cumulative",
        value=_cumulative,
        accurate=False,  # rounding -u / sqrt(2) is an error that grows with the argument
        derivative=BELL,
        antiderivative=call("gelu") + BELL,
        formula=(1 + call("erf", U * expression(2) ** -HALF)) / 2,
        latex=r"\Phi({0})",
        forms=(
            Form("torch", "torch.special.ndtr({u})"),
            Form("cpp", "of::cumulative({u})"),
            Form("triton", "block_cumulative({u})"),
        ),
        low=0.0,
        high=1.0,
        monotone=1,
        positive="everywhere",
    ),
    ScalarFunction(
        name="gelu",
        value=lambda u: u * _cumulative(u),
        derivative=call("gelu_slope"),
        antiderivative=U * call("gelu") / 2 - call("gelu_slope") / 2 + U * BELL,
        formula=U * NORMAL,
        latex=r"\operatorname{{gelu}}({0})",
        forms=(Form("torch", "functional.gelu({u})"),),
        nameable=True,
        alternative="gelu_tanh",
        low=GELU_LOW,
        positive="right",
        asymptotes=((0, 1), (1, 1)),
    ),
    ScalarFunction(
        name="gelu_slope",
        value=lambda u: _cumulative(u) + u * _gauss(u),
        derivative=BELL * (2 - U * U),
        antiderivative=call("gelu"),
        formula=NORMAL + U * BELL,
        latex=r"\operatorname{{gelu}}'({0})",
        forms=(Form("torch", "gelu_slope({u})"),),
        derivative_of="gelu",
        alternative="gelu_tanh",
        low=1.0 - GELU_SLOPE_HIGH,
        high=GELU_SLOPE_HIGH,
        positive="right",
    ),
)
