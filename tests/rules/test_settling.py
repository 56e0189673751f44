"""Why a network does not settle, what is said to help, and the sweeps of ``verify``."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import energyc
from energyc.rules import Probe, Sweep, random_probe, verify
from energyc.rules.limits import Laboratory, obeys
from energyc.rules.looseness import looseness
from energyc.rules.rest import rest
from energyc.rules.settling import Settling, settling
from energyc.rules.spectrum import spectrum
from tests.specs.judging import SPECS

#: The Jacobian at 0 is R - 1.
TURNING = """\
network turning
dim D = 2
clamp x[D]
param R[D, D] ~ normal(1)
state z[D]
energy pull = 1/2 * sum[d]((z[d] - x[d])^2)
force turn on z[d] = tanh(sum[e](R[d,e] * z[e]))
readout out[d] = z[d]
cost c = 1/2 * sum[d](z[d]^2)
relax { step = 0.1, steps = 40, tolerance = 1e-4, max_steps = 400 }
nudge { beta = auto, steps = 20 }
train { rule = tracking-aep }
"""
RULES = ["vf", "aep", "tracking-aep", "implicit"]


def turning(matrix: list[list[float]], dtype: torch.dtype = torch.float64, **settings: Any) -> Any:
    """The network with a given R."""
    net = energyc.load(
        TURNING, settings={k.replace("_", ".", 1): v for k, v in settings.items()}, rules=RULES, dtype=dtype
    )
    with torch.no_grad():
        net.params["R"].copy_(torch.tensor(matrix))
    return net


def zero(batch: int = 2) -> Probe:
    """Inputs at 0, slightly off, so that 0 itself is not where the state starts."""
    return Probe({"x": torch.full((batch, 2), 1e-3, dtype=torch.float64)}, {})


def judged(net: Any, probe: Probe) -> Settling:
    """As ``verify`` does it."""
    found = rest(net, probe, 4000)
    states, clamps = (found.states, found.probe.clamps) if found.settled else (found.last, probe.clamps)
    return settling(net, net, probe, found, spectrum(net, states, clamps, net.relax_step))


# ---------------------------------------------------------------- the spectrum


def test_the_spectrum_is_that_of_a_dense_jacobian() -> None:
    net = turning([[0.3, -2.0], [1.0, 0.2]])
    found = rest(net, zero(), 4000)
    at = spectrum(net, found.states, found.probe.clamps, net.relax_step)
    z = found.states["z"][0]
    slope = 1 - torch.tanh(net.params["R"].detach() @ z) ** 2
    jacobian = slope[:, None] * net.params["R"].detach() - torch.eye(2, dtype=torch.float64)
    values = torch.linalg.eigvals(jacobian)
    assert at.largest_real_part == pytest.approx(float(values.real.max()), rel=1e-9)
    assert at.step_radius == pytest.approx(float((1 + 0.1 * values).abs().max()), rel=1e-9)
    assert at.asymmetry == pytest.approx(float((jacobian - jacobian.T).norm() / jacobian.norm()), rel=1e-9)


def test_arnoldi_agrees_with_the_dense_spectrum() -> None:
    net = energyc.load(SPECS / "thick.energy", preset="verify", rules=["implicit"], dtype=torch.float64)
    found = rest(net, random_probe(net, batch=1), 2000)
    dense = spectrum(net, found.states, found.probe.clamps, net.relax_step)
    sparse = spectrum(net, found.states, found.probe.clamps, net.relax_step, largest=1)
    assert sparse.step_radius == pytest.approx(dense.step_radius, rel=1e-3)
    assert sparse.largest_real_part == pytest.approx(dense.largest_real_part, rel=1e-2)


# ---------------------------------------------------------------- why, and what helps


def test_a_network_that_settles_is_left_alone() -> None:
    found = judged(turning([[0.2, -0.3], [0.3, 0.2]]), zero())
    assert found.residual <= 1e-4
    assert found.why == found.helps == ()


def test_too_large_a_step_is_told_with_the_largest_stable_one() -> None:
    """Eigenvalues -1 +- 3i: stable for steps under 2 / 10."""
    net = turning([[0.0, -3.0], [3.0, 0.0]], relax_step=0.5)
    found = judged(net, zero())
    assert "the step is too large" in " ".join(found.why)
    told = float(found.helps[0].rsplit(" ", 1)[1])
    assert told == pytest.approx(0.2, rel=0.02)


def test_a_real_part_above_zero_wants_a_lower_gain() -> None:
    """Eigenvalues 2 +- 3i: the state goes round in a circle at every step size."""
    found = judged(turning([[3.0, -3.0], [3.0, 3.0]]), zero())
    assert "no fixed point was found" in found.why[0]
    assert any("real part" in reason for reason in found.why)
    assert any("a lower gain: it settles with 0.25 times" in remedy for remedy in found.helps)


def test_a_slow_network_is_told_how_many_steps_it_needs() -> None:
    net = turning([[0.9, 0.0], [0.0, 0.9]])
    net.relax_max_steps = 60
    probe = Probe({"x": torch.full((2, 2), 0.01, dtype=torch.float64)}, {})
    found = judged(net, probe)
    assert found.residual > 1e-4
    needed = int(found.helps[0].rsplit("=", 1)[1].rstrip(")"))
    net.relax_max_steps = needed
    assert float(net.relax(probe.clamps).residual.max()) <= 1e-4
    net.relax_max_steps = needed // 2
    assert float(net.relax(probe.clamps).residual.max()) > 1e-4


def test_without_a_fixed_point_verify_says_so() -> None:
    net = turning([[3.0, -3.0], [3.0, 3.0]])
    found = verify(net, net, zero(), ["tracking-aep"], most_steps=2000)
    assert not found.passed and found.settled == 0
    assert found.rules["tracking-aep"].note == "no fixed point was found"


# ---------------------------------------------------------------- the rules


def test_verify_tells_biased_rules_from_exact_ones() -> None:
    net = turning([[0.5, -1.5], [0.7, 0.1]])
    probe = Probe({"x": torch.tensor([[0.5, -0.2], [0.1, 0.9]], dtype=torch.float64)}, {})
    found = verify(net, net, probe, ["vf", "aep", "tracking-aep"], biased=["vf"])
    assert found.passed
    for rule in ("aep", "tracking-aep"):
        limit, sweep = found.rules[rule].limit, found.rules[rule].sweep
        assert limit is not None and limit.relative_error < 1e-6
        assert sweep is not None and sweep.slope() == pytest.approx(2, abs=0.3)
    biased = found.rules["vf"].limit
    assert biased is not None and biased.relative_error > 0.05
    assert not verify(net, net, probe, ["vf"]).passed


FROZEN = """\
network frozen
dim D = 3
clamp x[D]
target y[D]
param W[D, D] ~ normal(0.3), g[D] = 1
state z[D]
energy base = sum[d](z[d]^2) - sum[d](x[d] * z[d] * g[d])
energy held = -sum[d,e](frozen({}) * {} * z[e])
cost c = 1/2 * sum[d]((z[d] - y[d])^2)
relax {{ step = 1/4, steps = 200, tolerance = 1e-9 }}
nudge {{ beta = 1/100, steps = 60 }}
"""


@pytest.mark.parametrize(
    ("held", "weight", "rules"),
    [
        ("z[d]", "(W[d,e] + W[e,d])", ["centered-ep", "aep", "tracking-aep"]),
        ("tanh(W[d,d] * z[d])", "where(d == e, 1, 0)", ["centered-ep", "aep", "tracking-aep"]),
        ("z[d]", "W[d,e]", ["aep", "tracking-aep"]),
    ],
    ids=["symmetric", "not linear", "not conservative"],
)
def test_an_energy_that_freezes_a_state_is_learned_by_its_force(held: str, weight: str, rules: list[str]) -> None:
    """d(dE/dW)/dz sees the frozen state move, -dF/dW does not: half of the gradient would be wrong by a factor."""
    net = energyc.load(FROZEN.format(held, weight), rules=[*rules, "implicit"], dtype=torch.float64)
    found = verify(net, net, random_probe(net), rules)
    assert found.passed
    for rule in rules:
        limit = found.rules[rule].limit
        assert limit is not None and limit.relative_error < 1e-7


def test_the_order_of_a_sweep() -> None:
    points = tuple((beta, 0.3 * beta**3 + 1e-16 / beta) for beta in (1.0, 0.1, 0.01, 1e-3, 1e-4))
    assert Sweep("beta", points).slope() == pytest.approx(3, abs=0.1)
    assert Sweep("beta", tuple((beta, 1e-13) for beta in (1.0, 0.1))).slope() is None


def test_an_error_keeps_to_its_order() -> None:
    def sweep(order: int, floor: float = 0.0) -> Sweep:
        return Sweep("beta", tuple((8.0**-k, 0.01 * 8.0 ** (-k * order) + floor) for k in range(1, 7)))

    assert obeys(sweep(1), 1) and obeys(sweep(2), 2) and obeys(sweep(4), 4)
    assert not obeys(sweep(1), 2)
    assert not obeys(sweep(2), 4)
    assert not obeys(sweep(2, floor=1e-3), 2)
    assert obeys(sweep(2), 1)


def test_a_loose_free_phase_spoils_frozen_aep_first() -> None:
    """``thick`` at six times its weights, from a residual of 1e-2: the correction at the midpoint holds alone."""
    net = energyc.load(
        SPECS / "thick.energy", preset="verify", rules=["aep", "tracking-aep", "implicit"], dtype=torch.float64
    )
    with torch.no_grad():
        for param in net.parameters():
            param.mul_(6)
    found = rest(net, random_probe(net), 4000)
    at = spectrum(net, found.states, found.probe.clamps, net.relax_step)
    swept = looseness(Laboratory(net, found, at), ["aep", "tracking-aep"], (1e-2, 1e-6))
    (frozen, tight), (tracking, _) = swept.rules["aep"], swept.rules["tracking-aep"]
    assert frozen.residual == tracking.residual <= 1e-2
    assert not frozen.good and frozen.worst.cosine < 0.6
    assert tracking.good
    assert tight.good and tight.worst.cosine > 0.99
    assert swept.threshold("aep") == tight.residual and swept.threshold("tracking-aep") == tracking.residual
