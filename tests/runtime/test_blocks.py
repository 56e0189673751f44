"""Block descent: where sweeps rest, that they go down the energy, nudged phases, and where it is refused."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc
from energyc import pipeline
from energyc.language.diagnostics import Source, SpecError, UserError
from energyc.resources import resource
from energyc.studies.verify import random_probe
from tests.derive.drawn_blocks import drawn
from tests.emit.kernels import needs_compiler

SEEDS = [random.Random(int(os.environ["ENERGYC_SEED"]) + k).randrange(2**32) for k in range(4)]
TARGETS = ["torch", pytest.param("cpp", marks=needs_compiler), "triton"]
EVERY = pytest.mark.parametrize("target", ["torch", pytest.param("cpp", marks=needs_compiler)])


def loaded(spec: Any, solver: str = "blocks", target: str = "torch", **settings: object) -> Any:
    """A network in float64 with the same params each time; settings of relax but for those with a dot in the name."""
    given = {name if "." in name else f"relax.{name}": value for name, value in settings.items()}
    return energyc.load(spec, target=target, dtype="float64", seed=3, settings={"relax.solver": solver, **given})


def shipped(
    name: str, solver: str = "blocks", target: str = "torch", preset: str | None = "verify", **given: object
) -> Any:
    spec = resource("specs") / f"{name}.energy"
    settings = {"relax.solver": solver, **{f"relax.{key}": value for key, value in given.items()}}
    return energyc.load(spec, preset=preset, target=target, dtype="float64", seed=3, settings=settings)


def gap(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> float:
    """The largest difference, relative to the largest number."""
    return max(float((a[n] - b[n]).abs().max()) for n in a) / max(1e-3, *(float(x.abs().max()) for x in a.values()))


def falls(net: Any, clamps: Mapping[str, Tensor], steps: int = 20) -> bool:
    """Whether no sweep raises the energy by more than rounding."""
    energy = net.relax(clamps, steps=steps, record="energy").trace["energy"]
    return bool((energy.diff(dim=0) <= 1e-12 * energy.abs().max()).all())


# ------------------------------------------------------------------ the free phase


@cache
def by_plain_steps(seed: int) -> tuple[Any, Any, Any]:
    """A probe of the network of a seed, where plain steps rest on it, and the gradients there by nudged ones."""
    plain = loaded(drawn(seed), "gradient")
    probe = random_probe(plain, batch=4, seed=seed % 2**31)
    gradients = plain.gradients(probe.clamps, probe.targets, steps=4000, nudge_steps=4000)
    assert float(gradients.residual.max()) < 1e-11, f"seed {seed}"
    return probe, gradients.states, gradients.params


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@EVERY
def test_sweeps_rest_where_plain_steps_do(seed: int, target: str) -> None:
    """Also nudged ones, at both signs of beta, with a cost whose gradient is affine in each entry or mixes entries."""
    text = drawn(seed)
    probe, states, gradients = by_plain_steps(seed)
    blocks = loaded(text, target=target)
    assert gap(states, blocks.relax(probe.clamps, steps=60).states) < 1e-9, f"seed {seed}\n{text}"
    assert falls(blocks, probe.clamps), f"seed {seed}\n{text}"
    found = blocks.gradients(probe.clamps, probe.targets, steps=80, nudge_steps=80).params
    assert gap(gradients, found) < 1e-7, f"seed {seed}\n{text}"


@pytest.mark.abridged
@pytest.mark.parametrize("name", ["hopfield", "deep_hopfield", "resistive", "predictive_coding", "cet"])
def test_shipped_specs_rest_where_plain_steps_do(name: str) -> None:
    small = {"resistive": {"I": 12, "J": 9, "K": 4}, "predictive_coding": {"I": 12, "J": 9, "L": 7, "K": 4}}
    given = {} if name not in small else {"dims": small[name]}
    nets = [
        energyc.load(
            resource("specs") / f"{name}.energy",
            preset=None if given else "verify",
            dtype="float64",
            seed=3,
            settings={"relax.solver": solver, "relax.tolerance": 1e-13, "relax.max_steps": 20000},
            **given,
        )
        for solver in ("gradient", "blocks")
    ]
    probe = random_probe(nets[0], batch=3, seed=1)
    plain, blocks = (net.relax(probe.clamps) for net in nets)
    assert gap(plain.states, blocks.states) < 1e-9
    assert float(blocks.steps.max()) <= float(plain.steps.max())
    assert falls(nets[1], probe.clamps)


SOLVED = """\
network solved
dim A = 4, B = 3
clamp x[A]
param W[A, B] ~ normal(0.1), g[A] ~ uniform(0.5, 2) in [1/10, 3]
state y[A], z[B]
energy both = 1/2 * sum[a](g[a] * y[a]^2) + 3/4 * sum[b](z[b]^2) - sum[a,b](y[a] * W[a,b] * z[b])
energy drive = -sum[a](x[a] * y[a])
readout o[b] = z[b]
relax { step = 0.1, steps = 200 }
"""


def test_a_network_without_sets_rests_at_the_solution_of_its_linear_system() -> None:
    net = loaded(SOLVED)
    x = torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    w, g = net.params["W"].detach(), net.params["g"].detach()
    matrix = torch.cat([torch.cat([g.diag(), -w], 1), torch.cat([-w.T, 1.5 * torch.eye(3, dtype=w.dtype)], 1)])
    right = torch.cat([x, torch.zeros(5, 3, dtype=w.dtype)], 1)
    aim = torch.linalg.solve(matrix, right.T).T
    found = net.relax({"x": x}).states
    assert torch.allclose(torch.cat([found["y"], found["z"]], 1), aim, rtol=0, atol=1e-12)


@EVERY
def test_a_block_moves_to_the_least_energy_while_others_are_held(target: str) -> None:
    """In a box and on a kink, against a fine grid of each entry."""
    net = loaded(
        """\
