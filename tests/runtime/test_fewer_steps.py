"""Free phases that end early, choose their step, mix their steps, or go by Newton's method: where they rest."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc
from energyc import pipeline
from energyc.language.diagnostics import SpecError
from energyc.language.settings import Call
from energyc.resources import resource
from energyc.studies.verify import random_probe
from tests.quick import few

SPEC = """\
network bowl
dim D = 4
clamp x[D]
target y[D]
param A[D, D] ~ normal(0.3), k[D] = 1
state z[D]
let u[e] = sum[d](A[e,d] * z[d])
energy pull = 1/2 * sum[d](k[d] * z[d]^2) - sum[d](z[d] * x[d]) + 1/2 * sum[e](u[e]^2)
relax { step = 0.3, steps = 40, tolerance = 1e-4, max_steps = 2000 }
readout out[d] = z[d]
cost mse = sum[d]((z[d] - y[d])^2)
train { rule = centered-ep }
"""
BATCH = 6


def loaded(spec: Any = SPEC, preset: str | None = None, **settings: object) -> Any:
    named = {f"relax.{name}": value for name, value in settings.items()}
    return energyc.load(spec, preset=preset, dtype=torch.float64, seed=5, settings=named)


def inputs() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    random = torch.Generator().manual_seed(2)
    scale = torch.logspace(-2, 1, BATCH, dtype=torch.float64)[:, None]
    x, y = (torch.randn(BATCH, 4, generator=random, dtype=torch.float64) for _ in range(2))
    return {"x": scale * x}, {"y": y}


def hessian(net: Any) -> Tensor:
    """That of the bowl: K + A^T A."""
    return torch.diag(net.params["k"].detach()) + net.params["A"].detach().T @ net.params["A"].detach()


def at_rest(net: Any, clamps: dict[str, Tensor]) -> Tensor:
    return torch.linalg.solve(hessian(net), clamps["x"].T).T


# -------------------------------------------------------------------- exit = early


@pytest.mark.parametrize("training", [False, True])
def test_a_sample_stops_at_the_first_look_within_the_tolerance(training: bool) -> None:
    """By the closed form z_k = (1 - (1 - h H)^k) z*, looked at every 3 steps."""
    net, (clamps, _) = loaded(exit="early", chunk=3).train(training), inputs()
    with torch.no_grad():
        net.params["k"].copy_(torch.tensor([0.3, 1.0, 2.0, 3.0]))
    shrink, rest = torch.eye(4, dtype=torch.float64) - 0.3 * hessian(net), at_rest(net, clamps)
    found = net.relax(clamps)
    for n in range(BATCH):
        path = [rest[n] - torch.linalg.matrix_power(shrink, k) @ rest[n] for k in range(300)]
        left = [float((b - a).norm() / (a.norm() + 1e-12)) for a, b in pairwise(path)]
        steps = next(k for k in range(3, 299, 3) if left[k] <= 1e-4)
        assert int(found.steps[n]) == steps
        torch.testing.assert_close(found.states["z"][n], path[steps], rtol=1e-9, atol=1e-12)
        assert float(found.residual[n]) == pytest.approx(left[steps], rel=1e-9)
    assert len(set(found.steps.tolist())) > 1


def test_backpropagation_goes_through_each_samples_own_steps() -> None:
    clamps, targets = inputs()
    net = energyc.load(
        SPEC, rules=["bptt"], dtype=torch.float64, seed=5, settings={"relax.exit": "early", "relax.chunk": 2}
    )
    with torch.no_grad():
        net.params["k"].copy_(torch.tensor([0.3, 1.0, 2.0, 3.0]))
    found = net.gradients(clamps, targets, rule="bptt")
    assert len(set(found.steps.tolist())) > 1
    k, a = (net.params[name].detach().clone().requires_grad_() for name in ("k", "A"))
    cost = torch.zeros((), dtype=torch.float64)
    for n, steps in enumerate(found.steps.tolist()):
        z = torch.zeros(4, dtype=torch.float64)
        for _ in range(steps):
            z = z + 0.3 * (clamps["x"][n] - k * z - a.T @ (a @ z))
        cost = cost + (z - targets["y"][n]).square().sum() / BATCH
    for name, slope in zip(("k", "A"), torch.autograd.grad(cost, (k, a)), strict=True):
        torch.testing.assert_close(found.params[name], slope, rtol=1e-9, atol=1e-11)


def test_the_longest_phase_is_shorter_than_steps_where_it_is_set() -> None:
    net, (clamps, _) = loaded(exit="early", chunk=4, max_steps=8, tolerance=1e-14), inputs()
    assert net.relax(clamps).steps.tolist() == [8] * BATCH
    assert net.relax(clamps, steps=31).steps.tolist() == [31] * BATCH


# -------------------------------------------------------------------- step = auto


def test_the_step_is_one_over_the_largest_curvature() -> None:
    net, (clamps, targets) = loaded(step="auto", exit="early", chunk=5, tolerance=1e-10), inputs()
    with torch.no_grad():
        net.params["k"].copy_(torch.tensor([1.0, 1.0, 1.0, 50.0]))
    largest = float(torch.linalg.eigvalsh(hessian(net))[-1])
    found = net.relax(clamps)
    assert found.step[0] == pytest.approx(1 / largest, rel=1e-3)
    assert float(found.residual.max()) <= 1e-10
    torch.testing.assert_close(found.states["z"], at_rest(net, clamps), rtol=0, atol=1e-7)
    exact = net.gradients(clamps, targets, rule="implicit")
    nudged = net.gradients(clamps, targets, rule="centered-ep", nudge_steps=None, beta=1e-4)
    assert nudged.step == exact.step == found.step
    for name, slope in exact.params.items():
        torch.testing.assert_close(nudged.params[name], slope, rtol=1e-5, atol=1e-6)


def test_what_the_choice_of_the_step_cost_is_counted() -> None:
    net, (clamps, _) = loaded(step="auto"), inputs()
    calls = 0
    plain = net._force

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        return plain(*arguments)

    net._force = counted
    steps = net.relax(clamps, steps=20).steps.tolist()
    assert steps == [20] * BATCH
    assert calls == 20 + 1  # the look


QUARTIC = """\
network quartic
clamp x
state z
energy bowl = 1/4 * z^4 - x * z
relax { step = auto, steps = 20, tolerance = 1e-9, exit = early, chunk = 4, max_steps = 4000 }
readout out = z
"""


def test_a_step_that_turns_out_too_large_is_halved() -> None:
    """At the start there is no curvature at all, at rest up to 12: a step of 1 explodes, or goes back and forth."""
    net = loaded(QUARTIC)
    x = torch.tensor([1.5, 2.0, 8.0], dtype=torch.float64)
    plain = net.relax({"x": x}, steps=60, step=1.0)
    assert not bool((plain.residual < 1e-3).any())
    found = net.relax({"x": x})
    assert float(found.residual.max()) <= 1e-9
    torch.testing.assert_close(found.states["z"], x ** (1 / 3), rtol=0, atol=1e-7)
    assert found.step[0] < 1


# -------------------------------------------------------------------- solver = anderson


def test_mixed_steps_solve_a_linear_system_in_as_many_evaluations_as_it_has_dims() -> None:
    """As GMRES does (Walker and Ni 2011); plain steps take hundreds."""
    net, (clamps, _) = loaded(solver=Call("anderson", {"memory": 4})), inputs()
    with torch.no_grad():
        net.params["k"].copy_(torch.tensor([0.1, 1.0, 2.0, 5.0]))
    z = net.relax(clamps, steps=7).states["z"]
    torch.testing.assert_close(z, at_rest(net, clamps), rtol=1e-7, atol=1e-9)
    plain = loaded()
    plain.load_state_dict(net.state_dict())
    far = (plain.relax(clamps, steps=100).states["z"] - at_rest(net, clamps)).norm()
    assert float(far) > 1e-3


EQUILIBRIA = ("hopfield", "thick", "cet", "resistive", "deq", "deep_hopfield")


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("solver", ["anderson", Call("anderson", {"memory": 3, "damping": 0.7}), "newton"])
@pytest.mark.parametrize("name", few(EQUILIBRIA, ("hopfield", "deq", "deep_hopfield")))
def test_the_same_equilibrium_as_descent(name: str, solver: Any) -> None:
    text = (resource("specs") / f"{name}.energy").read_text(encoding="utf-8")
    preset = "verify" if "preset verify" in text else None
    clamps = random_probe(loaded(text, preset), batch=3).clamps
    plain = loaded(text, preset).relax(clamps, steps=600)
    assert float(plain.residual.max()) < 1e-12
    net = loaded(text, preset, solver=solver, tolerance=1e-10, exit="early", chunk=2 if solver == "newton" else 15)
    found = net.relax(clamps)
    assert float(found.residual.max()) <= 1e-10
    assert int(found.steps.max()) <= (12 if solver == "newton" else 75)
    for state, value in plain.states.items():
        torch.testing.assert_close(found.states[state], value, rtol=0, atol=1e-6 * float(value.abs().max()))


def test_a_mixed_step_that_makes_it_worse_is_taken_back() -> None:
    """A tokens' network with a strong gain and a whole step: mixing alone would not settle it."""
    text = (resource("specs") / "cet.energy").read_text(encoding="utf-8")
    nets = [
        loaded(text, "verify", tolerance=1e-8, exit="early", chunk=20, max_steps=600, solver=solver)
        for solver in ("gradient", "anderson")
    ]
    for net in nets:
        with torch.no_grad():
            for param in net.parameters():
                param.mul_(1.5)
    clamps = random_probe(nets[0], batch=8).clamps
    plain, mixed = (net.relax(clamps) for net in nets)
    assert float(mixed.residual.max()) <= 1e-8
    assert float(mixed.steps.double().mean()) < float(plain.steps.double().mean())
    torch.testing.assert_close(mixed.states["z"], plain.states["z"], rtol=0, atol=1e-6)


