"""The health of training: penalty, residual defence, snapshots, gates, explosions that rounding froze."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd.functional import jvp

import energyc
from energyc.runtime.nudging.contrast import ContrastSnapshots
from energyc.runtime.nudging.nudged_phases import NudgedPair
from tests.independent import NOT_CONSERVATIVE, Network, Tensors, rules
from tests.specs.judging import assert_close, named
from tests.verify.networks import THICK, Side, side

ALL_OF_THEM = named(NOT_CONSERVATIVE)


def added(s: Side, seed: int, **settings: Any) -> Tensors:
    """The part that a setting adds to the implicit gradient."""
    plain = s.gradient("implicit")
    torch.manual_seed(seed)
    more = s.gradient("implicit", **settings)
    return {name: more[name] - plain[name] for name in plain}


# ---------------------------------------------------------------- slopes


@pytest.mark.abridged
@ALL_OF_THEM
def test_the_slope_of_the_jacobian_penalty(net: Network) -> None:
    """lambda |J_nc w|^2 / dim, averaged over the batch, at states held fixed, against autograd twice over."""
    s, weight = side(net, 0), 0.7
    found = added(s, 5, penalty=weight)
    torch.manual_seed(5)
    z = s.free["z"]
    w = torch.randn_like(z)
    params = rules.attached(s.problem.params)
    pushed = jvp(lambda x: net.forces(params, {"z": x}, s.problem.clamps)["z"], z, w, create_graph=True)[1]  # type: ignore[no-untyped-call]
    value = weight * pushed.square().sum() / z[0].numel() / len(z)
    expected = rules.differentiate(value, params)
    for name in expected:
        assert torch.allclose(found[name], expected[name], rtol=0, atol=1e-9 * float(expected["W_v"].norm()))
    assert float(expected["W_v"].norm()) > 1e-3


@pytest.mark.abridged
@ALL_OF_THEM
def test_the_slope_of_the_residual_defence(net: Network) -> None:
    """|step F(z)|^2 / |z|^2 at a state that is not at rest, which is held fixed."""
    s, weight = side(net, 1), 0.3
    loose = rules.relax(s.problem, 3)
    s = Side(s.module, s.problem, loose)
    found = added(s, 0, residual_defence=weight)
    params = rules.attached(s.problem.params)
    moved = rules.Problem(net, params, s.problem.clamps, s.problem.targets, s.problem.step)
    force = s.problem.step["z"] * moved.force(loose)["z"]
    sizes = loose["z"].flatten(1).norm(dim=1).square() + 1e-12
    expected = rules.differentiate((weight * force.flatten(1).square().sum(1) / sizes).mean(), params)
    scale = max(float(value.norm()) for value in expected.values())
    assert scale > 1e-3
    for name in expected:
        assert torch.allclose(found[name], expected[name], rtol=0, atol=1e-9 * scale)


BOXED = """
network boxed
dim N = 6
clamp x[N]
target y[N]
param W[N, N] ~ normal(0.8)
state s[N] in [-1, 1]
energy leak = 3/4 * sum[n](s[n]^2)
force drive on s[n] = tanh(sum[m](W[n,m] * s[m])) + x[n]
readout out[n] = s[n]
cost c = sum[n]((s[n] - y[n])^2)
relax { step = 0.3, steps = 4 }
train { rule = implicit, penalty = contraction(rate = 0.4, weight = 2) }
"""


def test_the_slope_of_the_penalty_on_contraction() -> None:
    """The factor of a projected step along the slowest mode, and the slope of its excess, against autograd."""
    net = energyc.load(BOXED, dtype=torch.float64, seed=3)
    torch.manual_seed(4)
    x, y = 2 * torch.randn(5, 6, dtype=torch.float64), torch.zeros(5, 6, dtype=torch.float64)
    found = net.gradients({"x": x}, {"y": y}, contrast=False, penalty=2.0)
    weights = net.params["W"].detach().clone().requires_grad_()
    states = found.states["s"].detach()
    inside = (states + 0.3 * (torch.tanh(states @ weights.T) + x - 1.5 * states)).detach().abs() < 1

    def step(s: torch.Tensor) -> torch.Tensor:
        return inside * (s + 0.3 * (torch.tanh(s @ weights.T) + x - 1.5 * s))

    def pushed(mode: torch.Tensor) -> torch.Tensor:
        return jvp(step, states, mode, create_graph=True)[1]  # type: ignore[no-untyped-call, no-any-return]

    mode = inside * 0.3 * (torch.tanh(states @ weights.T) + x - 1.5 * states)
    for _ in range(2):
        mode = pushed(mode / mode.norm(dim=1, keepdim=True)).detach()
    rho = pushed(mode / mode.norm(dim=1, keepdim=True)).norm(dim=1)
    expected = torch.autograd.grad(2 * (rho - 0.4).clamp_min(0).square().mean(), weights)[0]
    assert 0 < int((~inside).sum()) < inside.numel() and bool((rho > 0.4).any()) and bool((rho < 0.8).all())
    assert torch.allclose(found.health["contraction"], rho.detach(), rtol=0, atol=1e-12)
    assert torch.allclose(found.params["W"], expected, rtol=0, atol=1e-9 * float(expected.norm()))


def test_without_the_contrast_there_is_nothing_else() -> None:
    s = side(THICK, 2)
    weights = {"penalty": 0.7, "residual_defence": 0.3}
    expected = added(s, 3, **weights)
    torch.manual_seed(3)
    found = s.gradient("aep", contrast=False, **weights)
    assert max(float(value.norm()) for value in expected.values()) > 1e-3
    for name in expected:
        assert torch.allclose(found[name], expected[name], rtol=0, atol=1e-9)
    assert all(float(value.norm()) == 0 for value in s.gradient("aep", contrast=False).values())


# ---------------------------------------------------------------- snapshots


class ScriptedPair(NudgedPair):
    """A pair whose contrast after each step is given: [steps, batch]."""

    def __init__(self, contrasts: torch.Tensor) -> None:
        self.left = list(contrasts)
        self.plus, self.minus = ([torch.zeros(contrasts.shape[1], 1)] for _ in range(2))

    def steps_(self, count: int) -> None:
        for _ in range(count):
            half = self.left.pop(0)[:, None] / 2
            self.plus[0].copy_(half)
            self.minus[0].copy_(-half)


#: Contrasts that settle and then drift away: sample 0 is calmest at step 4, sample 1 at step 3.
CALM = torch.tensor([[0.0, 4.0, 6.0, 6.5, 9.0, 11.0], [0.0, 3.0, 3.1, 5.0, 8.0, 12.0]]).T


def compared(contrasts: torch.Tensor) -> ContrastSnapshots:
    """The snapshots of a pair after all of its steps, compared at each."""
    shots = ContrastSnapshots(ScriptedPair(contrasts), 1)
    shots.steps_(len(contrasts))
    return shots


def test_the_most_settled_contrast_is_kept_for_each_sample() -> None:
    shots = compared(CALM)
    shots.take_best_()
    (plus,), (minus,) = shots.plus, shots.minus
    assert (plus - minus)[:, 0].tolist() == pytest.approx([6.5, 3.1])
    assert shots.diverging is not None and shots.diverging.tolist() == [False, False]


def test_a_contrast_that_grows_tenfold_is_diverging_and_has_no_finite_states() -> None:
    shots = compared(torch.tensor([[0.0, 0.0], [1.0, 1.0], [12.5, 1.5]]))
    assert shots.diverging is not None and shots.diverging.tolist() == [True, False]
    shots.take_best_()
    assert shots.plus[0].isfinite()[:, 0].tolist() == [False, True]


HILL = """\
network hill
dim D = 3
clamp x[D], steep[D]
param W[D] = 1
state z[D]
energy pull = 1/2 * sum[d]((z[d] - W[d] * x[d])^2)
readout out[d] = z[d]
cost downhill = 1/2 * sum[d](steep[d] * z[d]^2)
relax { step = 0.5, steps = 40 }
nudge { beta = 1, steps = 60, snapshots = 2 }
train { rule = centered-ep }
"""


def test_samples_whose_nudged_phase_diverges_take_no_part() -> None:
    """Under -beta the state obeys -(z - x) + steep z: with steep = 3 it runs away, with steep = 1/10 it does not."""
    net = energyc.load(HILL, dtype=torch.float64)
    x = torch.ones(2, 3, dtype=torch.float64)
    steep = torch.tensor([0.1, 3.0], dtype=torch.float64)[:, None].expand(2, 3)
    both = net.gradients({"x": x, "steep": steep}, {}, "centered-ep")
    alone = net.gradients({"x": x[:1], "steep": steep[:1]}, {}, "centered-ep")
    assert both.kept.tolist() == [True, False]
    assert_close(both.params, alone.params, 1e-12)
    assert torch.isfinite(both.params["W"]).all() and both.params["W"].norm() > 0


def test_so_it_is_on_a_circle_of_nudges() -> None:
    net = energyc.load(HILL, dtype=torch.float64)
    x = torch.ones(2, 3, dtype=torch.float64)
    steep = torch.tensor([0.1, 30.0], dtype=torch.float64)[:, None].expand(2, 3)
    settings = {"nudge_steps": 700, "radius": 0.5}
    both = net.gradients({"x": x, "steep": steep}, {}, "holomorphic-ep", **settings)
    alone = net.gradients({"x": x[:1], "steep": steep[:1]}, {}, "holomorphic-ep", **settings)
    assert both.kept.tolist() == [True, False]
    assert_close(both.params, alone.params, 1e-12)
    assert_close({"leakage": both.health["leakage"][:1]}, {"leakage": alone.health["leakage"]}, 1e-9)


RIDGE = """\
network ridge
dim D = 3
clamp x[D], g[D]
param W[D] = 1
state z[D]
energy pull = 1/2 * sum[d]((z[d] - W[d] * x[d])^2) - 1/2 * sum[d](g[d] * z[d]^2)
cost c = 1/2 * sum[d](z[d]^2)
relax { step = 0.5, steps = 40 }
"""


def test_so_it_is_for_an_adjoint_that_runs_away() -> None:
    """At g = 3 the Jacobian is +2: the adjoint doubles with every step until it overflows."""
    net = energyc.load(RIDGE, dtype=torch.float64)
    x = torch.ones(2, 3, dtype=torch.float64)
    g = torch.tensor([0.1, 3.0], dtype=torch.float64)[:, None].expand(2, 3)
    settings = {"nudge_steps": 1100, "steps": 0}
    both = net.gradients({"x": x, "g": g}, {}, "adjoint", states={"z": x}, **settings)
    alone = net.gradients({"x": x[:1], "g": g[:1]}, {}, "adjoint", states={"z": x[:1]}, **settings)
    assert both.kept.tolist() == [True, False]
    assert_close(both.params, alone.params, 1e-12)
    assert both.params["W"].norm() > 0


def test_what_keeps_healthy_is_averaged_over_all_samples() -> None:
    """A sample that its nudged phase threw out still counts in the defence."""
    net = energyc.load(HILL, dtype=torch.float64)
    x = torch.ones(2, 3, dtype=torch.float64)
    steep = torch.tensor([0.1, 3.0], dtype=torch.float64)[:, None].expand(2, 3)
    given = {"x": x, "steep": steep}, {}, "centered-ep"
    plain = net.gradients(*given, steps=2)
    defended = net.gradients(*given, steps=2, residual_defence=1.0)
    apart = net.gradients(*given, steps=2, residual_defence=1.0, contrast=False)
    assert plain.kept.tolist() == [True, False]
    assert_close({"W": defended.params["W"] - plain.params["W"]}, apart.params, 1e-12)
    force, z = net.force(plain.states, given[0])["z"], plain.states["z"]
    ratio = (0.5 * force).square().sum(1) / (z.square().sum(1) + 1e-12)
    torch.testing.assert_close(defended.health["defence"], ratio, rtol=1e-12, atol=0)


def test_the_snapshot_that_was_taken_is_told() -> None:
    assert compared(CALM).health()["snapshot"].tolist() == [4, 3]


# ---------------------------------------------------------------- explosions that look converged

ABSORBED = """\
network absorbed
dim D = 2
clamp x[D]
param W[D] = 1
state z[D]
force away on z[d] = W[d] * x[d] * exp(-z[d]^2 / 1000000000000)
readout out[d] = z[d]
cost c = 1/2 * sum[d](z[d]^2)
relax { step = 0.5, steps = 50 }
train { rule = bptt }
"""


def test_an_explosion_that_rounding_froze_is_not_convergence() -> None:
    """One step throws the first sample so far that its force no longer moves it; the second stays where it is."""
    net = energyc.load(ABSORBED, dtype=torch.float32)
    found = net.relax({"x": torch.tensor([[1e8, 1e8], [0.0, 0.0]])})
    trusting = energyc.load(ABSORBED, dtype=torch.float32, settings={"relax.explosion": "none"})
    assert trusting.relax({"x": torch.tensor([[1e8, 1e8], [0.0, 0.0]])}).residual.tolist() == [0.0, 0.0]
    assert found.states["z"][0].abs().min() > 1e7
    assert found.residual.tolist() == [float("inf"), 0.0]


LARGE = """\
network large
dim D = 6
clamp x[D]
param W[D, D] ~ normal(0.2)
state z[D]
energy pull = 1/2 * sum[d]((z[d] - x[d])^2)
force turn on z[d] = sum[e](W[d,e] * z[e])
readout out[d] = z[d]
cost c = 1/2 * sum[d](z[d]^2)
relax { step = 0.5, steps = 400 }
train { rule = implicit }
"""


@pytest.mark.parametrize("size", [1.0, 1e6, 1e12, 1e25])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_equilibrium_may_be_large(dtype: torch.dtype, size: float) -> None:
    """(1 - W) z = x holds at any scale of x, and there no coordinate moves by an ulp."""
    net = energyc.load(LARGE, dtype=dtype)
    x = size * torch.tensor([[1.0, -0.3, 0.2, 0.0, 2.0, 1.0]], dtype=dtype)
    found = net.relax({"x": x})
    expected = torch.linalg.solve(torch.eye(6) - net.params["W"].detach().double().cpu(), x[0].double())
    assert_close({"z": found.states["z"][0].double()}, {"z": expected}, 1e-5)
    assert float(found.residual.max()) < 4 * torch.finfo(dtype).eps


def test_a_converged_network_is_no_explosion() -> None:
    """It too has step |F| under an ulp nearly everywhere."""
    s = side(THICK, 0)
    found = s.module.relax(s.problem.clamps, steps=400)
    assert (found.residual < 1e-14).all()
