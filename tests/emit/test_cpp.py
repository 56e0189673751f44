"""The target cpp: phases in kernels are those of torch, to rounding."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from energyc import pipeline
from energyc.runtime.equations.inputs import prepared
from energyc.runtime.equations.records import rows_of
from energyc.runtime.kernels.library import DIED, built, kept_library
from energyc.runtime.networks.network import EnergyNetwork
from tests.drawing import share
from tests.emit.judge import resolved
from tests.emit.kernels import (
    BATCH,
    FLAGGED,
    KINDS,
    MODELS,
    SIMPLICES,
    SPEC_OF,
    SPECS,
    TOLERANCE,
    agrees,
    clones,
    drawn,
    kernel_module,
    loaded_with,
    needs_compiler,
    pointer,
    shipped,
    torch_twin,
)

#: How much more than others a spec amplifies rounding: its diodes' currents grow exponentially.
AMPLIFIED = {"resistive": 10}
#: Quick to build, and between them every kind of block: boxes, masks, spheres, windows, gathers, layers, edges.
QUICK = ("hopfield", "cet", "cem")


#: A param that is called as what runs the kernels is, and layers that are called alike.
CALLED = """\
network called
dim N = 3, M = 4
clamp input[N]
target t[M]
param kernels[N, M] ~ normal(1/2)
layer Free {
  param SOURCE[M, M] ~ normal(1/2)
  state now[M] in [0, 1]
  energy e = sum[i](now[i]^2)/2 - sum[i, k](SOURCE[i, k] * now[i] * tanh(now[k]))
  energy f = -sum[k, i](kernels[k, i] * now[i] * input[k])
  relax { steps = 3, step = 1/4 }
}
layer free {
  state x[M]
  energy g = sum[i](x[i]^2)/2 - sum[i](x[i] * tanh(Free.now[i]))
  relax { steps = 3, step = 1/4 }
}
readout o[i] = free.x[i]
cost c = sum[i]((o[i] - t[i])^2)
train { rule = implicit }
"""
NEWTON = "in layer Free, its solver is newton; in layer free, its solver is newton"


@pytest.mark.sampled
@needs_compiler
@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=() if p.stem in QUICK else pytest.mark.slow, id=p.stem) for p in SPECS]
)
def test_shipped_specs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O1")
    agrees(kernel_module(shipped(path)), TOLERANCE * AMPLIFIED.get(path.stem, 1))


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("path", share(MODELS), ids=lambda path: path.stem)
def test_models_of_the_literature(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    agrees(kernel_module(shipped(path)))


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (FLAGGED.replace("training", "0 == 1"), "a sample depends on the others of its batch"),
        (SIMPLICES.format(large=600), "no kernel projects on a simplex of more than 512 entries, as s is"),
        (CALLED.replace("steps = 3", "steps = 3, solver = newton"), NEWTON),
    ],
)
def test_what_has_no_kernels_says_why(spec: str, reason: str) -> None:
    compiled = pipeline.emit(resolved(spec), target="cpp")
    assert compiled.fallback == reason


@needs_compiler
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_result_does_not_depend_on_threads_or_the_batch(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O1")
    net = kernel_module(shipped(SPEC_OF["hopfield"]))
    random = torch.Generator().manual_seed(2)
    states = [torch.rand((70, *shape), generator=random, dtype=torch.float64) for shape in net.state_shapes.values()]
    before, parts = torch.get_num_threads(), torch.arange(70).split([1, 33, 36])
    try:
        with torch.no_grad():
            fixed = prepared(net, {"x": torch.rand(70, 12, generator=random, dtype=torch.float64)})
            torch.set_num_threads(1)
            whole = clones(states)
            net._steps_(whole, fixed, 0, 5, net.relax_step)
            torch.set_num_threads(threads)
            for rows in parts:
                some = [x[rows] for x in states]
                net._steps_(some, rows_of(fixed, rows), 0, 5, net.relax_step)
                assert all(torch.equal(x[rows], part) for x, part in zip(whole, some, strict=True))
    finally:
        torch.set_num_threads(before)


FORKED = """
import multiprocessing, sys, torch
from energyc.resources import folder
from tests.emit.kernels import kernel_module, shipped

def relaxed(net, clamps, results):
    results.put(float(net.relax(clamps).states["z"].sum()))