network one
dim A = 3
clamp x[A]
param g[A] ~ uniform(0.5, 2) in [1/10, 3]
state z[A] in [-1/4, 1/2]
energy e = 1/2 * sum[a](g[a] * z[a]^2) - sum[a](x[a] * z[a]) + 1/3 * sum[a](abs(z[a]))
readout o[a] = z[a]
relax { step = 1/8 }
""",
        target=target,
    )
    x = torch.linspace(-2, 2, 63, dtype=torch.float64).view(21, 3)
    grid = torch.linspace(-0.25, 0.5, 30001, dtype=torch.float64)
    value = net.params["g"].detach()[:, None] / 2 * grid**2 - x[..., None] * grid + grid.abs() / 3
    found = net.relax({"x": x}, steps=1).states["z"]
    assert torch.allclose(found, grid[value.argmin(-1)], rtol=0, atol=2e-5)
    assert int((found == 0).sum()) > 5
    assert int(((found == -0.25) | (found == 0.5)).sum()) > 5


RIVALS = """\
network rivals
dim A = 4
clamp x[A]
param W[A, A] ~ normal(0.1)
state s[A] in [0, 1], y[A] in [0, 1]
energy leak = 1/2 * sum[a](s[a]^2 + y[a]^2) - sum[a](x[a] * (s[a] + y[a]))
energy rivalry = 5 * sum[a](s[a] * y[a]) + sum[a,b](s[a] * W[a,b] * y[b])
readout o[a] = y[a]
relax { step = 1/2, steps = 20, tolerance = 1e-4, max_steps = 3000 }
"""


@pytest.mark.abridged
@EVERY
def test_large_weights_oscillate_under_plain_steps_and_settle_under_sweeps(target: str) -> None:
    plain, blocks = (loaded(RIVALS, solver, target) for solver in ("gradient", "blocks"))
    clamps = {"x": 0.5 + 0.5 * torch.rand(16, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))}
    assert float(plain.relax(clamps).residual.min()) > 1e-2
    settled = blocks.relax(clamps)
    assert float(settled.residual.max()) <= 1e-4
    assert int(settled.steps.max()) <= 20
    assert falls(blocks, clamps)


def test_where_nothing_acts_back_one_sweep_is_enough() -> None:
    net = loaded(
        """\
