"""Energies of lone elements far out: what the checker expands, against their values at points far out."""

from __future__ import annotations

import numpy as np
import pytest

from energyc.checker.algebra import limited
from energyc.checker.case import Refused
from energyc.checker.claims import reader
from energyc.checker.growth import Growths
from energyc.checker.syntax import NotCovered, expression
from tests.checker.proofs import certified

SPEC = "network n\ndim K = 2\nparam w[K] = 1 in [1/10, 3], p[K] = 1\nstate x[K]{on}\nenergy e = sum[k]({energy})\n"
#: Energies that grow without bound on both sides, as the checker sees.
RISING = (
    "x[k]*tanh(x[k])", "relu(x[k])^2 - x[k]", "sigmoid(x[k])*x[k]^2 - 5/2*x[k]", "w[k]*exp(x[k]) + 2*softplus(-x[k])",
    "log(1/3 + x[k]^2)", "sqrt(1 + x[k]^2) - x[k]/2", "x[k]*(tanh(x[k]) - tanh(2*x[k])) + x[k]^2/100",
    "abs(x[k])*4 - sqrt(1 + x[k]^2)*w[k]", "log(1 + x[k]^2)*x[k]^2 - 3*x[k]^2", "2*abs(x[k]) - x[k]^3/(1 + x[k]^2)",
    "softplus(3*x[k]) - 3*relu(x[k]) + x[k]*tanh(x[k])/100", "gelu(x[k]) + gelu(-x[k]) - abs(x[k])/2",
    "exp(x[k]) + exp(-x[k]) - p[k]*x[k]^6", "tanh(x[k])^2*x[k]^2 - x[k]^2 + abs(x[k])",
    "relu(x[k] - 3)^2 + relu(-x[k] - 3)^2 - abs(x[k])", "where(x[k] > 5, x[k]^2, -x[k]^3)",
)  # fmt: skip
#: Energies that fall without bound on one side, some of them by what is left where leading terms cancel.
FALLING = (
    "x[k]^4*(log(1 + x[k]^2) - log(2 + x[k]^2))", "x[k]^4*(sqrt(1 + x[k]^2) - sqrt(2 + x[k]^2)) + x[k]^2",
    "exp(3*x[k])*(tanh(x[k]) - 1) + x[k]^2", "abs(x[k])/2 - sqrt(1 + x[k]^2)*w[k]",
    "x[k]^2 - x[k]^2*log(1 + x[k]^2)/10", "sqrt(1 + exp(x[k])) - exp(x[k]/2) - abs(x[k])/1000",
    "log(1 + x[k]^4) - 5*log(1 + abs(x[k]))", "erf(-x[k])*x[k]^3 + x[k]^2", "silu(x[k])*x[k] - x[k]^2",
    "gelu(x[k]) + gelu(-x[k]) - 2*abs(x[k])", "exp(x[k] - x[k]^2) - log(1 + x[k]^2)", "exp(p[k]*x[k]) - 2*x[k]^2",
    "relu(x[k] - 3)^2 + relu(-x[k] - 3)^2 - x[k]^2", "clip(x[k], -2, 2)*x[k] - 2.1*abs(x[k])",
    "(1 + x[k]^2)^(1/4) - (1 + x[k]^2)^(1/3)/2", "(tanh(x[k])^2 - 1)*exp(3*abs(x[k])) + x[k]^2",
    "where(x[k] > 5, -x[k], x[k]^4)", "x[k]*tanh(x[k]) - 2*abs(x[k])", "x[k]^2/2 - x[k]*softplus(x[k])",
)  # fmt: skip
NAMES = {
    "abs": np.abs, "relu": lambda u: np.maximum(u, 0), "tanh": np.tanh, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "softplus": lambda u: np.logaddexp(0, u), "sigmoid": lambda u: 1 / (1 + np.exp(-u)), "clip": np.clip,
    "silu": lambda u: u / (1 + np.exp(-u)), "where": np.where, "w": 1.0, "p": 1.0,
    "erf": lambda u: np.sign(u), "gelu": lambda u: np.maximum(u, 0),
}  # fmt: skip


def is_driven_back(energy: str, on: str = "") -> bool:
    """Whether the checker sees that an energy grows without bound far out."""
    spec = reader(None, SPEC.format(on=on, energy=energy), ())
    term = spec.spec["terms"]["e"]
    try:
        with limited():
            Growths(spec.bounds, spec.free).alone(spec.summed(term, expression(term.body)))
    except (NotCovered, Refused):
        return False
    return True


def values(energy: str) -> np.ndarray:
    """The energy of one element at points further and further out, on both sides; erf and gelu as they are far out."""
    points = np.geomspace(3, 200, 90)
    with np.errstate(all="ignore"):
        found = eval(energy.replace("[k]", "").replace("^", "**"), {**NAMES, "x": np.stack([points, -points])})
    return np.asarray(found, dtype=float)


@pytest.mark.parametrize("energy", RISING)
def test_it_rises(energy: str) -> None:
    assert is_driven_back(energy)
    assert (values(energy)[:, -1] > values(energy)[:, 0]).all()


@pytest.mark.parametrize("energy", FALLING)
def test_what_falls_is_refused(energy: str) -> None:
    """Where numbers in floats are still known, they go down on one side."""
    found = values(energy)
    assert not is_driven_back(energy)
    assert any(row[np.isfinite(row)].min() < row[0] for row in found), energy


@pytest.mark.parametrize("energy", ["tanh(x[k]) + x[k]", "exp(2*x[k]) - x[k] + exp(-x[k])", "x[k]^3 - x[k]^2"])
def test_a_half_line_has_one_way_out(energy: str) -> None:
    assert is_driven_back(energy, " in nonnegative")
    assert is_driven_back(energy) == ("exp" in energy)


#: Energies on a sphere or of standardized values, by steps at which they rest and do not.
TURNING = {
    ("sphere", "10*sum[d](z[d]^2)"): ("0.04", "0.06"),
    ("sphere", "-10*sum[d](z[d]^2)"): ("5", None),
    ("sphere", "4*sum[d](z[d]^2)^2"): (None, "0.13"),
    ("sphere", "sum[d](z[d]^2) + 1/100*sum[d](z[d])"): ("0.4", None),
    ("standardized", "3*sum[d](z[d]^2)"): ("0.16", "0.2"),
    ("standardized", "3*sum[d]((z[d] - 7)^2)"): (None, "0.2"),
}


@pytest.mark.parametrize(("on", "energy"), TURNING)
def test_steps_that_turn_no_state_around(on: str, energy: str) -> None:
    """On a sphere the force -c z takes z to (1 - step c) z."""
    for step, rests in zip(TURNING[on, energy], (True, False), strict=True):
        if step is not None:
            text = f"network n\ndim D = 3\nclamp x[D]\nstate z[D] in {on}[D]\nstart z[d] = x[d]\nenergy e = {energy}\n"
            kinds = [claim["statement"]["kind"] for claim in certified(f"{text}relax {{ step = {step} }}\n")["claims"]]
            assert ("rest" in kinds) == rests, step