torch.set_num_threads(3)
net = kernel_module(shipped(folder("specs") / "modern_hopfield.energy"))
clamps = {"probe": torch.rand(70, *net.clamp_shapes["probe"][0], dtype=torch.float64)}
here = float(net.relax(clamps).states["z"].sum())
context = multiprocessing.get_context("fork")
results = context.SimpleQueue()
child = context.Process(target=relaxed, args=(net, clamps, results))
child.start()
there = results.get()
child.join()
sys.exit(here != there)
"""


@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="the threads of OpenMP are used on Linux")
def test_a_fork_has_threads_of_its_own(tmp_path: Path) -> None:
    """Those of OpenMP are not in a fork, which would wait for them without end."""
    script = tmp_path / "forked.py"
    script.write_text(FORKED)
    environment = {**os.environ, "CXXFLAGS": "-O1", "PYTHONPATH": str(Path(__file__).parents[2]), "ENERGYC_SEED": "1"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@needs_compiler
def test_two_networks_in_one_process_share_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with tiles of many samples and one with tiles of one."""
    monkeypatch.setenv("CXXFLAGS", "-O0")
    for hidden in (13, 50_000):
        source = pipeline.read(SPEC_OF["hopfield"])
        network = pipeline.resolve(source, pipeline.Choices.of(dims={"I": 7, "J": hidden, "K": 3}))
        agrees(kernel_module(network))