network chain
dim A = 3
clamp x[A]
param V[A, A], W[A, A], U[A, A] ~ normal(1)
state a[A] in [0, 1], b[A], c[A] in [0, 1]
force fa on a[i] = sum[j](V[i,j] * x[j]) - a[i]
force fb on b[i] = sum[j](W[i,j] * a[j]) - b[i]
force fc on c[i] = sum[j](U[i,j] * b[j]) + sum[j](W[i,j] * a[j]) - c[i]
readout o[i] = c[i]
relax { step = 1/2 }
"""
    )
    probe = random_probe(net, batch=4, seed=1)
    assert float(net.relax(probe.clamps, steps=1).residual.max()) < 1e-14


def test_a_slope_that_reads_another_state_is_that_of_where_it_is_now() -> None:
    text = SOLVED.replace("3/4 * sum[b](z[b]^2)", "3/4 * sum[b](z[b]^2) + sum[a,b](y[a]^2 * z[b]^2)")
    net = loaded(text)
    probe = random_probe(net, batch=4, seed=1)
    assert net.block_slopes == {0: None, 1: None}
    assert falls(net, probe.clamps, 40)
    assert float(net.relax(probe.clamps, steps=400).residual.max()) < 1e-12


def test_the_residual_is_that_of_the_plain_step() -> None:
    plain, blocks = shipped("hopfield", "gradient"), shipped("hopfield")
    probe = random_probe(plain, batch=4, seed=1)
    free = blocks.relax(probe.clamps, steps=2)
    assert torch.equal(free.residual, plain.relax(probe.clamps, steps=0, states=free.states).residual)


def test_samples_leave_at_the_tolerance_and_others_go_on() -> None:
    net = shipped("deep_hopfield", exit="early", chunk=1, tolerance=1e-8)
    probe = random_probe(net, batch=12, seed=1)
    clamps = {name: x * torch.linspace(0, 2, 12, dtype=x.dtype)[:, None] for name, x in probe.clamps.items()}
    free = net.relax(clamps)
    assert float(free.residual.max()) <= 1e-8
    assert free.steps.unique().numel() > 1
    assert gap(free.states, net.relax(clamps, steps=100).states) < 1e-6


# ------------------------------------------------------------------ nudged and clamped phases


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("rule", ["centered-ep", "ep", "vf", "aep", "tracking-aep", "dyadic-ep", "adjoint"])
@EVERY
def test_rules_give_the_gradient_of_the_cost(rule: str, target: str) -> None:
    net = shipped("hopfield", target=target, steps=200, tolerance="none")
    probe = random_probe(net, batch=4, seed=1)
    aim = net.gradients(probe.clamps, probe.targets, "implicit").params
    beta = None if rule == "adjoint" else 1e-6 if rule == "ep" else 1e-5
    found = net.gradients(probe.clamps, probe.targets, rule, beta=beta, nudge_steps=400).params
    assert gap(aim, found) < 1e-5


@pytest.mark.parametrize("how", ["plain steps", pytest.param("kernels", marks=needs_compiler)])
def test_a_clamped_state_is_held(how: str) -> None:
    if how == "kernels":
        nets = [shipped("hopfield", target=target) for target in ("torch", "cpp")]
    else:
        nets = [shipped("hopfield", solver, steps=300, tolerance="none") for solver in ("gradient", "blocks")]
    probe = random_probe(nets[0], batch=4, seed=1)
    aim, found = (net.gradients(probe.clamps, probe.targets, "chl").params for net in nets)
    assert gap(aim, found) < (1e-12 if how == "kernels" else 1e-9)


def test_two_nudged_phases_as_one_batch_are_those_apart() -> None:
    text = drawn(SEEDS[0])
    found = []
    for together in ("false", "true"):
        net = loaded(text, **{"nudge.together": together, "nudge.steps": 3, "steps": 3})
        probe = random_probe(net, batch=4, seed=1)
        found.append(net.gradients(probe.clamps, probe.targets).params)
    assert gap(*found) < 1e-12, f"seed {SEEDS[0]}"


@EVERY
def test_a_nudge_that_leaves_no_slope_goes_where_plain_steps_go(target: str) -> None:
    """At beta = -2 the output's energy and nudge are concave together: it goes to a corner of its box."""
    nets = [shipped("hopfield", solver, target) for solver in ("gradient", "blocks")]
    probe = random_probe(nets[0], batch=4, seed=1)
    aim, found = (
        net.gradients(probe.clamps, probe.targets, steps=200, beta=2.0, nudge_steps=200).params for net in nets
    )
    assert gap(aim, found) < 1e-9


