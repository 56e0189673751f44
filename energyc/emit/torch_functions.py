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
