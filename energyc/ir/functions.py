"""The scalar functions of the language: their values in NumPy, what is known of them, and how they are written.

Each value is stable for every float64, and for a complex argument it is the analytic continuation of the branch
that the real part selects (so that ``relu`` is ``u`` where ``Re u > 0``), which is what holomorphic rules need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Value = Callable[[Array], Array]

INFINITY = math.inf
#: Of Hendrycks and Gimpel's tanh form of GELU (arXiv:1606.08415, section 2): ``tanh(k (u + c u^3))``.
GELU_TANH_SCALE = math.sqrt(2.0 / math.pi)
GELU_TANH_CUBIC = 0.044715


@dataclass(frozen=True)
class ScalarFunction:
    """A function of one real; ``{0}`` in ``text`` and ``latex`` stands for its argument.

    ``low`` and ``high`` enclose its values on the real line, ``monotone`` is 1 where it never falls, -1 where it
    never rises, 0 otherwise; at ``kinks`` it is not differentiable; ``holomorphic`` says that it is one analytic
    function in a neighbourhood of its real domain.
    """

    name: str
    value: Value
    latex: str
    low: float = -INFINITY
    high: float = INFINITY
    monotone: int = 0
    kinks: tuple[float, ...] = ()
    holomorphic: bool = True

    @property
    def text(self) -> str:
        """The function in the language's own notation."""
        return f"{self.name}({{0}})"


def _sigmoid(u: Array) -> Array:
    falling = np.exp(np.where(u.real > 0, -u, u))
    return np.where(u.real > 0, 1.0, falling) / (1.0 + falling)


def _softplus(u: Array) -> Array:
    return np.where(u.real > 0, u, 0.0) + _log1p(np.exp(np.where(u.real > 0, -u, u)))


def _log1p(x: Array) -> Array:
    """``log(1 + x)``; NumPy's own loses small complex arguments."""
    if not np.iscomplexobj(x):
        return np.asarray(np.log1p(x))
    return 0.5 * np.log1p(x.real * (2.0 + x.real) + x.imag**2) + 1j * np.arctan2(x.imag, 1.0 + x.real)


def _logsigmoid(u: Array) -> Array:
    return -_softplus(-u)


def _silu(u: Array) -> Array:
    return u * _sigmoid(u)


def _silu_slope(u: Array) -> Array:
    """``s (1 + u (1 - s))`` with ``1 - s = sigmoid(-u)``; without it the far left would lose its digits."""
    return _sigmoid(u) * (1.0 + u * _sigmoid(-u))


def _silu_integral(u: Array) -> Array:
    """``u log(1 + e^u) + Li2(-e^u)``; the right half by Li2(-e^u) + Li2(-e^-u) = -pi^2/6 - u^2/2."""
    right = u.real > 0
    falling = np.exp(np.where(right, -u, u))
    tail = u * _log1p(falling)
    return np.where(right, u * u / 2 - math.pi**2 / 6 + tail - _dilogarithm(-falling), tail + _dilogarithm(-falling))


def _dilogarithm(x: Array) -> Array:
    """``Li2(x)`` for ``|x| <= 1``; a series near 0, where ``1 - x`` would round."""
    from scipy.special import spence

    near = np.where(np.abs(x) < 0.03, x, 0.0)
    series = sum((near**k / k**2 for k in range(1, 12)), np.zeros_like(near))
    return np.where(np.abs(x) < 0.03, series, spence(1.0 - x))


def _erf(u: Array) -> Array:
    from scipy.special import erf

    return np.asarray(erf(u))


def _erf_slope(u: Array) -> Array:
    return 2.0 / math.sqrt(math.pi) * np.exp(-u * u)


def _cumulative(u: Array) -> Array:
    """The normal distribution function; by erfc, so that the far left keeps its digits."""
    from scipy.special import erfc

    return np.asarray(0.5 * erfc(-u / math.sqrt(2.0)))


def _gauss(u: Array) -> Array:
    return np.exp(-u * u / 2.0) / math.sqrt(2.0 * math.pi)


def _gelu(u: Array) -> Array:
    return u * _cumulative(u)


def _gelu_slope(u: Array) -> Array:
    return _cumulative(u) + u * _gauss(u)


def _gelu_tanh_inner(u: Array) -> Array:
    return GELU_TANH_SCALE * (u + GELU_TANH_CUBIC * u * u * u)


def _gelu_tanh(u: Array) -> Array:
    """``u/2 (1 + tanh a) = u sigmoid(2 a)``, which does not cancel on the left."""
    return u * _sigmoid(2.0 * _gelu_tanh_inner(u))


def _gelu_tanh_slope(u: Array) -> Array:
    inner = 2.0 * _gelu_tanh_inner(u)
    slope = 2.0 * GELU_TANH_SCALE * (1.0 + 3.0 * GELU_TANH_CUBIC * u * u)
    decay = _sigmoid(-inner)
    return _sigmoid(inner) * (1.0 + np.where(decay == 0, 0.0, u * slope * decay))


def _abs(u: Array) -> Array:
    return u * np.sign(u.real)


