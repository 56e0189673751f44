"""How JAX writes the functions of the table; those with a name alone are functions of :mod:`energyc.jax`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from energyc.mathematics.functions import Form, ScalarFunction

FORMS: Mapping[str, str] = MappingProxyType(
    {
        "exp": "jnp.exp({u})",
        "log": "jnp.log({u})",
        "sqrt": "jnp.sqrt({u})",
        "sin": "jnp.sin({u})",
        "cos": "jnp.cos({u})",
        "relu": "jax.nn.relu({u})",
        "step": "jnp.where({u} > 0, 1.0, 0.0)",
        "above": "jnp.where({u} > 0, 1.0, 0.0)",
        "reached": "jnp.where({u} < 0, 0.0, 1.0)",
        "abs": "jnp.abs({u})",
        "sign": "jnp.sign({u})",
        "sigmoid": "jax.nn.sigmoid({u})",
        "tanh": "jnp.tanh({u})",
        "logsigmoid": "jax.nn.log_sigmoid({u})",
        "softplus": "jax.nn.softplus({u})",
        "silu": "jax.nn.silu({u})",
        "silu_slope": "ej.silu_slope({u})",
        "silu_integral": "ej.silu_integral({u})",
        "erf": "jax.scipy.special.erf({u})",
        "erf_slope": "2 / math.sqrt(math.pi) * jnp.exp(-{u} * {u})",
        "gauss": "jax.scipy.stats.norm.pdf({u})",
        "cumulative": "jax.scipy.special.ndtr({u})",
        "gelu": "jax.nn.gelu({u}, approximate=False)",
        "gelu_slope": "ej.gelu_slope({u})",
        "gelu_tanh": "jax.nn.gelu({u})",
        "gelu_tanh_slope": "ej.gelu_tanh_slope({u})",
        "gelu_tanh_core": "ej.gelu_tanh_core({u})",
        "gelu_tanh_scale": "math.sqrt(2 / math.pi) * {u}",
        "softsign": "jax.nn.soft_sign({u})",
    }
)
_POWERS: Mapping[Fraction, str] = MappingProxyType(
    {
        Fraction(-1): "1 / {u}",
        Fraction(1, 2): "jnp.sqrt({u})",
        Fraction(-1, 2): "lax.rsqrt({u})",
        Fraction(2): "jnp.square({u})",
    }
)


def form(function: ScalarFunction) -> Form:
    """How JAX writes a function. Raises NotImplementedError where the table has no form of it."""
    if function.exponent is not None and function.name == "power":
        return Form("jax", _power(function.exponent))
    if function.name not in FORMS:
        raise NotImplementedError(f"{function.name} has no form for the target jax")
    return Form("jax", FORMS[function.name])


def _power(exponent: Fraction) -> str:
    if exponent in _POWERS:
        return _POWERS[exponent]
    number = str(exponent.numerator) if exponent.denominator == 1 else repr(float(exponent))
    return f"{{u}} ** {number if exponent > 0 else f'({number})'}"
