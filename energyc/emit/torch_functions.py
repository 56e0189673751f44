"""Scalar functions in PyTorch: an expression for each, and the few that need a function of their own."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from energyc.emit.code import ATOM, PRODUCT, UNARY, Code, number

#: ``{u}`` is the argument as an atom.
EXPRESSIONS: Mapping[str, str] = MappingProxyType(
    {
        "exp": "torch.exp({u})",
        "log": "torch.log({u})",
        "sqrt": "torch.sqrt({u})",
        "abs": "torch.abs({u})",
        "sign": "torch.sign({u})",
        "sin": "torch.sin({u})",
        "cos": "torch.cos({u})",
        "erf": "torch.erf({u})",
        "tanh": "torch.tanh({u})",
        "sigmoid": "torch.sigmoid({u})",
        "logsigmoid": "F.logsigmoid({u})",
        "relu": "torch.relu({u})",
        "step": "step({u})",
        "softplus": "softplus({u})",
        "silu": "F.silu({u})",
        "silu_slope": "silu_slope({u})",
        "gelu": "F.gelu({u})",
        "gelu_slope": "gelu_slope({u})",
        "gauss": "gauss({u})",
        "gelu_tanh": 'F.gelu({u}, approximate="tanh")',
        "gelu_tanh_slope": "gelu_tanh_slope({u})",
        "gelu_tanh_core": "gelu_tanh_core({u})",
        "gelu_tanh_scale": "math.sqrt(2 / math.pi) * {u}",
        "silu_integral": "silu_integral({u})",
    }
)

#: Functions that can write over their argument.
IN_PLACE: Mapping[str, str] = MappingProxyType(
    {
        "exp": "torch.exp_({u})",
        "tanh": "torch.tanh_({u})",
        "sigmoid": "torch.sigmoid_({u})",
        "relu": "torch.relu_({u})",
        "silu": "F.silu({u}, inplace=True)",
        "gelu": "torch.ops.aten.gelu_({u})",
        "gelu_tanh": 'torch.ops.aten.gelu_({u}, approximate="tanh")',
    }
)

HELPERS: Mapping[str, str] = MappingProxyType(
    {
        "step": '''def step(u: Tensor) -> Tensor:
    """1 where u > 0, else 0: the slope of relu."""
    return (u > 0).to(u.dtype)''',
        "softplus": '''def softplus(u: Tensor) -> Tensor:
    """``log(1 + exp(u))`` without overflow."""
    return torch.relu(u) + torch.log1p(torch.exp(-torch.abs(u)))''',
        "silu_slope": '''def silu_slope(u: Tensor) -> Tensor:
    """``s + u s (1 - s)`` with s the sigmoid of u: the slope of silu."""
    return torch.ops.aten.silu_backward(torch.ones_like(u), u)''',
        "gauss": '''def gauss(u: Tensor) -> Tensor:
    """The standard normal density."""
    return torch.exp(-u.square() / 2) / math.sqrt(2 * math.pi)''',
        "gelu_slope": '''def gelu_slope(u: Tensor) -> Tensor:
    """``Phi(u) + u phi(u)``: the slope of gelu."""
    return torch.ops.aten.gelu_backward(torch.ones_like(u), u)''',
        "gelu_tanh_core": '''def gelu_tanh_core(u: Tensor) -> Tensor:
    """``tanh(sqrt(2 / pi) (u + 0.044715 u^3))``."""
    return torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))''',
        "gelu_tanh_slope": '''def gelu_tanh_slope(u: Tensor) -> Tensor:
    """The slope of gelu in its tanh form."""
    return torch.ops.aten.gelu_backward(torch.ones_like(u), u, approximate="tanh")''',
        "silu_integral": '''def silu_integral(u: Tensor) -> Tensor:
    """``u log(1 + e^u) + Li2(-e^u)``: the integral of silu, by the Bernoulli series of the dilogarithm."""
    w = torch.log1p(torch.exp(-torch.abs(u)))
    series = w + w**2 / 4
    for k, b in enumerate((1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000), 1):
        series = series + b * w ** (2 * k + 1)
    dilogarithm = torch.where(u > 0, math.pi**2 / 6 + u.square() / 2 - series, series)
    return u * (torch.relu(u) + w) - dilogarithm''',
    }
)


def power(u: Code, exponent: Fraction) -> Code:
    """``u ** exponent`` by the best name for it."""
    known = {
        Fraction(-1): "reciprocal()",
        Fraction(1, 2): "sqrt()",
        Fraction(-1, 2): "rsqrt()",
        Fraction(2): "square()",
    }
    if exponent in known:
        return u.method(known[exponent], fresh=True)
    return Code(
        f"{u.at(ATOM)} ** {number(float(exponent))}"
        if exponent > 0
        else f"{u.at(ATOM)} ** ({number(float(exponent))})",
        UNARY,
        True,
    )


def apply(name: str, u: Code) -> Code:
    """A function of the table."""
    if name == "gelu_tanh_scale":
        return Code(EXPRESSIONS[name].format(u=u.at(UNARY)), PRODUCT, True)
    return Code(EXPRESSIONS[name].format(u=u.text), ATOM, True)
