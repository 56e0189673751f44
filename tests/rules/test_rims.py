"""Gradients where states rest on the rims of their sets, at which the curvature is infinite.

The expected gradient is that of the energy on the entries that are free, by autograd in float64: held entries are
numbers there.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import hessian, jacrev

import energyc
from tests.emit.kernels import needs_compiler, needs_interpreter

RULES = ("implicit", "bptt", "adjoint", "centered-ep", "vf", "aep", "tracking-aep", "dyadic-ep")
TARGETS = ["torch", pytest.param("cpp", marks=needs_compiler)]
HEAD = "dim N = 3, D = 4\nclamp x[D]\ntarget y\nparam W[N, D] ~ normal(1)\nparam w = 1/2\n"
COST = "cost c = 1/2 * (sum[n](z[n]^2) - y)^2\n"
RELAX = "relax { step = 0.1, steps = 400, tolerance = 1e-13, max_steps = 4000 }\nnudge { steps = 400 }\n"
Params = Mapping[str, Tensor]


@dataclass(frozen=True)
class Case:
    """A state z[N] in a set, and its energy as text and, of the entries that are free, of values."""

    kept: str
    text: str
    value: Callable[[Tensor, Tensor], Tensor]

    @property
    def spec(self) -> str:
        start = "1/N" if self.kept.startswith("simplex") else "1/2"
        state = f"state z[N] in {self.kept}\nstart z[n] = {start}\n"
        return f"network rims\n{HEAD}{state}energy pull = -sum[n,d](W[n,d] * x[d] * z[n])\n{self.text}{COST}{RELAX}"

    def free(self, z: Tensor) -> Tensor:
        """The entries that are not on a rim."""
        return (z > 0) & ((z < 1) | (self.kept == "nonnegative"))


CASES = {
    "tsallis": Case("simplex[N]", "energy t = 4/3 * w * sum[n](z[n]^(3/2))\n", lambda z, w: 4 / 3 * w * (z**1.5).sum()),
    "sparse": Case(
        "nonnegative",
        "energy t = 1/2 * sum[n](z[n]^2) + w * sum[n](sqrt(z[n]))\n",
        lambda z, w: 0.5 * z.square().sum() + w * z.sqrt().sum(),
    ),
    "both rims": Case(
        "[0, 1]",
        "energy t = w * sum[n](z[n]^(3/2) + (1 - z[n])^(5/4))\n",
        lambda z, w: w * (z**1.5 + (1 - z) ** 1.25).sum(),
    ),
    "coupled": Case(
        "nonnegative",
        "energy s = 1/2 * sum[n](z[n]^2)\nenergy t = w * (1 + sum[n](z[n]^(3/2))) * (1 + mean[m in N](sqrt(z[m])))\n",
        lambda z, w: 0.5 * z.square().sum() + w * (1 + (z**1.5).sum()) * (1 + z.sqrt().sum() / 3),
    ),
}


def _at_rest(case: Case, z: Tensor, x: Tensor, y: Tensor, params: Params) -> Params:
    """The gradient of the cost of one sample: -<d(dE/dz)/dtheta, H^-1 dC/dz> on what is free."""
    free = case.free(z)
    part, basis = z[free], torch.eye(int(free.sum()), dtype=z.dtype)
    if case.kept.startswith("simplex"):
        basis = torch.linalg.svd(torch.ones(1, len(part), dtype=z.dtype)).Vh[1:]
    if len(basis) == 0:
        return {name: torch.zeros_like(value) for name, value in params.items()}

    def energy(part: Tensor, given: Params) -> Tensor:
        return case.value(part, given["w"]) - (part * (given["W"] @ x)[free]).sum()

    slope = basis @ (2 * part * (z.square().sum() - y))
    adjoint = torch.linalg.solve(basis @ hessian(energy)(part, params) @ basis.T, slope) @ basis
    mixed = jacrev(jacrev(energy), 1)(part, params)
    return {name: -torch.einsum("i...,i->...", mixed[name], adjoint) for name in params}


def _expected(case: Case, states: Tensor, x: Tensor, y: Tensor, params: Params) -> Params:
    found = [_at_rest(case, *sample, params) for sample in zip(states, x, y, strict=True)]
    return {name: torch.stack([each[name] for each in found]).mean(0) for name in params}


def _drawn(net: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Clamps and targets of samples of which all hold an entry on a rim, and some more."""
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        net.params["W"].copy_(torch.randn(3, 4, generator=random, dtype=torch.float64))
    return {"x": torch.randn(6, 4, generator=random, dtype=torch.float64)}, {"y": torch.ones(6, dtype=torch.float64)}


