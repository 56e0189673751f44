"""Symmetric Jacobians by the kernel: across jumps, on circles, with ties; and near misses."""

from __future__ import annotations

import pytest

from energyc.language.diagnostics import Source
from energyc.pipeline import Choices, resolve
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.classify import classify
from energyc.proofs.conservativeness.verdict import Tie

HEAD = "network n\ndim D = 3\nparam W[D,D] ~ normal(1) in symmetric, V[D,D] ~ normal(1)\nstate z[D]{on}\n"
HEAD += "energy q = sum[d,k in D](W[d,k]*V[d,k]*z[d]^2)\n"
#: Forces that jump, and whether their Jacobian is symmetric with an impulse at each jump, and off the jumps.
JUMPING = {
    "relu'(z[d])*sum[k](W[d,k]*relu(z[k]))": (True, True),
    "sum[k](W[d,k]*relu'(z[k]))": (False, True),
    "relu'(z[d])": (True, True),
    "abs'(z[d])*sum[k](W[d,k]*abs(z[k]))": (True, True),
    "relu(z[d])^2*relu'(z[d])*sum[k](relu(z[k])^3)": (True, True),
    "relu'(z[d])*sum[k](V[d,k]*relu(z[k]))": (False, False),
}


def prover(force: str, on: str = "", dims: int = 3) -> Symmetries:
    text = HEAD.format(on=on).replace("D = 3", f"D = {dims}") + f"force f on z[d] = {force}\n"
    network = resolve(Source("spec.energy", text), Choices())
    return Symmetries(network, network.tree)


@pytest.mark.parametrize("force", JUMPING)
def test_an_impulse_stands_at_each_jump(force: str) -> None:
    across, off = JUMPING[force]
    found = prover(force).symmetric(["f"]).proof([()], jumps=True)
    assert (found.certificate is not None, found.across) == (off, across)


@pytest.mark.parametrize(("dims", "kind"), [(2, "conservative"), (3, "conservative")])
def test_what_is_normal_to_a_circle(dims: int, kind: str) -> None:
    own = prover("z[d]*sum[k](tanh(z[k])) - z[d]^3", " in sphere[D]", dims)
    assert classify(own.network).kind == kind


def test_a_turn_along_a_circle_is_no_gradient() -> None:
    """All forms on a circle are closed: that directions are tangent shows nothing."""
    turn = "where(d == 0, 0 - z[1], 0) + where(d == 1, z[0], 0)"
    assert classify(prover(turn, " in sphere[D]", 2).network).kind != "conservative"


def test_a_tie_is_part_of_what_is_asked() -> None:
    own = prover("sum[k](V[d,k]*z[k])").symmetric(["f"])
    assert own.proof([()], jumps=False).certificate is None
    assert own.tied([Tie("V", "V", (1, 0))]).proof([()], jumps=False).certificate is not None
    assert own.tied([Tie("V", "W", (0, 1))]).proof([()], jumps=False).certificate is not None