LINGERING = """\
network lingering
clamp x
state z
force pull on z = (1/100 + (z - 1)^2) * (x - z)
relax { step = 0.2, steps = 400, tolerance = 1e-8, exit = early, chunk = 10, solver = anderson }
readout out = z
"""


def test_mixed_steps_do_not_rest_where_plain_ones_only_linger() -> None:
    """The force is small at 1, and zero at x alone: a way through there on which its size rises again."""
    x = torch.tensor([2.5, 3.0, 3.5], dtype=torch.float64)
    found = loaded(LINGERING).relax({"x": x})
    torch.testing.assert_close(found.states["z"], x, rtol=0, atol=1e-6)


def test_a_trace_has_every_mixed_step() -> None:
    net, (clamps, _) = loaded(solver="anderson"), inputs()
    found = net.relax(clamps, steps=9, record=("z", "energy"))
    assert found.trace["z"].shape[0] == found.trace["energy"].shape[0] == 10
    assert torch.equal(found.trace["z"][-1], found.states["z"])
    assert torch.equal(net.relax(clamps, steps=9).states["z"], found.states["z"])


# -------------------------------------------------------------------- Newton's method on sets


def test_a_newton_step_that_goes_too_far_is_halved() -> None:
    """Of ``log cosh(z - x)`` from 2 to 4 away, where a whole step leads farther away than it began."""
    kept = [line for line in SPEC.splitlines() if not line.startswith(("let ", "param ", "energy "))]
    text = "\n".join([*kept, "energy pull = sum[d](softplus(2 * (z[d] - x[d])) - z[d] + x[d])"])
    clamps = {"x": torch.tensor([[2.0, -2.5, 3.0, -4.0], [2.1, 2.2, 2.3, 2.4]], dtype=torch.float64)}
    net = loaded(text, solver="newton", tolerance=1e-12, exit="early", chunk=1, max_steps=40)
    found = net.relax(clamps)
    assert float(found.residual.max()) <= 1e-12
    assert int(found.steps.max()) <= 12
    torch.testing.assert_close(found.states["z"], clamps["x"], rtol=0, atol=1e-9)


