"""Free phases that kernels make to the end of each sample, beside the same steps chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from energyc.runtime.equations.inputs import free_phase, prepared
from energyc.runtime.equations.records import FreePhase, Phase
from energyc.runtime.kernels.library import Kernels
from energyc.runtime.kernels.phases import KernelNetwork
from energyc.runtime.relaxation.solver import run_free_phase
from tests.emit.judge import resolved
from tests.emit.kernels import KINKS, SPECS, TOLERANCE, drawn, kernel_module, needs_compiler, shipped

#: More samples than a tile has.
BATCH = 67
#: Samples settle after very different numbers of steps: what couples the states of each grows with its input. Labels,
#: an input of each sample and one for all are read by steps.
UNEVEN = """\
network uneven
dim N = 5, K = 3
clamp x[N], gain, label : K
param W[N, N] in orthogonal, class[K, N] ~ normal(1/2)
state z[N], y[N] in [-1/2, 1]
energy well = 1/2 * sum[i](z[i]^2 + y[i]^2) - sum[i](x[i] * z[i] + class[label,i] * y[i])
force turn on z[i] = gain * sum[j](W[i,j] * tanh(y[j]))
force back on y[i] = -gain * sum[j](W[j,i] * tanh(z[j]))
relax { step = 1/3, steps = 6, tolerance = 1e-5, chunk = 4, max_steps = 90 }
readout o[i] = z[i]
target t[N]
cost c = sum[i]((o[i] - t[i])^2)
train { rule = implicit }
"""
#: A sample explodes where its input is large.
EXPLODING = """\
network exploding
dim N = 3
clamp x[N]
state z[N]
start z[i] = x[i]
energy hill = 1/2 * sum[i](z[i]^2) - 1/4 * sum[i](z[i]^4)
relax { step = 1/2, steps = 4, tolerance = 1e-6, chunk = 3, max_steps = 60 }
readout o[i] = z[i]
target t[N]
cost c = sum[i]((o[i] - t[i])^2)
train { rule = implicit }
"""


def ended(net: Any, clamps: dict[str, Tensor], states: Sequence[Tensor], phase: Phase) -> FreePhase:
    """A free phase from some states."""
    with torch.no_grad():
        return run_free_phase(net, [x.clone() for x in states], prepared(net, clamps), phase)


def both(net: Any, clamps: dict[str, Tensor], states: Sequence[Tensor], phase: Phase) -> tuple[FreePhase, FreePhase]:
    """The same by one call of a kernel, and with a look from Python after each chunk."""
    own, ends = KernelNetwork._settle_, []

    def seen(*given: Any) -> Any:
        ends.append(own(*given))
        return ends[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KernelNetwork, "_settle_", seen)
        whole = ended(net, clamps, states, phase)
        patch.setattr(KernelNetwork, "_settle_", lambda *_: None)
        apart = ended(net, clamps, states, phase)
    assert [end is None for end in ends] == [False]
    return whole, apart


def close(found: FreePhase, expected: FreePhase) -> None:
    """States, residuals and steps are the same."""
    assert found.steps.tolist() == expected.steps.tolist()
    assert found.frozen.tolist() == expected.frozen.tolist()
    torch.testing.assert_close(found.residual, expected.residual, rtol=1e-6, atol=TOLERANCE)
    for x, y in zip(found.states, expected.states, strict=True):
        torch.testing.assert_close(x, y, rtol=TOLERANCE, atol=TOLERANCE)


def uneven(random: torch.Generator, text: str = UNEVEN) -> tuple[Any, dict[str, Tensor], list[Tensor]]:
    """A network whose samples stop one after the other, its clamps and a start."""
    net = kernel_module(resolved(text)).eval()
    clamps = {"x": torch.randn(BATCH, 5, generator=random, dtype=torch.float64)}
    clamps["gain"] = torch.linspace(0, 2.5, BATCH, dtype=torch.float64)[torch.randperm(BATCH, generator=random)]
    clamps["label"] = torch.randint(0, 3, (BATCH,), generator=random)
    return net, clamps, list(net.start(clamps).values())


@needs_compiler
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("exit", ["settled", "early"])
def test_samples_that_stop_one_after_the_other(exit: str, threads: int) -> None:
    net, clamps, states = uneven(
        torch.Generator().manual_seed(1), UNEVEN.replace("chunk = 4", f"chunk = 4, exit = {exit}")
    )
    used = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        whole, apart = both(net, clamps, states, free_phase(net, None, None, None))
    finally:
        torch.set_num_threads(used)
    assert len(set(whole.steps.tolist())) > 8 and int(whole.steps.max()) == 90
    close(whole, apart)


@needs_compiler
@pytest.mark.parametrize(
    "phase",
    [
        {"steps": 5, "tolerance": None},
        {"steps": 0, "tolerance": None},
        {"steps": 0, "max_steps": 7},
        {"steps": 6, "max_steps": 9},
        {"chunk": 1},
        {"chunk": 200},
        {"tolerance": 0.0},
    ],
    ids=str,
)
def test_looks_are_where_they_were(phase: dict[str, Any]) -> None:
    net, clamps, states = uneven(torch.Generator().manual_seed(2))
    close(*both(net, clamps, states, free_phase(net, None, None, None)._replace(**phase)))


@needs_compiler
def test_what_explodes_does_so_step_by_step() -> None:
    """It alone: the others of its batch end in the kernel."""
    net = kernel_module(resolved(EXPLODING)).eval()
    x = 0.9 * torch.rand(BATCH, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    x[5] = 3.0
    whole, apart = both(net, {"x": x}, [x], free_phase(net, None, None, None))
    assert int(whole.steps[5]) > 0
    assert not whole.residual[5].isfinite() and int(whole.residual.isfinite().sum()) == BATCH - 1
    close(whole, apart)


@needs_compiler
@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_shipped_specs(path: Path) -> None:
    net = kernel_module(shipped(path))
    if hasattr(net, "copies") or "settled" not in net.kernels.names:
        pytest.skip("no kernel settles by itself")
    random = torch.Generator().manual_seed(0)
    clamps = drawn(net.eval().clamp_shapes, random, net)
    phase = free_phase(net, None, None, None)._replace(chunk=2, steps=2, max_steps=9)
    first = ended(net, clamps, list(net.start(clamps).values()), phase._replace(tolerance=None))
    phase = phase._replace(tolerance=float(first.residual.median()))
    close(*both(net, clamps, list(net.start(clamps).values()), phase))


@needs_compiler
def test_kinks_move_as_ever() -> None:
    net = kernel_module(resolved(KINKS)).eval()
    clamps = drawn(net.clamp_shapes, torch.Generator().manual_seed(4), net)
    phase = free_phase(net, 20, None, 1e-5)._replace(chunk=7, max_steps=500)
    close(*both(net, clamps, list(net.start(clamps).values()), phase))


@needs_compiler
@pytest.mark.parametrize(
    ("setting", "value"), [("relax_patience", 2), ("relax_measure", "gradient"), ("relax_exit", "inference")]
)
def test_other_looks_stay_in_python(setting: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    net, clamps, states = uneven(torch.Generator().manual_seed(5))
    monkeypatch.setattr(net, setting, value)
    called: list[str] = []
    run = net.kernels.run
    monkeypatch.setattr(net.kernels, "run", lambda name, *given: called.append(name) or run(name, *given))
    ended(net, clamps, states, free_phase(net, None, None, None))
    assert called and "settled" not in called


@needs_compiler
def test_in_float32_a_sample_makes_as_many_steps() -> None:
    """Its place in a tile may change the last digit."""
    net, clamps, states = uneven(torch.Generator().manual_seed(6))
    net, states = net.float(), [x.float() for x in states]
    clamps = {name: x.float() if x.is_floating_point() else x for name, x in clamps.items()}
    whole, apart = both(net, clamps, states, free_phase(net, None, None, 1e-4))
    assert whole.steps.tolist() == apart.steps.tolist() and len(set(whole.steps.tolist())) > 5
    for x, y in zip(whole.states, apart.states, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-6)


LAYERS = """\
network layered
dim N = 4
clamp x[N]
target t[N]
layer first {
  state z[N]
  energy e = 1/2 * sum[i](z[i]^2) - 1/4 * sum[i](x[i] * tanh(z[i]))
  relax { steps = 3, tolerance = 1e-6, chunk = 2, max_steps = 80 }
}
layer second {
  state z[N]
  energy e = 1/2 * sum[i](z[i]^2) - sum[i](first.z[i] * sin(z[i]))
  relax { steps = 3, step = 1/4, tolerance = 1e-6, max_steps = 80 }
}
readout o[i] = second.z[i]
cost c = sum[i]((o[i] - t[i])^2)
train { rule = implicit }
"""


@needs_compiler
def test_layers_settle_each_by_its_own_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    net = kernel_module(resolved(LAYERS)).eval()
    clamps = {"x": torch.randn(BATCH, 4, generator=torch.Generator().manual_seed(7), dtype=torch.float64)}
    used: list[str] = []
    run = Kernels.run
    monkeypatch.setattr(Kernels, "run", lambda own, name, *given: used.append(name) or run(own, name, *given))
    with torch.no_grad():
        found = net(clamps)["o"]
        assert used == ["first_settled", "second_settled"]
        monkeypatch.setattr(KernelNetwork, "_settle_", lambda *_: None)
        torch.testing.assert_close(net(clamps)["o"], found, rtol=TOLERANCE, atol=TOLERANCE)
