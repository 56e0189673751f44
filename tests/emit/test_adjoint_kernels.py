"""The adjoint of an equilibrium by kernels, as torch operations, by GMRES, and by a dense solve."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor

from energyc.language.diagnostics import UserError
from energyc.runtime.adjoints import implicit
from energyc.runtime.adjoints.implicit import TransposedStep, solve
from energyc.runtime.equations.inputs import prepared
from energyc.runtime.relaxation.steps import advance_
from energyc.runtime.rules.adjoint import adjoined
from energyc.runtime.tensors.states import flatten, unflatten
from tests.emit.judge import resolved
from tests.emit.kernels import SPEC_OF, TARGETS, calls_of, drawn, kernel_module, needs_compiler, normal, shipped

GOAL = 1e-12
#: Weights so large that steps settle slowly, or (beyond 1) never.
CHAIN = """\
network chain
dim N = 6
clamp x[N]
target t[N]
param W[N, N] in orthogonal
state z[N], y[N] in [-1, 1]
energy well = 1/2 * sum[i](z[i]^2 + y[i]^2) - sum[i](x[i] * z[i])
force turn on z[i] = {weight} * sum[j](W[i,j] * tanh(y[j]))
force back on y[i] = {weight} * sum[j](W[j,i] * sin(z[j]))
readout o[i] = z[i]
cost c = 1/2 * sum[i]((o[i] - t[i])^2)
relax {{ step = 3/4, steps = 200 }}
train {{ rule = implicit }}
"""


def _system(net: Any, seed: int = 3) -> TransposedStep:
    """The adjoint equation at states near the origin, with seeds of very different sizes."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        fixed = prepared(net.eval(), drawn(net.clamp_shapes, random, net))
        states = [0.5 * normal((5, *shape), random, net) for shape in net.state_shapes.values()]
        net._project_(states)
        seeds = [normal(x.shape, random, net) * torch.logspace(-6, 3, 5).to(x)[:, None] for x in states]
        seeds = [x.masked_fill((torch.arange(5) == 2)[:, None], 0.0) for x in seeds]
        return TransposedStep(net, states, fixed, seeds, net.relax_step)


def _dense(system: TransposedStep) -> Tensor:
    """The solution by the matrix of the system: [batch, entries]."""
    rhs = flatten(system.seeds)
    units = torch.eye(rhs.shape[1], dtype=rhs.dtype)
    columns = [system.push(unit.expand_as(rhs)) for unit in units]
    return torch.linalg.solve(units - torch.stack(columns, 2), rhs[:, :, None])[:, :, 0]


