"""``beta = auto``: where nothing moves, where the free phase has not ended, and among samples that did not settle."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc
from energyc.runtime.nudging.strength import proportionate
from energyc.studies.verify import random_probe
from energyc.studies.verify.compare import measure_all
from tests.emit.kernels import needs_compiler
from tests.specs.judging import SPECS

DECAYING = """\
network decaying
dim D = 3
clamp x[D]
target y[D]
param w[D] = 1
state z[D], u[D]
start z[d] = 1
start u[d] = 1
energy pull = 1/2 * sum[d](w[d] * z[d]^2) + 1/4 * sum[d](u[d]^2) - sum[d](x[d] * z[d])
cost c = 1/2 * sum[d]((z[d] - y[d])^2)
relax { step = 0.5, steps = 100 }
nudge { beta = auto, steps = 20 }
train { rule = centered-ep }
"""
CONTRASTS = ("ep", "centered-ep", "vf", "aep", "tracking-aep", "holomorphic-ep")
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])


@pytest.mark.abridged(every=11)
@DTYPES
@pytest.mark.parametrize("rule", CONTRASTS)
@pytest.mark.parametrize("steps", [0, 40, 120, 300, 450, 600, 3000])
def test_a_strength_is_found_where_states_vanish(steps: int, rule: str, dtype: torch.dtype) -> None:
    """At rest at 0 a state has no size of its own: 2^-400 is 0 beside rounding. The exact gradient there is 0."""
    net = energyc.load(DECAYING, rules=list(CONTRASTS), dtype=dtype)
    clamps, targets = {"x": torch.zeros(1, 3)}, {"y": torch.tensor([[0.5, -1.0, 2.0]])}
    found = net.gradients(clamps, targets, rule, steps=steps)
    assert found.beta is not None and 1e-9 < found.beta < 1e3
    assert bool(found.kept.all()) and bool(found.params["w"].isfinite().all())


WALLED = """\
network walled
dim D = 2
clamp x
target y[D]
param w = 1
state z[D] in [0, 1]
energy push = w * x * sum[d](z[d])
cost c = 1/2 * sum[d]((z[d] + y[d])^2)
relax { step = 0.5, steps = 20 }
nudge { beta = auto, steps = 5 }
train { rule = centered-ep }
"""


@pytest.mark.parametrize("size", [0.0, 1e-30, 1.0])
def test_a_state_that_a_wall_holds_is_not_moved(size: float) -> None:
    """The energy and the nudge push the states to the same wall."""
    net = energyc.load(WALLED, rules=["ep", "centered-ep"], dtype=torch.float64)
    for rule in ("ep", "centered-ep"):
        found = net.gradients({"x": torch.ones(2)}, {"y": torch.full((2, 2), size)}, rule)
        assert float(found.params["w"]) == 0.0 and found.beta == 1.0


@DTYPES
@pytest.mark.parametrize("rule", ["ep", "centered-ep"])
@pytest.mark.parametrize("aim", [1.0, -1.0])
def test_a_nudge_does_not_let_go_what_a_wall_holds(aim: float, rule: str, dtype: torch.dtype) -> None:
    """A force of 0.01 holds the states at 0, where the gradient is 0; a nudge of 1 pulls them off."""
    net = energyc.load(WALLED.replace("(z[d] + y[d])", "(z[d] - y[d])"), rules=["ep", "centered-ep"], dtype=dtype)
    found = net.gradients({"x": torch.full((2,), 0.01)}, {"y": torch.full((2, 2), aim)}, rule)
    assert float(found.params["w"]) == 0.0 and 0 < found.beta < 1.1


@pytest.mark.parametrize("name", ["deep_hopfield", "hopfield"])
def test_the_nudge_stands_clear_of_a_free_phase_that_has_not_ended(name: str) -> None:
    """At the tolerance of 1e-4 the states still move ten times as far as a nudge that is chosen by rounding alone."""
    net = energyc.load(SPECS / f"{name}.energy", preset="verify", rules=["ep", "implicit"], dtype=torch.float64, seed=1)
    probe = random_probe(net, batch=3, seed=2)
    exact = net.gradients(probe.clamps, probe.targets, "implicit")
    assert float(exact.residual.max()) > 1e-6
    found = net.gradients(probe.clamps, probe.targets, "ep", beta="auto", nudge_steps=None)
    assert measure_all(found.params, exact.params).cosine > 0.999


RATES = """\
network rates
dim D = 4
clamp x[D], k
target y[D]
param W[D,D] ~ normal(0.5)
state z[D]
energy pull = 1/2 * k * sum[d](z[d]^2) + 1/8 * sum[d](z[d]^4) - sum[d,e](x[e] * W[e,d] * z[d])
cost c = 1/2 * sum[d]((z[d] - y[d])^2)
relax { step = 0.2, steps = 60, tolerance = 1e-8, max_steps = 60 }
nudge { beta = auto, steps = 20 }
train { rule = centered-ep }
"""


def chosen(net: Any, rule: str, rates: Tensor) -> float:
    """The strength that is chosen for samples of these rates."""
    random = torch.Generator().manual_seed(5)
    x, y = (torch.rand((len(rates), 4), generator=random, dtype=torch.float64) for _ in range(2))
    beta: float = net.gradients({"x": x, "k": rates}, {"y": y}, rule).beta
    return beta


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("rule", ["ep", "centered-ep", "tracking-aep"])
@pytest.mark.parametrize("odd", [-0.02, 0.001, 12.0], ids=["leaves 0", "slow", "circles"])
def test_one_sample_that_does_not_settle_changes_nothing(rule: str, odd: float) -> None:
    net = energyc.load(RATES, rules=["ep", "centered-ep", "tracking-aep"], dtype=torch.float64)
    rates = torch.full((8,), 3.0, dtype=torch.float64)
    settled = chosen(net, rule, rates)
    assert chosen(net, rule, torch.cat([rates, torch.tensor([odd], dtype=torch.float64)])) == settled
    assert net.last_beta == settled


BESIDE = """\
network beside
dim D = 8, K = 3
clamp x[D]
target t[K]
param W[D, K] ~ normal(0.5)
state y[K], u[D]
energy driven = 1/2 * sum[k](y[k]^2) - sum[d,k](x[d] * W[d,k] * y[k])
energy beside = 1/2 * sum[d](u[d]^2) - sum[d,k](x[d] * u[d] * (sin(y[k])^2 + cos(y[k])^2))
cost c = sum[k]((y[k] - t[k])^2)
relax { step = 0.5, steps = 60 }
nudge { beta = auto, steps = 20 }
"""


@pytest.mark.abridged
@DTYPES
@pytest.mark.parametrize("target", ["torch", pytest.param("cpp", marks=needs_compiler)])
def test_a_state_that_moves_by_rounding_alone_has_no_say(target: str, dtype: torch.dtype) -> None:
    """It asked for 2^12 times the strength, and only in C++, whose rounding is another."""
    clamps, targets = {"x": torch.linspace(-1, 1, 32).view(4, 8)}, {"t": torch.linspace(0, 1, 12).view(4, 3)}
    alone = "\n".join(line for line in BESIDE.replace("y[K], u[D]", "y[K]").splitlines() if "beside =" not in line)
    whole, part = (energyc.load(text, target=target, dtype=dtype, rules=["centered-ep"]) for text in (BESIDE, alone))
    found, expected = (net.gradients(clamps, targets, "centered-ep").beta for net in (whole, part))
    assert found == expected


RIPPLED = """\
network rippled
dim D = 4
const k = {k}
clamp x[D]
target y[D]
param W[D,D] ~ normal(0.5)
state z[D]
energy well = 1/2 * sum[d](z[d]^2) - sum[d,e](x[e] * W[e,d] * z[d])
energy ripples = 0.4 / k^2 * sum[d](cos(k * z[d]))
cost c = 1/2 * sum[d]((z[d] - y[d])^2)
relax {{ step = 0.5, steps = 200 }}
nudge {{ beta = auto, steps = 60 }}
train {{ rule = centered-ep }}
"""


@pytest.mark.parametrize("k", [1e2, 1e4, 1e6])
def test_a_nudge_is_weak_where_the_force_bends_within_it(k: float) -> None:
    """Ripples are far shorter than the states are large, by which the trial measures how far a nudge may go."""
    net = energyc.load(RIPPLED.format(k=k), rules=["centered-ep", "implicit"], dtype=torch.float64, seed=1)
    probe = random_probe(net, batch=3, seed=2)
    exact = net.gradients(probe.clamps, probe.targets, "implicit")
    found = net.gradients(probe.clamps, probe.targets, "centered-ep")
    assert found.beta < 1 / k
    assert measure_all(found.params, exact.params).relative_error < 1e-2


def test_a_response_in_proportion_leaves_the_strength() -> None:
    assert proportionate(8.0, 2, 1e-7, lambda beta: [torch.tensor([[beta, 3 * beta]])]) == 8.0


@pytest.mark.parametrize("bend", [1e-2, 1.0, 1e3])
def test_a_response_out_of_proportion_weakens_the_nudge_until_noise_has_its_share(bend: float) -> None:
    noise = 1e-6

    def respond(beta: float) -> list[Tensor]:
        random = torch.Generator().manual_seed(hash(beta) % 2**31)
        x = torch.full((1, 64), beta * (1 + (bend * beta) ** 2), dtype=torch.float64)
        return [x + noise * torch.randn(1, 64, generator=random, dtype=torch.float64)]

    def error(beta: float) -> float:
        return (bend * beta) ** 2 + noise / beta

    found = proportionate(2.0**20, 2, noise, respond)
    assert error(found) <= max(0.02, 5 * min(error(2.0**k) for k in range(-24, 24)))


def test_noise_alone_weakens_no_nudge() -> None:
    """A response that rounding hides has the larger share out of proportion the weaker the nudge."""

    def respond(beta: float) -> list[Tensor]:
        random = torch.Generator().manual_seed(hash(beta) % 2**31)
        return [beta + 0.1 * torch.randn(1, 256, generator=random, dtype=torch.float64)]

    assert proportionate(1.0, 2, 1e-7, respond) == 1.0


def test_a_response_that_is_not_finite_weakens_the_nudge() -> None:
    beta = proportionate(64.0, 2, 1e-7, lambda b: [torch.tensor([[b if b < 3 else math.inf]])])
    assert beta < 3
