"""Functions made of two straight lines, or two constants, that meet at 0.

``above`` and ``reached`` are what ``where(u > 0, ...)`` and ``where(u >= 0, ...)`` are made of. They are no ``step``:
what a selection selects may meet where it changes sides, so that only its parts jump.
"""

from __future__ import annotations

import numpy as np

from energyc.mathematics.expressions import ZERO, U, call
from energyc.mathematics.functions.entry import Array, Form, Homogeneous, ScalarFunction


def _abs(u: Array) -> Array:
    return u * np.sign(u.real)


FUNCTIONS = (
    ScalarFunction(
        name="relu",
        value=lambda u: np.where(u.real > 0, u, 0.0),
        derivative=call("step"),
        antiderivative=call("relu") ** 2 / 2,
        formula=U * call("step"),
        latex=r"\operatorname{{relu}}({0})",
        forms=(
            Form("torch", "torch.relu({u})"),
            Form("cpp", "of::relu({u})"),
            Form("triton", "block_relu({u})"),
            Form("spice", "max({u}, 0)"),
        ),
        nameable=True,
        low=0.0,
        monotone=1,
        positive="right",
        kinks=(0.0,),
        homogeneous=Homogeneous(left=0, right=1, degree=1),
    ),
    ScalarFunction(
        name="step",
        value=lambda u: np.where(u.real > 0, 1.0, 0.0),
        derivative=ZERO,
        antiderivative=call("relu"),
        latex=r"\operatorname{{step}}({0})",
        forms=(
            Form("torch", "step({u})"),
            Form("cpp", "of::step({u})"),
            Form("triton", "block_step({u})"),
            Form("spice", "u({u})"),
        ),
        derivative_of="relu",
        low=0.0,
        high=1.0,
        monotone=1,
        positive="right",
        kinks=(0.0,),
        homogeneous=Homogeneous(left=0, right=1, degree=0),
        continuous=False,
    ),
    ScalarFunction(
        name="above",
        value=lambda u: np.where(u.real > 0, 1.0, 0.0),
        derivative=ZERO,
        antiderivative=call("relu"),
        formula=call("step"),
        latex=r"\left[{0} > 0\right]",
        forms=(Form("torch", "step({u})"), Form("cpp", "of::step({u})"), Form("triton", "block_step({u})")),
        description="a condition on real values",
        low=0.0,
        high=1.0,
        monotone=1,
        positive="right",
        kinks=(0.0,),
        homogeneous=Homogeneous(left=0, right=1, degree=0),
        continuous=False,
    ),
    ScalarFunction(
        name="reached",
        value=lambda u: np.where(u.real < 0, 0.0, 1.0),
        derivative=ZERO,
        antiderivative=call("relu"),
        formula=1 - call("step", -U),
        latex=r"\left[{0} \ge 0\right]",
        forms=(Form("torch", "reached({u})"), Form("cpp", "of::reached({u})"), Form("triton", "block_reached({u})")),
        description="a condition on real values",
        low=0.0,
        high=1.0,
        monotone=1,
        positive="right",
        kinks=(0.0,),
        homogeneous=Homogeneous(left=0, right=1, degree=0),
        continuous=False,
    ),
    ScalarFunction(
        name="abs",
        value=_abs,
        derivative=call("sign"),
        antiderivative=U * call("abs") / 2,
        formula=U * call("sign"),
        latex=r"\left|{0}\right|",
        forms=(
            Form("torch", "torch.abs({u})"),
            Form("cpp", "of::abs({u})"),
            Form("triton", "tl.abs({u})"),
            Form("spice", "abs({u})"),
        ),
        nameable=True,
        low=0.0,
        parity=1,
        positive="right",
        kinks=(0.0,),
        homogeneous=Homogeneous(left=-1, right=1, degree=1),
    ),
    ScalarFunction(
        name="sign",
        value=lambda u: np.sign(u.real),
        derivative=ZERO,
        antiderivative=call("abs"),
        latex=r"\operatorname{{sign}}({0})",
        forms=(
            Form("torch", "torch.sign({u})"),
            Form("cpp", "of::sign({u})"),
            Form("triton", "block_sign({u})"),
            Form("spice", "sgn({u})"),
        ),
        nameable=True,
        derivative_of="abs",
        low=-1.0,
        high=1.0,
        monotone=1,
        parity=-1,
        positive="right",
        kinks=(0.0,),
        homogeneous=Homogeneous(left=-1, right=1, degree=0),
        continuous=False,
    ),
)