@pytest.mark.parametrize(("way", "count"), [("early", 10), ("settled", 40)])
def test_only_an_early_exit_ends_below_the_number_of_steps(way: str, count: int) -> None:
    """A phase that may end early makes ``max_steps``, any other at least ``steps``."""
    net = loaded(exit=way, steps=40, max_steps=10, chunk=5, tolerance=1e-300)
    assert net.relax(inputs()[0]).steps.tolist() == [count] * BATCH


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize(
    ("kept", "nearest"),
    [
        ("[-1, 1/2]", lambda x: x.clamp(-1, 0.5)),
        ("nonnegative", lambda x: x.clamp(min=0)),
        ("sphere[D]", lambda x: x / x.norm(dim=1, keepdim=True)),
        ("standardized[D]", lambda x: (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True, correction=0)),
    ],
)
def test_newtons_method_rests_at_the_nearest_point_of_a_set(kept: str, nearest: Any) -> None:
    """The least of |z - x|^2 on the set."""
    spec = SPEC.replace("state z[D]", f"state z[D] in {kept}").replace("~ normal(0.3)", "= 0")
    net, (clamps, _) = loaded(spec + "start z[d] = tanh(x[d])\n", solver="newton", steps=12, tolerance=1e-11), inputs()
    found = net.relax(clamps)
    assert float(found.residual.max()) <= 1e-11
    torch.testing.assert_close(found.states["z"], nearest(clamps["x"]), rtol=1e-9, atol=1e-9)


# -------------------------------------------------------------------- what may not be combined


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("solver = newton(memory = 3)", "options only as anderson"),
        ("solver = anderson(memory = 0)", "positive whole number"),
        ("solver = anderson(damping = 2)", "at most 1"),
        ("solver = anderson, exit = inference", "forgets its past"),
        ("exit = soon", "one of settled, early, inference"),
    ],
)
def test_settings_that_do_not_go_together(setting: str, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        energyc.load(SPEC.replace("max_steps = 2000", setting))
    assert said in str(caught.value.diagnostics[0].message)


@pytest.mark.parametrize("settings", ["step = auto", "solver = anderson"])
def test_steps_that_are_chosen_or_mixed_are_not_taken_back(settings: str) -> None:
    net = loaded(SPEC.replace("step = 0.3", settings))
    assert "bptt" not in net.rules
    with pytest.raises(ValueError, match="differentiated by implicit"):
        net(inputs()[0], rule="bptt")


@pytest.mark.parametrize("target", ["torch", "cpp", "triton"])
def test_every_target_has_the_solver_and_the_choice_of_the_step(target: Any) -> None:
    spec = SPEC.replace("step = 0.3", "step = auto, solver = anderson")
    made = pipeline.emit(pipeline.resolve(pipeline.read(spec)), pipeline.ALL, target=target)
    net = pipeline.instantiate(made, "cpu", torch.float64, 0)
    assert (net.relax_solver, net.relax_auto) == ("anderson", True)
