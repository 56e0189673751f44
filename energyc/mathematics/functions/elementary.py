"""Exponential, logarithm, root, sine and cosine."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from energyc.mathematics.expressions import U, call
from energyc.mathematics.functions.entry import Domain, Form, ScalarFunction

HALF = Fraction(1, 2)

FUNCTIONS = (
    ScalarFunction(
        name="exp",
        value=np.exp,
        derivative=call("exp"),
        antiderivative=call("exp"),
        latex=r"\exp({0})",
        forms=(
            Form("torch", "torch.exp({u})", extends=True),
            Form("cpp", "of::exp({u})"),
            Form("triton", "tl.exp({u})"),
            Form("spice", "exp({u})"),
        ),
        nameable=True,
        low=0.0,
        monotone=1,
        positive="everywhere",
    ),
    ScalarFunction(
        name="log",
        value=np.log,
        derivative=U**-1,
        antiderivative=U * call("log") - U,
        latex=r"\log({0})",
        forms=(
            Form("torch", "torch.log({u})", extends=True),
            Form("cpp", "of::log({u})"),
            Form("triton", "tl.log({u})"),
            Form("spice", "ln({u})"),
        ),
        nameable=True,
        monotone=1,
        domain=Domain(zero=False, rule="a logarithm is of a positive number"),
    ),
    ScalarFunction(
        name="sqrt",
        value=np.sqrt,
        derivative=U**-HALF / 2,
        antiderivative=U ** Fraction(3, 2) * Fraction(2, 3),
        latex=r"\sqrt{{{0}}}",
        forms=(
            Form("torch", "torch.sqrt({u})", extends=True),
            Form("cpp", "of::sqrt({u})"),
            Form("triton", "tl.sqrt({u})"),
            Form("spice", "sqrt({u})"),
        ),
        nameable=True,
        low=0.0,
        monotone=1,
        positive="right",
        domain=Domain(zero=True, rule="a root is of a number that is not negative"),
    ),
    ScalarFunction(
        name="sin",
        value=np.sin,
        derivative=call("cos"),
        antiderivative=-call("cos"),
        latex=r"\sin({0})",
        forms=(
            Form("torch", "torch.sin({u})", extends=True),
            Form("cpp", "of::sin({u})"),
            Form("triton", "tl.sin({u})"),
            Form("spice", "sin({u})"),
        ),
        nameable=True,
        low=-1.0,
        high=1.0,
        lipschitz=1.0,
        parity=-1,
    ),
    ScalarFunction(
        name="cos",
        value=np.cos,
        derivative=-call("sin"),
        antiderivative=call("sin"),
        latex=r"\cos({0})",
        forms=(
            Form("torch", "torch.cos({u})", extends=True),
            Form("cpp", "of::cos({u})"),
            Form("triton", "tl.cos({u})"),
            Form("spice", "cos({u})"),
        ),
        nameable=True,
        low=-1.0,
        high=1.0,
        lipschitz=1.0,
        parity=1,
    ),
)
