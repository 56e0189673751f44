"""Trajectories by kernels: steps that are kept and steps back, beside torch operations and autograd."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from torch import Tensor

from energyc.language.diagnostics import SpecError, UserError
from energyc.runtime.kernels.phases import KernelNetwork
from energyc.runtime.relaxation.trajectory import Segment, last_segments
from tests.drawing import draws
from tests.emit.judge import resolved
from tests.emit.kernels import (
    MODELS,
    NUMBERED,
    SPECS,
    TOLERANCE,
    agrees,
    calls_of,
    drawn,
    kernel_module,
    needs_compiler,
    shipped,
)
from tests.emit.random_specs import random_spec

#: Quick to build: a box, products in which either side is narrow, sums over steps.
QUICK = ("hopfield",)
#: Params that are read in each way: by products with few and with many columns, by a sum, entry by entry, through a
#: gather, as one number, at a place, and by two terms.
PARAMS = """\
network params
dim N = 19, M = 3, P = 5, V = 4, R = 2
clamp x[N], word[P] : V
target t[N]
param W[N, M] ~ normal(0.3), U[M, N] ~ normal(0.3), Q[P, M, N] ~ normal(0.3), b[N] = 0.1, c[P] = 0.2, g = 0.7
param A[N, N] ~ normal(0.1), table[V, M] ~ normal(0.3), S[N, N] ~ normal(0.2), h[N] = 0.3, r[R] = 0.4
state z[N] in [-3, 3], y[P, M] in nonnegative, w[M]
energy well = 1/2 * sum[n](z[n]^2) + 1/2 * sum[p,m](y[p,m]^2) + sum[m](w[m]^2) - sum[n](x[n] * z[n])
energy fit = -sum[n,m](z[n] * W[n,m] * tanh(w[m])) + g * sum[n](softplus(z[n] + b[n])) + r[0] * sum[m](sin(w[m]))
energy rows = -sum[p,m,n](y[p,m] * Q[p,m,n] * z[n]) / 9 + sum[p,m](c[p] * sin(y[p,m]))
force turn on w[m] = tanh(sum[n](U[m,n] * tanh(sum[k](S[n,k] * z[k])))) + sum[n](W[n,m] * z[n] * h[n]) / 4
force still on z[n] = sum[k](A[n,k] * h[k])
force words on y[p,m] = table[word[p],m] * tanh(w[m]) + r[1]
readout o[n] = z[n]
cost e = 1/2 * sum[n]((o[n] - t[n])^2)
relax {{ steps = {steps}, step = 1/5, tolerance = {tolerance}, max_steps = 60, chunk = 4 }}
nudge {{ steps = 9 }}
train {{ rule = bptt }}
"""


def _text(steps: int = 6, tolerance: str = "none") -> str:
    return PARAMS.format(steps=steps, tolerance=tolerance)


def _params(steps: int = 6, tolerance: str = "none") -> Any:
    return kernel_module(resolved(_text(steps, tolerance)), ["bptt", "tbptt"])


def _gradients(net: Any, rule: str, **options: Any) -> dict[str, Tensor]:
    random = torch.Generator().manual_seed(5)
    torch.manual_seed(6)  # noise
    clamps, targets = drawn(net.clamp_shapes, random, net), drawn(net.target_shapes, random, net)
    found: dict[str, Tensor] = net.gradients(clamps, targets, rule, **options).params
    return found


def _far(found: dict[str, Tensor], expected: dict[str, Tensor]) -> float:
    assert found.keys() == expected.keys()
    return max(float((found[n] - x).norm() / x.norm().clamp_min(1e-300)) for n, x in expected.items())


@pytest.mark.sampled
@needs_compiler
@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=() if p.stem in QUICK else pytest.mark.slow, id=p.stem) for p in (*SPECS, *MODELS)],
)
def test_shipped_specs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    try:
        net = kernel_module(shipped(path), ["bptt"])
    except UserError as error:
        pytest.skip(str(error))
    layers = net.layers.values() if hasattr(net, "copies") else [net]
    if not any(layer.retraced for layer in layers if hasattr(layer, "kernels")):
        pytest.skip("no kernel goes back")
    found = agrees(net, TOLERANCE * (10 if path.stem == "resistive" else 1))
    assert any(name.endswith("trajectory") for name in found)


@pytest.mark.slow
@needs_compiler
def test_params_of_all_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    assert "trajectory" in agrees(_params())


@needs_compiler
def test_slopes_are_those_of_autograd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the energies and forces of the spec, and of steps, as they are written here."""
    monkeypatch.setenv("CXXFLAGS", "-O0")
    net = _params()
    back = calls_of("_steps_back_", monkeypatch)
    random = torch.Generator().manual_seed(5)
    clamps, targets = drawn(net.clamp_shapes, random, net), drawn(net.target_shapes, random, net)
    found = net.gradients(clamps, targets, "bptt", steps=11).params
    assert back == [True]
    params = {name: x.detach().requires_grad_() for name, x in net.params.items()}
    states = [torch.zeros(len(clamps["x"]), *n, dtype=torch.float64) for n in net.state_shapes.values()]
    for _ in range(11):
        z, y, w = (x + f / 5 for x, f in zip(states, _force(*states, **params, **clamps), strict=True))
        states = [z.clamp(-3, 3), y.clamp(min=0), w]
    cost = ((states[0] - targets["t"]) ** 2).sum() / 2 / len(clamps["x"])
    slopes = torch.autograd.grad(cost, list(params.values()))
    assert _far(found, dict(zip(params, slopes, strict=True))) < 1e-12