@pytest.mark.abridged
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize(("weight", "krylov"), [("1/8", False), ("7/8", True), ("3", True)])
def test_each_sample_is_solved_by_steps_or_by_gmres(
    weight: str, krylov: bool, kernels: bool, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    net = kernel_module(resolved(CHAIN.format(weight=weight)), target=target)
    if not kernels:
        monkeypatch.setattr(net.kernels, "names", ())
    ran = calls_of("_adjoint_steps_", monkeypatch)
    further = calls_of("gmres", monkeypatch, implicit)
    system = _system(net)
    with torch.no_grad():
        found, residual = solve(system, GOAL)
        exact = _dense(system)
    assert ran == [kernels]
    assert bool(further) == krylov
    assert float(residual.max()) <= GOAL
    sizes = exact.norm(dim=1).clamp_min(1e-300)
    assert float(((found - exact).norm(dim=1) / sizes).max()) < 1e-10  # of each sample, whatever its size
    assert not found[2].any()


def test_a_slow_iteration_is_given_up_early() -> None:
    """After a few steps it is clear that GMRES takes fewer products."""
    system = _system(kernel_module(resolved(CHAIN.format(weight="7/8"))))
    products = 0
    push = system.push

    def counted(flat: Tensor) -> Tensor:
        nonlocal products
        products += 1
        return push(flat)

    system.push = counted  # type: ignore[method-assign]
    rhs = flatten(system.seeds)
    with torch.no_grad():
        implicit.repeated(system, rhs, GOAL * rhs.norm(dim=1), rhs.norm(dim=1), implicit.MOST)
    assert products == implicit.DECIDES_AFTER


@pytest.mark.abridged
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["hopfield", "deq"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradients_are_those_of_torch(
    name: str, dtype: torch.dtype, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O1")
    net = kernel_module(shipped(SPEC_OF[name]), ["implicit"], target, dtype=dtype)
    ran = calls_of("_adjoint_steps_", monkeypatch)
    random = torch.Generator().manual_seed(5)
    clamps, targets = drawn(net.clamp_shapes, random, net), drawn(net.target_shapes, random, net)
    by_kernels = net.gradients(clamps, targets).params
    monkeypatch.setattr(net.kernels, "names", ())
    as_torch = net.gradients(clamps, targets).params
    assert ran == [True, False]
    for param, slope in as_torch.items():
        far = float((by_kernels[param] - slope).norm() / slope.norm())
        assert far < (1e-9 if dtype == torch.float64 else 1e-3), (param, far)


@needs_compiler
def test_what_is_no_number_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    system = _system(kernel_module(resolved(CHAIN.format(weight="1/8"))))
    system.seeds[0][1, 0] = torch.nan
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        found, residual = solve(system, GOAL)
        good = unflatten(found, system.states)[0][[0, 3, 4]]
    assert bool(residual.isinf().any())
    assert bool(good.isfinite().all())


#: Sets that each mix their entries, a box and none.
SETS = """\
network sets
dim N = 6
clamp x[N]
target t[N]
param W[N, N] ~ normal(1/2)
state u[N] in sphere[N], v[N] in standardized[N], b[N] in [-1/4, 1/4], z[N]
energy well = 1/2 * sum[i](u[i]^2 + v[i]^2 + b[i]^2 + z[i]^2) - sum[i](x[i] * (u[i] + v[i] + b[i] + z[i]))
force turn on z[i] = sum[j](W[i,j] * tanh(u[j] + v[j] * b[j]))
force back on u[i] = sum[j](W[j,i] * sin(z[j] - b[j]))
readout o[i] = z[i] + v[i]
cost c = 1/2 * sum[i]((o[i] - t[i])^2) + sum[i](b[i]^3)
relax { step = 1/4, steps = 50 }
train { rule = adjoint }
"""


def beside(net: Any, size: float = 0.7, steps: int = 3) -> None:
    """Some steps of ``adjoint`` by a kernel are those by torch, from states and adjoints at random."""
    assert "adjoining" in net.kernels.names
    random = torch.Generator().manual_seed(9)
    with torch.no_grad():
        fixed = prepared(net.eval(), drawn(net.clamp_shapes, random, net))
        targets = list(drawn(net.target_shapes, random, net).values())
        states = [size * normal((5, *shape), random, net) for shape in net.state_shapes.values()]
        net._project_(states)
        a, step = [normal(x.shape, random, net) for x in states], net.relax_step
        others, adjoints = ([x.clone() for x in part] for part in (states, a))
        assert net._adjoining_steps_(states, a, fixed, targets, steps, step)
        for _ in range(steps):
            adjoints, force = adjoined(net, others, adjoints, fixed, targets, step)
            advance_(net, others, fixed, force, step)
    assert all(bool(x.isfinite().all()) for x in adjoints)
    for found, expected in zip([*states, *a], [*others, *adjoints], strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("name", SPEC_OF)
def test_states_that_move_with_their_adjoint(name: str, target: str) -> None:
    try:
        net = kernel_module(shipped(SPEC_OF[name]), ["adjoint"], target)
    except UserError as refused:
        pytest.skip(str(refused).splitlines()[0])
    if hasattr(net, "copies") or "adjoining" not in net.kernels.names:
        pytest.skip("adjoint steps as torch operations")
    beside(net, 1e-3 if name == "resistive" else 0.7)  # the currents of its diodes grow exponentially


@pytest.mark.parametrize("target", TARGETS)
def test_adjoints_on_sets_that_mix_entries(target: str) -> None:
    beside(kernel_module(resolved(SETS), ["adjoint"], target))