def _params(net: Any) -> Params:
    return {name: value.detach().clone() for name, value in net.params.items()}


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", TARGETS)
def test_what_is_held_passes_nothing_on(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O1")
    case = CASES[name]
    net = energyc.load(case.spec, dtype=torch.float64, target=target, rules=RULES)
    clamps, targets = _drawn(net)
    rest = net.relax(clamps)
    assert float(rest.residual.max()) < 1e-12
    held = ~case.free(rest.states["z"])
    assert 3 <= int(held.sum()) < held.numel()
    expected = _expected(case, rest.states["z"], clamps["x"], targets["y"], _params(net))
    for rule in RULES:
        found = net.gradients(clamps, targets, rule=rule, nudge_steps=1200)
        close = 1e-9 if rule in ("implicit", "bptt", "adjoint") else 2e-6
        assert bool(found.kept.all()), rule
        for key, value in expected.items():
            torch.testing.assert_close(found.params[key], value, rtol=close, atol=close, msg=f"{rule}, {key}")


@pytest.mark.parametrize("settings", ["solver = newton,", "solver = anderson,"])
@pytest.mark.parametrize("name", CASES)
def test_every_solver_comes_to_the_same_rest(name: str, settings: str) -> None:
    case = CASES[name]
    nets = [
        energyc.load(text, dtype=torch.float64, rules=["implicit"])
        for text in (case.spec, case.spec.replace("relax {", f"relax {{ {settings}"))
    ]
    (clamps, targets), _ = (_drawn(net) for net in nets)
    plain, other = (net.gradients(clamps, targets) for net in nets)
    torch.testing.assert_close(other.states["z"], plain.states["z"], rtol=0, atol=1e-9)
    for key, value in plain.params.items():
        torch.testing.assert_close(other.params[key], value, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("rule", ["implicit", "bptt"])
@pytest.mark.parametrize("name", CASES)
def test_autograd_of_a_host(name: str, rule: str) -> None:
    net = energyc.load(
        CASES[name].spec.replace("cost", "readout a = sum[n](z[n]^2)\ncost"), dtype=torch.float64, rules=[rule]
    )
    clamps, targets = _drawn(net)
    (answer,) = net(clamps, rule=rule).values()
    (0.5 * (answer - targets["y"]).square()).mean().backward()
    for key, value in net.gradients(clamps, targets, rule=rule).params.items():
        torch.testing.assert_close(net.params[key].grad, value, rtol=1e-9, atol=1e-9)


def test_a_slope_that_is_infinite_in_an_entry_that_moves_is_not_hidden() -> None:
    """A state that starts on the rim leaves it: the slope of its first step by the state is infinite."""
    spec = (
        CASES["sparse"].spec.replace("start z[n] = 1/2", "param s[N] = 0\nstart z[n] = s[n]").replace("+ w *", "- w *")
    )
    net = energyc.load(spec.replace("sqrt(z[n])", "z[n]^(3/2)"), dtype=torch.float64, rules=["bptt"])
    clamps, targets = _drawn(net)
    clamps["x"] = clamps["x"].abs()
    with torch.no_grad():
        net.params["W"].abs_()
    found = net.gradients(clamps, targets, rule="bptt", steps=3)
    assert not bool(found.params["s"].isfinite().all())


@needs_interpreter
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
def test_kernels_in_triton_go_back_as_torch_does() -> None:
    """After few steps: kernels in Triton's interpreter are slow."""
    nets = [
        energyc.load(CASES["tsallis"].spec, dtype=torch.float64, target=target, rules=["adjoint"])
        for target in ("torch", "triton")
    ]
    for net in nets:
        clamps, targets = _drawn(net)
    plain, other = (net.gradients(clamps, targets, steps=30, nudge_steps=4) for net in nets)
    assert bool((plain.states["z"] == 0).any())
    for key, value in plain.params.items():
        torch.testing.assert_close(other.params[key], value, rtol=1e-9, atol=1e-9)


needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")


@needs_jax
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_modules_in_jax_give_the_same(name: str) -> None:
    from tests.emit.test_jax import Pair, difference, same_rest
    from tests.fuzz.differential import in_float64

    with in_float64():
        pair = Pair(energyc.pipeline.resolve(energyc.pipeline.read(CASES[name].spec)))
        assert {"implicit", "bptt", "adjoint", "centered-ep"} <= set(pair.jax.rules)
        same_rest(pair, 1e-9)
        for rule in pair.jax.rules:
            theirs, found = pair.gradients(rule)
            assert difference(found, theirs) < 1e-7, rule