@pytest.mark.abridged
@needs_compiler
@pytest.mark.parametrize("size", [1e160, float("inf"), float("nan")])
def test_the_residual_of_what_explodes(size: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where squares overflow it is that of torch operations, and the other samples keep theirs."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    net = kernel_module(shipped(SPEC_OF["thick"]))
    random = torch.Generator().manual_seed(4)
    with torch.no_grad():
        fixed = prepared(net, drawn(net.clamp_shapes, random, net))
        states = [
            torch.randn((BATCH, *shape), generator=random, dtype=torch.float64) for shape in net.state_shapes.values()
        ]
        states[0][1] = size
        expected = EnergyNetwork._residual(net, states, fixed, net.relax_step)
        assert torch.allclose(net._residual(states, fixed, net.relax_step), expected, rtol=1e-12)


@pytest.mark.slow
@needs_compiler
def test_gradients_by_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same contrast at a given strength, which leaves rounding alone between them."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    for spec, rule in (("hopfield", "centered-ep"), ("thick", "tracking-aep")):
        network = shipped(SPEC_OF[spec])
        by_kernels = kernel_module(network, [rule])
        by_torch = torch_twin(by_kernels, network, [rule])
        random = torch.Generator().manual_seed(3)
        clamps, targets = (drawn(x, random, by_torch) for x in (by_torch.clamp_shapes, by_torch.target_shapes))
        one, two = (net.gradients(clamps, targets, rule=rule, beta=0.1) for net in (by_kernels, by_torch))
        for name, gradient in two.params.items():
            assert torch.allclose(one.params[name], gradient, rtol=1e-9, atol=1e-12), (spec, name)


@pytest.mark.slow
def test_layers_relax_in_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with the params of its copy; a gradient through the steps records its own."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    network = shipped(SPEC_OF["cem"])
    by_kernels = kernel_module(network)
    by_torch = torch_twin(by_kernels, network)
    random = torch.Generator().manual_seed(6)
    clamps, targets = (drawn(x, random, by_torch) for x in (by_torch.clamp_shapes, by_torch.target_shapes))
    walked = []
    run = by_kernels.attention.kernels.run
    monkeypatch.setattr(by_kernels.attention.kernels, "run", lambda *a: (walked.append(a[0]), run(*a)))
    one, two = (net.relax(clamps).states for net in (by_kernels, by_torch))
    assert set(walked) == {"attention_settled", "mlp_settled"}
    for name, state in two.items():
        assert torch.allclose(one[name], state, rtol=1e-11, atol=1e-12), name
    one, two = (net.gradients(clamps, targets).params for net in (by_kernels, by_torch))
    for name, gradient in two.items():
        assert torch.allclose(one[name], gradient, rtol=1e-9, atol=1e-12), name


EACH = """
extern "C" void each(const Real* u, Real* y, Int count) {
#pragma omp simd
    for (Int k = 0; k < count; ++k) y[k] = of::FUNCTION(u[k]);
}
"""


def each(function: str, kind: str, u: np.ndarray) -> np.ndarray:
    """A scalar function of the kernels at all numbers, by vectors."""
    found = np.empty_like(u)
    function_of_all = loaded_with(["kernels.h"], EACH.replace("FUNCTION", function), kind).each
    function_of_all(pointer(u), pointer(found), ctypes.c_int64(len(u)))
    return found


@needs_compiler
@KINDS
def test_the_exponential_function(kind: str, real: type[np.floating]) -> None:
    """Right to two units of the last place, 0 below the normal numbers, infinite above all, NaN for NaN."""
    u = np.concatenate([np.linspace(-800, 800, 50_001), np.linspace(-90, 90, 50_001), np.linspace(-1, 1, 1001)])
    u = np.concatenate([u, [0, np.inf, -np.inf, np.nan, 88.6, 709.7]]).astype(real)
    found = each("exp", kind, u)
    with np.errstate(all="ignore"):
        exact = np.exp(u.astype(np.longdouble))
        expected = exact.astype(real)
    small = exact < (2.2e-38 if kind == "float" else 1e-306)
    assert np.all(np.abs(found[small] - expected[small]) <= (2.2e-38 if kind == "float" else 1e-306))
    assert np.all((found[small] == 0) | (found[small] >= np.finfo(real).tiny))
    assert np.array_equal(np.isnan(found), np.isnan(u))
    finite = np.isfinite(expected) & ~small
    assert np.array_equal(np.isinf(found), np.isinf(expected))
    assert np.max(np.abs(found[finite] / exact[finite] - 1)) < 2 * np.finfo(real).eps


@needs_compiler
@KINDS
def test_the_hyperbolic_tangent(kind: str, real: type[np.floating]) -> None:
    """Right to three units of the last place from the smallest normal numbers on, NaN for NaN."""
    small = np.geomspace(4 * np.finfo(real).tiny, 1, 50_001)
    u = np.concatenate([np.linspace(-45, 45, 90_001), small, [0, np.inf, 1e30, np.nan]])
    u = np.concatenate([u, -u]).astype(real)
    found = each("tanh", kind, u)
    assert np.array_equal(np.isnan(found), np.isnan(u))
    known = ~np.isnan(u) & (u != 0)
    exact = np.tanh(u[known].astype(np.longdouble))
    assert np.max(np.abs(found[known] / exact - 1)) < 3 * np.finfo(real).eps
    assert np.all(found[u == 0] == 0) and np.max(np.abs(found[known])) == 1


@pytest.mark.slow
@needs_compiler
def test_layers_and_params_that_are_called_as_kernels_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    assert len(agrees(kernel_module(resolved(CALLED)))) == 4


def unbuilt(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A network whose kernels, which those of the same text share, are not built yet."""
    net = kernel_module(shipped(SPEC_OF["hopfield"]))
    monkeypatch.setattr(net.kernels, "libraries", {})
    monkeypatch.setattr(net.kernels, "failure", None)
    return net


def test_without_a_compiler_a_module_warns_once_and_runs_as_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    net = unbuilt(monkeypatch)
    monkeypatch.setenv("CXX", "no-such-compiler")
    images = torch.rand(3, 12, dtype=torch.float64)
    with pytest.warns(RuntimeWarning, match="the kernels run as torch operations: no-such-compiler") as warned:
        first = net.relax({"x": images})
        again = net.relax({"x": images})
    assert len(warned) == 1
    by_torch = torch_twin(net, shipped(SPEC_OF["hopfield"]))
    expected = by_torch.relax({"x": images})
    assert torch.equal(first.states["s"], expected.states["s"])
    assert torch.equal(again.states["s"], expected.states["s"])


@needs_compiler
def test_a_cache_that_cannot_be_written_costs_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setenv("CXXFLAGS", "-O0")
    with pytest.warns(RuntimeWarning, match="nothing is kept for another process"):
        library = built(kernel_module(shipped(SPEC_OF["hopfield"])).kernels.source, "double")
    assert library.place.exists() and library.ran == set()
    assert blocked not in library.place.path.parents


@needs_compiler
def test_a_full_disk_leaves_torch_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    net = unbuilt(monkeypatch)
    monkeypatch.setenv("CXXFLAGS", "-DNEVER_BUILT_BEFORE")
    monkeypatch.setattr("energyc.runtime.kernels.library.build", full)
    with pytest.warns(RuntimeWarning, match="they cannot be built: .*No space left on device"):
        net.relax({"x": torch.rand(3, 12, dtype=torch.float64)})


#: A kernel that does nothing, one that ends its process, one that never ends, one that is killed, one that ends its
#: process unless its numbers are 1 to 17 in the order in which they are given.
ENDS = """
#include <cstdint>
#include <csignal>
using p = void*;
extern "C" {
void good(int64_t, int64_t, p*, p*, p, p, int64_t) {}
void bad(int64_t, int64_t, p*, p*, p, p, int64_t) { raise(SIGILL); }
void late(int64_t, int64_t, p*, p*, p, p, int64_t) { for (volatile int k = 0;; k = k + 1) {} }
void killed(int64_t, int64_t, p*, p*, p, p, int64_t) { raise(SIGKILL); }
void counted(int64_t, int64_t, p* states, p* given, p scalars, p change, int64_t) {
  p parts[] = {states[0], states[1], given[0], given[1], scalars, change};
  int64_t sizes[] = {4, 3, 2, 0, 3, 5};
  float next = 1;
  for (int part = 0; part < 6; ++part)
    for (int64_t k = 0; k < sizes[part]; ++k)
      if (((float*)parts[part])[k] != next++) raise(SIGILL);
}
}
"""


@pytest.mark.slow
@needs_compiler
def test_a_kernel_that_dies_is_tried_once_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("energyc.runtime.kernels.library.LONGEST_TRIAL", 2)
    states, numbers = [torch.zeros(3, 4)], torch.zeros(2)
    library = built(ENDS)
    deaths = {name: str(library.refusal(name, states, [], numbers, None)) for name in ("bad", "late", "killed")}
    assert deaths["bad"] == "bad ended the process in which it was tried"
    assert "made no step in the time" in deaths["late"] and "was killed at its first step" in deaths["killed"]
    assert library.refusal("good", states, [], numbers, torch.zeros(3)) is None
    again = built(ENDS)
    assert (again.ran, again.died) == ({"good"}, {"bad"})
    assert f"to try again, delete {again.place}" in str(again.refusal("bad", states, [], numbers, None))


@pytest.mark.slow
@needs_compiler
def test_a_kernel_is_tried_on_the_numbers_that_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    numbers = torch.arange(1.0, 18.0)
    *parts, scalars, change = numbers.split([4, 3, 2, 0, 3, 5])
    library = built(ENDS)
    assert library.refusal("counted", parts[:2], parts[2:], scalars, change) is None and "counted" in library.ran
    other = kept_library(library.place)
    assert other is not None
    other.ran.clear()
    assert DIED in str(other.refusal("counted", parts[:2], parts[2:], scalars, torch.zeros(5)))


@needs_compiler
def test_a_network_whose_kernel_dies_runs_as_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    net = unbuilt(monkeypatch)
    monkeypatch.setenv("CXXFLAGS", "-O0 -DDIES")
    monkeypatch.setattr("energyc.runtime.kernels.library.Library._tried", lambda *_: DIED)
    images = torch.rand(3, 12, dtype=torch.float64)
    with pytest.warns(RuntimeWarning, match="settled_phase ended the process in which it was tried") as warned:
        found = [net.relax({"x": images}).states["s"] for _ in range(2)]
    assert len(warned) == 1 and torch.equal(*found)
    by_torch = torch_twin(net, shipped(SPEC_OF["hopfield"]))
    assert torch.equal(by_torch.relax({"x": images}).states["s"], found[0])


@needs_compiler
def test_a_disk_without_space_for_a_trial_leaves_torch_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    net = unbuilt(monkeypatch)
    monkeypatch.setenv("CXXFLAGS", "-O0 -DFULL")
    monkeypatch.setattr("energyc.runtime.kernels.library.Library._tried", full)
    with pytest.warns(RuntimeWarning, match="settled_phase cannot be tried: No space left on device"):
        net.relax({"x": torch.rand(3, 12, dtype=torch.float64)})


@pytest.mark.abridged(every=3)
@needs_compiler
@pytest.mark.parametrize("size", [0, 1, 64, 200, 1000, 9000, -1])
def test_a_kept_library_that_was_cut_off_is_built_again(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library = built(ENDS)
    content = library.place.read()
    library.place.write(content[:size])
    assert built(ENDS).loaded.good is not None
    assert len(library.place.read()) == len(content)


@needs_compiler
def test_what_is_loaded_is_what_was_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library = built(ENDS)
    line, _, content = library.place.read().partition(b"\n")
    other = built(ENDS.replace("good", "fine")).content
    library.place.write(line + b"\n" + other)
    again = built(ENDS)
    assert again.content == content and hasattr(again.loaded, "good")


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(("sanitizers", "file"), [("address,undefined", "libasan.so"), ("thread", "libtsan.so")])
def test_kernels_under_sanitizers(sanitizers: str, file: str, tmp_path: Path) -> None:
    """No access outside of a buffer, no undefined operation and no race at odd sizes, in a process with the library."""
    run = subprocess.run(["g++", f"-print-file-name={file}"], capture_output=True, text=True, check=False)
    library = Path(run.stdout.strip())
    if not library.is_absolute():
        pytest.skip("the compiler has no sanitizers")
    script = Path(__file__).with_name("sanitized.py")
    environment = {**os.environ, "LD_PRELOAD": str(library), "ASAN_OPTIONS": "detect_leaks=0"}
    torch_alone = tmp_path / "suppressed"  # its OpenMP is not built for the sanitizer
    torch_alone.write_text("race:libtorch_cpu.so\n")
    environment["TSAN_OPTIONS"] = f"halt_on_error=1 suppressions={torch_alone}"
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    command = [sys.executable, script, sanitizers]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