def test_one_nudged_sweep_reaches_the_first_layer() -> None:
    net = shipped("deep_hopfield", steps=40, tolerance="none")
    probe = random_probe(net, batch=4, seed=1)
    found = net.gradients(probe.clamps, probe.targets, beta=0.1, nudge_steps=1).params
    assert float(found["W1"].abs().max()) > 0


# ------------------------------------------------------------------ where it is refused


QUARTIC = SOLVED.replace("1/2 * sum[a](g[a] * y[a]^2)", "sum[a](g[a] * y[a]^4)").replace(
    "3/4 * sum[b](z[b]^2)", "sum[b](z[b]^4)"
)
NUMBERED = SOLVED.replace("relax { step", "dim T = 4\nrelax t in T { step").replace(", steps = 200", "")


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (SOLVED.replace("step = 0.1", "step = auto"), "E0503", "relax.step = auto"),
        (QUARTIC, "E0505", "y: the force on it is not affine in it; z:"),
        (NUMBERED.replace("energy drive", "force f on y[a] = x[a] / (1 + t)\nenergy drive"), "E0503", ""),
    ],
    ids=["a chosen step", "no exact state", "numbered steps"],
)
def test_sweeps_are_refused(text: str, code: str, said: str) -> None:
    with pytest.raises(SpecError) as error:
        pipeline.resolve(Source("spec", text.replace("step =", "solver = blocks, step =")))
    ((found, message),) = [(d.code, d.message) for d in error.value.diagnostics if d.code.startswith("E")]
    assert found == code and said in message


@pytest.mark.parametrize("rule", ["bptt", "tbptt"])
def test_the_way_through_sweeps_is_refused(rule: str) -> None:
    network = pipeline.resolve(Source("spec", drawn(SEEDS[0])), pipeline.Choices(None, {"relax.solver": "blocks"}))
    with pytest.raises(UserError, match="the states relax by block descent, whose steps are not taken back"):
        pipeline.emit(network, [rule])


def test_a_module_of_plain_steps_has_no_blocks() -> None:
    net = shipped("hopfield", "gradient")
    net.relax_solver = "blocks"
    net.blocks = ((0,), (1,))
    with pytest.raises(ValueError, match=r"was compiled without relax\.solver = blocks"):
        net.relax(random_probe(net, batch=2, seed=1).clamps)


# ------------------------------------------------------------------ layers


LAYER = """\
network lay
dim I = 4, D = 6
clamp x[I]
target y[D]
param U[D, I] ~ normal(0.3)
let e[d] = sum[i](U[d,i] * x[i])
layer memory {
  param W[D, D] ~ normal(0.1)
  state z[D] in [0, 1], h[D]
  energy well = 1/2 * sum[d]((z[d] - e[d])^2) + 1/2 * sum[d](h[d]^2)
  energy pair = -sum[d,k in D](W[d,k] * z[d] * h[k])
  relax { step = 0.2, steps = 400 }
}
readout out[d] = memory.z[d]
cost mse = mean[d]((out[d] - y[d])^2)
train { rule = implicit }
"""


@pytest.mark.abridged
@EVERY
def test_a_layer_relaxes_by_blocks(target: str) -> None:
    found = []
    for settings in ({}, {"memory.relax.solver": "blocks", "memory.relax.steps": 30}):
        net = energyc.load(LAYER, target=target, dtype="float64", seed=3, settings=settings)
        probe = random_probe(net, batch=4, seed=1)
        found.append(net.gradients(probe.clamps, probe.targets, "implicit").params)
    assert gap(*found) < 1e-9