def _force(z: Tensor, y: Tensor, w: Tensor, *, word: Tensor, x: Tensor, **p: Tensor) -> tuple[Tensor, ...]:
    z, y, w = (each if each.requires_grad else each.clone().requires_grad_() for each in (z, y, w))
    energy = (z**2).sum() / 2 + (y**2).sum() / 2 + (w**2).sum() - (x * z).sum()
    energy = energy - ((z @ p["W"]) * w.tanh()).sum() + p["g"] * torch.nn.functional.softplus(z + p["b"]).sum()
    energy = energy + p["r"][0] * w.sin().sum() - torch.einsum("bpm,pmn,bn->", y, p["Q"], z) / 9
    energy = energy + (p["c"][:, None] * y.sin()).sum()
    slopes = torch.autograd.grad(energy, (z, y, w), create_graph=True)
    turn = ((z @ p["S"].T).tanh() @ p["U"].T).tanh() + ((z * p["h"]) @ p["W"]) / 4
    words = p["table"][word] * w.tanh()[:, None] + p["r"][1]
    return p["A"] @ p["h"] - slopes[0], words - slopes[1], turn - slopes[2]


@needs_compiler
@pytest.mark.parametrize("rule", ["bptt", "tbptt"])
def test_samples_that_stop_one_after_the_other(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks for those that are not at rest; of ``tbptt`` each sample's own last steps, from several chunks."""
    monkeypatch.setenv("CXXFLAGS", "-O0")
    net = _params(3, "2e-3")
    kept, back = calls_of("_kept_steps_", monkeypatch), calls_of("_steps_back_", monkeypatch)
    by_kernels = _gradients(net, rule)
    assert len(kept) > 2
    assert len(back) > 2
    assert all(kept + back)
    ran = len(kept + back)
    monkeypatch.setattr(net.kernels, "names", ())
    assert _far(by_kernels, _gradients(net, rule)) < 1e-12
    assert len(kept + back) == ran


@needs_compiler
def test_torch_goes_on_where_no_kernel_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    net = _params(3, "2e-3")
    whole = _gradients(net, "bptt")
    own, calls = KernelNetwork._steps_back_, iter([True, False])
    monkeypatch.setattr(KernelNetwork, "_steps_back_", lambda *args: next(calls, False) and own(*args))
    assert _far(_gradients(net, "bptt"), whole) < 1e-12


@needs_compiler
def test_a_network_in_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    net = kernel_module(shipped(next(path for path in SPECS if path.stem == "hopfield")), ["bptt"])
    back = calls_of("_steps_back_", monkeypatch)
    random = torch.Generator().manual_seed(5)
    clamps = drawn(net.clamp_shapes, random, net)

    def slopes() -> dict[str, Tensor]:
        x = clamps["x"].clone().requires_grad_()
        net(x, rule="bptt", steps=7)["scores"].square().sum().backward()
        assert x.grad is not None
        found = {"x": x.grad, **{n: p.grad for n, p in net.named_parameters() if p.grad is not None}}
        net.zero_grad()
        return found

    by_kernels = slopes()
    assert back == [True]
    monkeypatch.setattr(net.kernels, "names", ())
    assert _far(by_kernels, slopes()) < 1e-12


HANDED_ON = """
network part
dim N = 5
clamp x[N], w[N]
param a[N] ~ normal(1)
state z[N]
start z[n] = x[n]
energy rest  = 1/2 * sum[n](z[n]^2)
energy waves = -sum[n](a[n] * sin(w[n] * z[n]))
readout y[n] = z[n]
relax { step = 0.3, steps = 7 }
train { rule = bptt }
"""


@needs_compiler
def test_slopes_by_clamps_that_no_product_of_a_sum_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network without a cost adds them up over the steps, in the kernel, for what is around it."""
    monkeypatch.setenv("CXXFLAGS", "-O0")
    net = kernel_module(resolved(HANDED_ON), ["bptt"])
    back = calls_of("_steps_back_", monkeypatch)
    random = torch.Generator().manual_seed(5)
    x, w = (value.requires_grad_() for value in drawn(net.clamp_shapes, random, net).values())
    net({"x": x, "w": w}, rule="bptt")["y"].square().sum().backward()
    assert back == [True]
    z, a = x, net.params["a"]
    for _ in range(7):
        z = z + 0.3 * (a * w * torch.cos(w * z) - z)
    expected = torch.autograd.grad(z.square().sum(), (x, w, a))
    for found, right in zip((x.grad, w.grad, a.grad), expected, strict=True):
        torch.testing.assert_close(found, right, rtol=0, atol=1e-12)


@pytest.mark.slow
@needs_compiler
def test_nothing_depends_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of the samples have totals of their own, which are added up in order, bit for bit."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    net = kernel_module(resolved(_text()), ["bptt"], dtype=torch.float32)
    random, before, found = torch.Generator().manual_seed(5), torch.get_num_threads(), []
    clamps, targets = (
        {name: x.repeat(29, *[1] * (x.dim() - 1)) for name, x in drawn(shapes, random, net).items()}
        for shapes in (net.clamp_shapes, net.target_shapes)
    )
    clamps["x"] = torch.randn(clamps["x"].shape, generator=random)
    try:
        for threads in (1, 2, 3, 1):
            torch.set_num_threads(threads)
            found.append(net.gradients(clamps, targets).params)
    finally:
        torch.set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(found[0][name], x) for name, x in other.items())


@pytest.mark.slow
@needs_compiler
def test_steps_that_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    net = kernel_module(resolved(NUMBERED))
    back = calls_of("_steps_back_", monkeypatch)
    by_kernels = _gradients(net, "bptt")
    assert back == [True]
    monkeypatch.setattr(net.kernels, "names", ())
    assert _far(by_kernels, _gradients(net, "bptt")) < 1e-12


def random_case(seed: int) -> None:
    print(f"seed {seed}")
    text = random_spec(seed, real=bool(seed % 2))
    try:
        network = resolved(text)
        net = kernel_module(network, ["bptt"])
    except (SpecError, UserError) as error:
        pytest.skip(f"no spec: {error}")
    print(text)
    agrees(net, 1e-9, seed=seed)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("seed", range(1))
def test_random_specs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    random_case(seed)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300, 300 + draws(40)))
def test_random_specs_at_length(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    random_case(seed)


def test_the_last_steps_of_each_sample() -> None:
    """Of segments that fewer and fewer samples take, by their numbers, which are also what is kept."""
    random = Random(3)
    for _ in range(30):
        batch, last, segments, first = random.randint(1, 5), random.randint(1, 7), list[Segment](), 0
        rows = list(range(batch))
        expected: dict[int, list[int]] = {row: [] for row in rows}
        while rows and len(segments) < 5:
            count = random.randint(1, 4)
            kept = torch.arange(first, first + count + 1.0)[:, None].expand(-1, len(rows))
            segments.append(Segment(first, None if len(rows) == batch else torch.tensor(rows), [kept]))
            for row in rows:
                expected[row] += range(first, first + count)
            first += count
            rows = [row for row in rows if random.random() < 0.6]
        found: dict[int, list[int]] = {row: [] for row in range(batch)}
        for segment in last_segments(segments, batch, last):
            own = range(batch) if segment.rows is None else segment.rows.tolist()
            assert segment.kept[0].shape == (segment.steps + 1, len(own))
            for j, row in enumerate(own):
                numbers = list(range(segment.first, segment.first + segment.steps))
                assert segment.kept[0][:-1, j].tolist() == numbers
                found[row] += numbers
        assert found == {row: numbers[-last:] for row, numbers in expected.items()}