def _table(*functions: ScalarFunction) -> Mapping[str, ScalarFunction]:
    return MappingProxyType({function.name: function for function in functions})


#: The least value of u sigmoid(u), and the range of its slope, rounded outward.
_SILU_LOW, _SILU_SLOPE = -0.27846455, 1.09984
_GELU_LOW, _GELU_SLOPE = -0.16997121, 1.12905

FUNCTIONS: Mapping[str, ScalarFunction] = _table(
    ScalarFunction("exp", np.exp, r"\exp({0})", low=0.0, monotone=1),
    ScalarFunction("log", np.log, r"\log({0})", monotone=1),
    ScalarFunction("sqrt", np.sqrt, r"\sqrt{{{0}}}", low=0.0, monotone=1),
    ScalarFunction("abs", _abs, r"\left|{0}\right|", low=0.0, kinks=(0.0,), holomorphic=False),
    ScalarFunction(
        "sign", lambda u: np.sign(u.real), r"\operatorname{{sign}}({0})", -1.0, 1.0, 1, kinks=(0.0,), holomorphic=False
    ),
    ScalarFunction("sin", np.sin, r"\sin({0})", -1.0, 1.0),
    ScalarFunction("cos", np.cos, r"\cos({0})", -1.0, 1.0),
    ScalarFunction("tanh", np.tanh, r"\tanh({0})", -1.0, 1.0, 1),
    ScalarFunction("sigmoid", _sigmoid, r"\sigma({0})", 0.0, 1.0, 1),
    ScalarFunction("logsigmoid", _logsigmoid, r"\log\sigma({0})", high=0.0, monotone=1),
    ScalarFunction(
        "relu",
        lambda u: np.where(u.real > 0, u, 0.0),
        r"\operatorname{{relu}}({0})",
        low=0.0,
        monotone=1,
        kinks=(0.0,),
        holomorphic=False,
    ),
    ScalarFunction(
        "step",
        lambda u: np.where(u.real > 0, 1.0, 0.0),
        r"\operatorname{{step}}({0})",
        0.0,
        1.0,
        1,
        kinks=(0.0,),
        holomorphic=False,
    ),
    ScalarFunction("softplus", _softplus, r"\operatorname{{softplus}}({0})", low=0.0, monotone=1),
    ScalarFunction("silu", _silu, r"\operatorname{{silu}}({0})", low=_SILU_LOW),
    ScalarFunction("silu_slope", _silu_slope, r"\operatorname{{silu}}'({0})", 1.0 - _SILU_SLOPE, _SILU_SLOPE),
    ScalarFunction("silu_integral", _silu_integral, r"\textstyle\int\operatorname{{silu}}({0})", low=-0.822468),
    ScalarFunction("erf", _erf, r"\operatorname{{erf}}({0})", -1.0, 1.0, 1),
    ScalarFunction("erf_slope", _erf_slope, r"\operatorname{{erf}}'({0})", 0.0, 1.1283792),
    ScalarFunction("gauss", _gauss, r"\varphi({0})", 0.0, 0.39894229),
    ScalarFunction("gelu", _gelu, r"\operatorname{{gelu}}({0})", low=_GELU_LOW),
    ScalarFunction("gelu_slope", _gelu_slope, r"\operatorname{{gelu}}'({0})", 1.0 - _GELU_SLOPE, _GELU_SLOPE),
    ScalarFunction("gelu_tanh", _gelu_tanh, r"\operatorname{{gelu_{{\tanh}}}}({0})", low=-0.170041),
    ScalarFunction("gelu_tanh_slope", _gelu_tanh_slope, r"\operatorname{{gelu_{{\tanh}}}}'({0})", -0.1292, 1.1292),
    ScalarFunction(
        "gelu_tanh_core",
        lambda u: np.tanh(_gelu_tanh_inner(u)),
        r"\tanh\bigl(\sqrt{{2/\pi}}\,({0} + 0.044715\,{0}^3)\bigr)",
        -1.0,
        1.0,
        1,
    ),
    ScalarFunction("gelu_tanh_scale", lambda u: GELU_TANH_SCALE * u, r"\sqrt{{2/\pi}}\,{0}", monotone=1),
)


def power(u: Array, exponent: Fraction) -> Array:
    """Each element to a fixed power; NaN for a fractional power of a negative real, infinite for a pole at 0."""
    if exponent.denominator == 1:
        return np.asarray(u) ** float(exponent) if not np.iscomplexobj(u) else _whole_power(u, exponent.numerator)
    return np.power(u, float(exponent))


def _whole_power(u: Array, exponent: int) -> Array:
    """By products: a complex logarithm would round the imaginary part of a real away from zero."""
    result = np.ones_like(u)
    for _ in range(abs(exponent)):
        result = result * u
    return result if exponent >= 0 else 1.0 / result


def value(name: str, parameter: Fraction | None, u: Array) -> Array:
    """A function of the table, or ``power`` with its exponent. Raises KeyError for a name that is not there."""
    with np.errstate(all="ignore"):
        return power(u, parameter or Fraction(0)) if name == "power" else FUNCTIONS[name].value(u)
