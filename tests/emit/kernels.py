"""Phases in kernels beside the same phases as torch operations."""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from energyc import pipeline
from energyc.language.diagnostics import SpecError, UserError
from energyc.language.network import Network
from energyc.resources import folder, resource
from energyc.runtime.adjoints.backpropagation import GradientSums, backpropagate, backpropagate_in_kernels
from energyc.runtime.adjoints.implicit import TransposedStep
from energyc.runtime.equations.inputs import free_phase, prepared
from energyc.runtime.kernels.library import built
from energyc.runtime.kernels.phases import KernelNetwork
from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.relaxation.trajectory import Segment, single_steps
from energyc.runtime.tensors.states import flatten, unflatten

SPECS = sorted(folder("specs").glob("*.energy"))
SPEC_OF = {path.stem: path for path in SPECS}
MODELS = sorted((folder("specs") / "zoo").glob("*.energy"))
BATCH = 5
TOLERANCE = 1e-12

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
)
#: Known without importing Triton, which some processes cannot.
needs_interpreter = pytest.mark.skipif(
    find_spec("triton") is None or os.environ.get("TRITON_INTERPRET") != "1",
    reason="triton does not interpret its kernels here",
)
#: The targets with kernels.
TARGETS = [
    pytest.param("cpp", marks=needs_compiler),
    pytest.param("triton", marks=[needs_interpreter, pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")]),
]
KINDS = pytest.mark.parametrize(("kind", "real"), [("float", np.float32), ("double", np.float64)])

#: Sizes at which a spec without a preset for that is soon interpreted.
SMALL = {
    "conv_hopfield": {"S0": 16, "C1": 2, "C2": 3, "C3": 2, "C4": 3},
    "graph_hopfield": {"N": 11, "E": 37, "F": 3, "D": 6, "M": 7},
    "hopfield_resnet": {"S0": 16, "C1": 2, "C2": 3, "C3": 2, "C4": 3},
    "cem": {"J": 5, "D": 6, "K": 3, "R": 2, "M": 7, "Ra": 2, "Rm": 3, "L": 2},
    "et_anomaly": {"N": 11, "E": 37, "F": 3, "D": 6, "H": 2, "Y": 3, "K": 7, "U": 5},
    "et_graph": {"M": 4, "F": 3, "D": 6, "H": 2, "Y": 3, "K": 7, "E": 2},
    "et_image": {"S": 6, "P": 2, "D": 8, "H": 2, "Y": 3, "K": 11},
    "hopfield_conv": {"S": 12, "C1": 3, "C2": 5},
}


#: A matrix, a rate, a condition and noise that each step has for itself.
NUMBERED = """\
network numbered
dim N = 7, K = 4
clamp x[N]
param W[K, N, N] ~ normal(1/3), rate[K] = 1
noise eps[K, N] ~ normal(1/3)
state z[N] in [-1, 1]
start z[i] = tanh(x[i])
energy well = sum[i](z[i]^2)/2 - sum[i](x[i] * z[i])
let turn[i] = tanh(sum[j](W[k,i,j] * z[j])) + where(i <= 2 * k, z[i], 0)
flow z[i] = -exp(rate[k]) * grad(well, z[i]) + turn[i] - eps[k,i]
relax k in K { step = 1/4 }
readout o[i] = z[i]
target t[N]
cost c = sum[i]((o[i] - t[i])^2)
train { rule = bptt }
"""


#: What holds in training alone, and what holds outside of it.
FLAGGED = """\
network flagged
dim N = 5
clamp x[N]
state z[N] in [-2, 2]
energy well = sum[i](z[i]^2)/2 - sum[i](x[i] * z[i])
let middle[i] = mean[batch](z[i])
force f on z[i] = where(training, middle[i], x[i]^2) + where(not training and i > 1, tanh(z[i]), 0)
force g on z[i] = where(training or i == 2, max[j | not training](z[j]), 0)
relax { steps = 3, step = 1/4 }
readout o[i] = z[i]
target t[N]
cost c = sum[i]((o[i] - t[i])^2)
train { rule = bptt }
"""
#: Simplices along each axis, and along several.
SIMPLICES = """\
network simplices
dim N = 5, M = 3, B = {large}
clamp x[N, M], y[B]
state p[N, M] in simplex[N], q[N, M] in simplex[M], r[N, M] in simplex[N, M], s[B] in simplex[B]
start p[i,j] = 1/N
start q[i,j] = 1/M
start r[i,j] = 1/(N*M)
start s[k] = 1/B
energy well = sum[i,j](p[i,j]^2 + q[i,j]^2 + r[i,j]^2)/2 - 3 * sum[i,j](x[i,j] * (p[i,j] + q[i,j] + r[i,j]))
energy far = -sum[k](y[k] * s[k])
relax {{ steps = 3, step = 1 }}
readout o[i,j] = p[i,j] * q[i,j] * r[i,j] * s[0]
train {{ rule = implicit }}
"""
#: Kinks of each kind: at one number and at several, along a dim, in a box, and on states that stay nonnegative.
KINKS = """\
network kinks
dim N = 7, G = 4, D = 3
const c = 1/4
clamp x[N]
target t[N]
param W[N, N] ~ normal(0.3), V[N, G, D] ~ normal(0.3)
param l = 0.3 in nonnegative, m[N] = 0.2 in nonnegative, h[G] = 0.4 in nonnegative
state s[N], b[N] in [-1/2, 1], g[G, D] in nonnegative, v[G, D]
let d[n] = x[n] - sum[k](W[n,k] * (s[k] - b[k])) - sum[i,j](V[n,i,j] * (g[i,j] + v[i,j]))
energy fit = 1/2 * sum[n](d[n]^2) + 1/5 * sum[n](s[n]^2 + b[n]^2) + 1/5 * sum[i,j](g[i,j]^2 + v[i,j]^2)
energy single = l * sum[n](abs(s[n]))
energy several = sum[n](m[n] * relu(b[n] - c)) + 1/10 * sum[n](abs(b[n])) + 1/20 * sum[n](max(c - 2 * b[n], b[n] - 1))
energy groups = sum[i](h[i] * sqrt(sum[j](g[i,j]^2))) + 1/20 * sum[i,j](abs(g[i,j])) + 1/2 * sqrt(sum[i,j](v[i,j]^2))
readout o[n] = s[n]
cost e = 1/2 * sum[n]((s[n] - t[n])^2) + sum[n](b[n]^3) + sum[i,j](g[i,j]^3 - v[i,j])
relax { step = 1/5, steps = 200, tolerance = 1e-13, max_steps = 4000 }
nudge { beta = 1e-5, steps = 500 }
"""
#: Sweeps by blocks: boxes, slopes that are computed and that read another state, kinks, a simplex, a state by its step.
SWEEPS = """\
network sweeping
dim N = 7, K = 4
clamp x[N]
target t[K]
param W[N, K] ~ normal(0.3), g[N, K] ~ uniform(0.1, 1) in [1/100, 2]
param l = 0.3 in nonnegative
state s[N] in [0, 1], w[K], y[K], u[K], p[K] in simplex[K]
energy leak = 1/2 * sum[n](s[n]^2) - sum[n](x[n] * s[n]) - sum[n,k](s[n] * W[n,k] * y[k])
energy current = 1/2 * sum[n,k](g[n,k] * (w[k] - s[n])^2)
energy code = 3/4 * sum[k](y[k]^2) + l * sum[k](abs(y[k])) + 1/2 * sum[k](u[k]^2 * y[k]^2) + 1/4 * sum[k](u[k]^4)
energy choice = sum[k](p[k]^2) - sum[k](p[k] * y[k])
readout o[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - t[k])^2) + sum[k](w[k]^3) + 1/2 * sum[k](p[k])^2
relax { step = 1/5, steps = 20, solver = blocks }
nudge { beta = 1/4, steps = 20 }
"""
_GRAPH = """\
network graph
dim N = 5, E = 13, H = 2, D = 3
clamp src[E] : N, dst[E] : N, kind[H, E] : N, weight[E], x[N]
param W[H, D] ~ normal(1)
state z[N, D]
energy well = sum[n,d](z[n,d]^2)/2 - sum[n,d](x[n] * z[n,d])
let s[h,e] = sum[d](W[h,d] * z[src[e],d] * tanh(z[dst[e],d])) + weight[e]
energy kinds = sum[h,n](tanh(sum[e | kind[h,e] == n](s[h,e])))
"""
_REST = """
relax { steps = 3, step = 1/4 }
readout o[n] = sum[d](z[n,d])
train { rule = implicit }
"""
#: Every reduction over edges, whole and guarded, with several axes, at places that depend on a head; the last one by
#: edges of edges.
EDGES = tuple(
    _GRAPH + terms + _REST
    for terms in (
        "energy a = -sum[h,n](logsumexp[e | dst[e] == n](s[h,e]))",
        "energy a = -sum[h,n](logsumexp[e | dst[e] == n and src[e] != n](s[h,e]))\n"
        "energy b = sum[n](max[h,e | dst[e] == n](s[h,e]))",
        "energy a = sum[n,d](sum[e | dst[e] == n](weight[e] * z[src[e],d])^2)",
        "energy a = -sum[h,n](logsumexp[e | kind[h,e] == n](s[h,e]))\n"
        "force f on z[n,d] = sum[h](tanh(max[e | kind[h,e] == n](s[h,e] - 9)))",
        "force f on z[n,d] = sum[e | dst[e] == n](tanh(z[src[e],d]) * sum[h](s[h,e]))\n"
        "force g on z[n,d] = tanh(sum[h,e | kind[h,e] == n](s[h,e] * W[h,d]))",
        "force f on z[n,d] = sum[e | dst[e] == n](softmax[e | dst[e] == n](s[0,e]) * z[src[e],d])",
        "clamp later[E] : E\nenergy a = sum[n,d](sum[e | dst[later[e]] == n](weight[e] * z[src[e],d])^2)",
    )
)


def numbered_phases(net: Any) -> float:
    """How far steps of the numbers 1 and 2 in kernels are from the same as torch operations."""
    random = torch.Generator().manual_seed(7)
    with torch.no_grad():
        fixed = prepared(net.train(), drawn(net.clamp_shapes, random, net))
        one = [normal((BATCH, *shape), random, net) for shape in net.state_shapes.values()]
        two = clones(one)
        assert net._serving("free", one)
        net._steps_(one, fixed, 1, 2, net.relax_step)
        EnergyNetwork._steps_(net, two, fixed, 1, 2, net.relax_step)
    return difference(one, two)


def shipped(path: Path) -> Network:
    """The network of a spec, small where it has sizes or a preset for that."""
    source = pipeline.read(path)
    try:
        if path.stem in SMALL:
            return pipeline.resolve(source, pipeline.Choices.of(dims=SMALL[path.stem]))
        return pipeline.resolve(source, pipeline.Choices("verify"))
    except (SpecError, UserError):
        return pipeline.resolve(source)


def kernel_module(
    network: Network,
    rules: Sequence[str] | None = None,
    target: str = "cpp",
    device: str = "cpu",
    dtype: torch.dtype = torch.float64,
) -> Any:
    """The module of a network for kernels, with params that are not the first ones; skips one that has none."""
    compiled = emitted(network, rules, target)
    if compiled.fallback is not None:
        pytest.skip(f"no kernels: {compiled.fallback}")
    net = pipeline.instantiate(compiled, device, dtype, 0)
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for param in net.parameters():
            param += 0.1 * torch.randn(param.shape, generator=random, dtype=param.dtype).to(device)
    return net


def emitted(network: Network, rules: Sequence[str] | None, target: str) -> pipeline.Compiled:
    """The module, by default for the spec's own rule and, where that is admissible, for ``implicit``."""
    if rules is None:
        with suppress(UserError):
            return pipeline.emit(network, [network.train.trained_by, "implicit"], target=target)
    return pipeline.emit(network, rules, target=target)


def drawn(
    shapes: Mapping[str, tuple[tuple[int, ...], int | None]], random: torch.Generator, net: Any, batch: int = BATCH
) -> dict[str, Tensor]:
    """Inputs at random."""
    return {
        name: torch.randint(0, over, (batch, *shape), generator=random).to(net.device)
        if over
        else normal((batch, *shape), random, net)
        for name, (shape, over) in shapes.items()
    }


def normal(shape: Sequence[int], random: torch.Generator, net: Any) -> Tensor:
    return torch.randn(*shape, generator=random, dtype=torch.float64).to(net.device, net.dtype)


def agrees(net: Any, tolerance: float | None = None, **given: Any) -> dict[str, float]:
    """The differences of :func:`differences`, all of which are below a tolerance."""
    found = differences(net, **given)
    assert max(found.values()) < (tolerance or (1e-9 if net.target == "triton" else TOLERANCE)), found
    return found


def differences(net: Any, seed: int = 0, steps: int = 3, beta: float = 0.3) -> dict[str, float]:
    """For each kernel of a module the largest difference after some steps from random states, relative to them."""
    random = torch.Generator().manual_seed(seed)
    clamps = drawn(net.clamp_shapes, random, net)
    if not hasattr(net, "copies"):
        return of_phases(net, clamps, random, steps, beta)
    found = {}
    for name, layer in net.layers.items():
        if hasattr(layer, "kernels"):
            last = net.copies.get(name, 1) - 1
            inside = of_phases(*net.layer(name, clamps, last), random, steps)
            found |= {f"{name}.{phase}": value for phase, value in inside.items()}
    return found


def of_phases(
    net: Any, clamps: Mapping[str, Tensor], random: torch.Generator, steps: int, beta: float = 0.3
) -> dict[str, float]:
    """The same for a network without layers, or a layer, and its clamps."""
    targets = list(drawn(net.target_shapes, random, net).values())
    net.train(bool(net.noise_shapes))  # or there would be none
    steps = min(steps, net.relax_steps) if net.numbered else steps
    with torch.no_grad():
        fixed = prepared(net, clamps)
        states = [0.7 * normal((BATCH, *shape), random, net) for shape in net.state_shapes.values()]
        net._project_(states)
        others = [x + 0.1 * normal(x.shape, random, net) for x in states]
        net._project_(others)
        step = [0.1 + 0.05 * k for k in range(len(states))]
        found = {}
        one, two = clones(states), clones(states)
        assert net._serving("sweeps" if net.blocks else "free", one), net.kernels.failure
        net._steps_(one, fixed, 0, steps, step)
        EnergyNetwork._steps_(net, two, fixed, 0, steps, step)
        found["free"] = difference(one, two)
        measured = [net._residual(two, fixed, step), EnergyNetwork._residual(net, two, fixed, step)]
        found["residual"] = difference(measured[:1], measured[1:])
        if "nudged" in net.kernels.names:
            one, two = clones(states), clones(states)
            net._nudged_steps_(one, fixed, targets, beta, net._nudge, steps, step)
            EnergyNetwork._nudged_steps_(net, two, fixed, targets, beta, net._nudge, steps, step)
            found["nudged"] = difference(one, two)
        if "tracking" in net.kernels.names:
            pairs = [(clones(states), clones(others)) for _ in range(2)]
            net._tracking_steps_(*pairs[0], fixed, targets, 0.3, steps, step)
            EnergyNetwork._tracking_steps_(net, *pairs[1], fixed, targets, 0.3, steps, step)
            found["tracking"] = difference([*pairs[0][0], *pairs[0][1]], [*pairs[1][0], *pairs[1][1]])
        if net.retraced:
            cotangents = [normal(x.shape, random, net) for x in states]
            found["trajectory"] = difference(*of_trajectories(net, states, fixed, cotangents, steps, step))
        if "adjoint" in net.kernels.names:
            seeds = [normal(x.shape, random, net) for x in states]
            found["adjoint"] = difference(*of_adjoints(net, states, fixed, seeds, steps, step))
    return found


def of_trajectories(
    net: Any, states: list[Tensor], fixed: Any, cotangents: list[Tensor], steps: int, step: list[float]
) -> tuple[list[Tensor], list[Tensor]]:
    """States before each step, cotangents and slopes of so many steps by kernels and as torch operations."""
    one, two = clones(states), clones(states)
    phase = free_phase(net, steps, None, None)._replace(step=tuple(step))
    kept = net._kept_steps_(one, fixed, 0, steps, step)
    assert kept is not None
    trajectory = [Segment(0, None, kept)]
    single = single_steps(net, trajectory)
    rows: list[Tensor] = []
    for k in range(steps):
        rows += clones(two)
        EnergyNetwork._steps_(net, two, fixed, k, 1, step)
    left, _ = backpropagate_in_kernels(net, trajectory, cotangents, fixed, phase, GradientSums(BATCH))
    assert not left
    (by_kernels, slopes), (as_torch, others) = (
        backpropagate(net, way, cotangents, fixed, phase) for way in (trajectory, single)
    )
    assert slopes.keys() == others.keys()
    found = [*one, *(x for each in single for x in each.states), *by_kernels, *(slopes[name] for name in others)]
    return found, [*two, *rows, *as_torch, *others.values()]


def of_adjoints(
    net: Any, states: list[Tensor], fixed: Any, seeds: list[Tensor], steps: int, step: list[float]
) -> tuple[list[Tensor], list[Tensor]]:
    """So many steps of the adjoint by its kernel and as torch operations, and how far the last one led."""
    one, two = clones(seeds), clones(seeds)
    net.eval()
    moved = [x + h * f for x, f, h in zip(states, net._force(states, fixed), step, strict=True)]
    goals = states[0].new_zeros(len(states[0]))
    assert net._adjoint_steps_(one, states, fixed, seeds, moved if net.constrained else None, step, goals, steps)
    system = TransposedStep(net, states, fixed, seeds, step)
    for _ in range(steps):
        last, two = two, [seed + x for seed, x in zip(seeds, unflatten(system.push(flatten(two)), two), strict=True)]
    return [*one, goals], [*two, (flatten(two) - flatten(last)).norm(dim=1)]


def replay_plainly(work: Callable[[], None], device: torch.device) -> Callable[[], object]:
    """Work as it is recorded in a CUDA graph: done once for nothing, then again on the same tensors."""
    work()
    return work


def loaded_with(headers: Sequence[str], code: str, kind: str = "float") -> Any:
    """Code in C++ below headers of the runtime, built with real numbers of a kind, as functions."""
    texts = [resource("codegen", "cpp", header).read_text() for header in headers]
    return built("\n".join([*texts, code]), kind).loaded


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    """Where an array begins."""
    return ctypes.c_void_p(array.ctypes.data)


def calls_of(name: str, monkeypatch: pytest.MonkeyPatch, owner: Any = KernelNetwork) -> list[bool]:
    """For each call from now on whether it gave anything but None and False."""
    calls: list[bool] = []
    own: Callable[..., object] = getattr(owner, name)

    def counted(*given: Any, **options: Any) -> object:
        found = own(*given, **options)
        calls.append(found is not None and found is not False)
        return found

    monkeypatch.setattr(owner, name, counted)
    return calls


def torch_twin(net: Any, network: Network, rules: Sequence[str] | None = None) -> Any:
    """The module of a network without kernels, with the params of one that has them."""
    twin = pipeline.instantiate(pipeline.emit(network, rules), "cpu", torch.float64, 0)
    twin.load_state_dict(net.state_dict())
    return twin


def clones(states: Sequence[Tensor]) -> list[Tensor]:
    return [x.clone() for x in states]


def difference(one: Sequence[Tensor], two: Sequence[Tensor]) -> float:
    """The largest difference, relative to the largest entry; what is not a number must be none in both."""
    worst = 0.0
    for a, b in zip(one, two, strict=True):
        if not torch.equal(a.isfinite(), b.isfinite()):
            return float("inf")
        scale = max(1.0, float(b.nan_to_num(0, 0, 0).abs().max()))
        worst = max(worst, float((a - b).nan_to_num(0, 0, 0).abs().max()) / scale)
    return worst
