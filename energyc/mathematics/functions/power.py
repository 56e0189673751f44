"""Fixed powers: one function for each exponent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from types import MappingProxyType

import numpy as np

from energyc.mathematics.expressions import U, call
from energyc.mathematics.functions.entry import Array, Domain, Form, ScalarFunction

HALF = Fraction(1, 2)
TORCH_NAMES: Mapping[Fraction, str] = MappingProxyType(
    {Fraction(-1): "reciprocal", Fraction(1, 2): "sqrt", Fraction(-1, 2): "rsqrt", Fraction(2): "square"}
)


@cache
def power(exponent: Fraction) -> ScalarFunction:
    """``u^exponent``: NaN for a fractional power of a negative real, infinite for a pole at 0.

    The antiderivative of ``u^-1`` is ``log u``, on the positive half line.
    """
    raised = exponent + 1
    even = exponent.denominator == 1 and exponent % 2 == 0
    return ScalarFunction(
        name="power",
        value=lambda u: power_value(u, exponent),
        derivative=U ** (exponent - 1) * exponent,
        antiderivative=U**raised / raised if raised else call("log"),
        latex=rf"\left({{0}}\right)^{{{{{exponent}}}}}",
        forms=(_torch_form(exponent), _cpp_form(exponent), _triton_form(exponent), *_plain_forms(exponent)),
        low=0.0 if even or exponent.denominator > 1 else -math.inf,
        parity=0 if exponent.denominator > 1 else 1 if even else -1,
        positive="right",
        exponent=exponent,
        domain=None if exponent >= 0 and exponent.denominator == 1 else _positive(exponent),
    )


def _positive(exponent: Fraction) -> Domain:
    """A pole at 0 cuts the line too, so that a negative integer has the positive half line as its domain."""
    return Domain(zero=exponent > 0, rule=f"the power {exponent} is of a positive number")


def _torch_form(exponent: Fraction) -> Form:
    if exponent in TORCH_NAMES:
        return Form("torch", f"{{atom}}.{TORCH_NAMES[exponent]}()", extends=True)
    number = str(exponent) if exponent.denominator == 1 else repr(float(exponent))
    written = number if exponent > 0 else f"({number})"
    return Form("torch", f"{{atom}} ** {written}", extends=True, binds="power")


def _cpp_form(exponent: Fraction) -> Form:
    plain = {Fraction(-1): "T(1) / ({u})", Fraction(1, 2): "of::sqrt({u})", Fraction(-1, 2): "T(1) / of::sqrt({u})"}
    if exponent in plain:
        return Form("cpp", plain[exponent], binds="product" if exponent < 0 else "atom")
    if exponent.denominator == 1 and 2 <= abs(exponent) <= 8:
        raised = f"of::whole_power<{abs(exponent)}>({{u}})"
        return Form("cpp", raised) if exponent > 0 else Form("cpp", f"T(1) / {raised}", binds="product")
    return Form("cpp", f"of::power({{u}}, T({float(exponent)!r}))")


def _triton_form(exponent: Fraction) -> Form:
    """Products for a whole exponent up to 8, with a root for a half; others by the logarithm."""
    whole, rest = divmod(abs(exponent), 1)
    if whole > 8 or rest not in (0, HALF):
        return Form("triton", f"block_power({{u}}, {float(exponent)!r})")
    raised = f"block_whole_power({{u}}, {whole})" if whole > 1 else "{atom}"
    root = "tl.sqrt({u})"
    text = root if not whole else raised if not rest else f"{raised} * {root}"
    if exponent < 0:
        return Form("triton", f"1.0 / ({text})", binds="product")
    return Form("triton", text, binds="product" if whole and rest else "atom")


def _plain_forms(exponent: Fraction) -> Iterator[Form]:
    """In a spec, and in SPICE as a product of equal factors, for a whole exponent."""
    whole = exponent.denominator == 1
    yield Form("energy", f"{{atom}}^{exponent if whole and exponent > 0 else f'({exponent})'}", binds="power")
    if whole and exponent:
        product = " * ".join(["{atom}"] * abs(exponent.numerator))
        yield Form("spice", f"({product})" if exponent > 0 else f"(1 / ({product}))")


def power_value(u: Array, exponent: Fraction) -> Array:
    """The value in NumPy."""
    if exponent.denominator > 1:
        return np.power(u, float(exponent))
    return _integer_power(u, exponent.numerator) if np.iscomplexobj(u) else np.asarray(u) ** float(exponent)


def _integer_power(u: Array, exponent: int) -> Array:
    """By products: a complex logarithm would round the imaginary part of a real away from zero."""
    result = np.ones_like(u)
    for _ in range(abs(exponent)):
        result = result * u
    return result if exponent >= 0 else 1.0 / result
