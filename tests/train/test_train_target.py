"""The target of a run's phases: the one that is asked for, or why there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import energyc
from energyc import pipeline
from energyc.language.diagnostics import Source, UserError
from energyc.language.network import Network
from energyc.resources import folder
from energyc.running.runs import target
from energyc.running.runs.load import load
from energyc.running.runs.target import FEWEST, VARIABLES, operations, suited_threads
from energyc.runtime.kernels.triton_functions import has_triton
from energyc.surfaces.doctor.trial import SPEC
from tests.emit.kernels import needs_compiler
from tests.emit.test_made_up_target import LEARNED


def network(name: str, **overrides: str) -> Network:
    choices = pipeline.Choices(overrides={key.replace("__", "."): value for key, value in overrides.items()})
    return pipeline.resolve(pipeline.read(str(folder("specs") / f"{name}.energy")), choices)


def test_triton_on_a_cpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    with pytest.raises(UserError, match="Triton kernels: they run on a GPU, not on cpu") as refused:
        target.compiled_for("triton", "cpu", network("hopfield"), ["centered-ep"])
    assert refused.value.code == "E0518"


@pytest.mark.skipif(not has_triton(), reason="triton is not installed")
@pytest.mark.parametrize(("wanted", "device", "interpret"), [("triton", "cuda:1", "0"), ("triton", "cpu", "1")])
def test_triton_where_it_runs(wanted: str, device: str, interpret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", interpret)
    compiled, note, _ = target.compiled_for(wanted, device, network("hopfield"), ["centered-ep"])
    assert (compiled.target, note) == ("triton", "phases run in Triton kernels")


@needs_compiler
def test_what_a_rule_records_runs_in_kernels_where_they_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    apart = "; those that bptt records run as torch operations"
    targets = ["cpp", *(["triton"] if has_triton() else [])]
    for wanted in targets:
        found = target.compiled_for(wanted, "cpu", network("hopfield"), ["bptt"])
        assert found.note is not None
        assert ("recorded" in found.compiled.text) == (wanted == "cpp")
        assert found.note.endswith(apart) == (wanted == "triton")


#: Kernels keep the states of the first layer; those of the other one move by proximal steps.
TWO_LAYERS = """\
network two_layers
dim N = 4
clamp x[N]
target t[N]
param W[N, N] ~ normal(0.5)
layer plain {
  state a[N]
  energy own = 1/2 * sum[i](a[i]^2) - sum[i](x[i] * a[i])
  relax { step = 0.2, steps = 5 }
}
layer other {
  state b[N]
  energy fit = 1/2 * sum[i]((b[i] - plain.a[i])^2) + 1/5 * sum[i](abs(b[i]))
  relax { step = 0.2, steps = 5 }
}
readout o[i] = sum[j](W[i,j] * other.b[j])
cost c = sum[i]((o[i] - t[i])^2)
train { rule = bptt }
"""


@pytest.mark.parametrize(
    ("kinks", "records"), [("1/5 * sum[i](abs(b[i]))", "some"), ("1/5 * sum[i](softplus(b[i]))", "all")]
)
def test_layers_are_recorded_by_kernels_where_these_keep_them(kinks: str, records: str) -> None:
    text = TWO_LAYERS.replace("1/5 * sum[i](abs(b[i]))", kinks)
    network = pipeline.resolve(Source("two_layers.energy", text))
    assert pipeline.emit(network, ["bptt"], target="cpp").printed.records == records


def test_a_gpu_takes_triton_by_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernels have not run on one yet."""
    assert target.compiled_for("auto", "cuda", network("hopfield"), ["centered-ep"])[0].target == "torch"
    monkeypatch.setattr("energyc.runtime.kernels.triton_functions.triton", None)
    with pytest.raises(UserError, match="triton is not installed"):
        target.compiled_for("triton", "cuda", network("hopfield"), ["centered-ep"])
    compiled, note, _ = target.compiled_for("triton", "cuda", network("hopfield"), ["centered-ep"], resumes=True)
    assert compiled.target == "torch" and note is not None and "from here on rounding differs" in note


def test_a_network_without_kernels_takes_torch() -> None:
    compiled, note, _ = target.compiled_for("auto", "cpu", network("deq", relax__solver="newton"), ["implicit"])
    assert compiled.target == "torch" and note is not None and note.startswith("phases run as torch operations: its")
    assert target.compiled_for("auto", "mps", network("hopfield"), ["centered-ep"])[1] is None


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("dtype", [None, "float64", "bfloat16"])
def test_a_network_is_loaded_with_kernels_for_its_dtype(
    dtype: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are built once, which is news; in bfloat16 there are none."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CXXFLAGS", "-O0")
    monkeypatch.delenv("ENERGYC_TARGET")
    first, again = (load(SPEC, dtype=dtype) for _ in range(2))
    if dtype == "bfloat16":
        expected = "phases run as torch operations: they take float32 and float64, not bfloat16"
        assert first.net.target == "torch" and first.news == again.news == expected
        return
    said = r"phases run in C\+\+ kernels \(built in .* s\)"
    assert first.net.target == "cpp" and re.fullmatch(said, first.news or "")
    assert again.news is None
    x = torch.linspace(-1, 1, 6, dtype=first.net.dtype).reshape(2, 3)
    clamps = {"x": x, "b": torch.ones(2, 4, dtype=x.dtype)}
    rest = first.net.relax(clamps).states["s"]
    assert x.dtype in first.net.kernels.libraries
    plain = load(SPEC, target="torch", dtype=dtype)
    assert plain.net.target == "torch" and plain.news is None
    torch.testing.assert_close(rest, plain.net.relax(clamps).states["s"], rtol=0, atol=1e-6 if dtype is None else 1e-12)


def test_a_network_without_kernels_is_loaded_as_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    found = load(SPEC, target="auto")
    assert found.net.target == "torch"
    assert found.news == "phases run as torch operations: no-such-compiler does not compile C++17"


@needs_compiler
@pytest.mark.slow
def test_a_run_is_loaded_as_it_was_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXXFLAGS", "-O0")
    monkeypatch.delenv("ENERGYC_TARGET")
    data = {name: torch.rand(8, n) for name, n in (("x", 3), ("b", 4), ("t", 4))}
    for wanted in ("torch", "cpp"):
        run = energyc.train(LEARNED, data, steps=1, settings={"train.batch": 4}, out=tmp_path / wanted, target=wanted)
        assert run.network.target == wanted
    assert run.load(target="torch").target == "torch"
    monkeypatch.setenv("ENERGYC_TARGET", "torch")
    assert run.load().target == "torch"


# ------------------------------------------------------------------ how many threads


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two")
def test_a_small_step_has_one_thread_and_a_large_one_all() -> None:
    small = network("hopfield")
    enough = -(-FEWEST // operations(small))
    with suited_threads(small, enough) as note:
        assert note is None and torch.get_num_threads() == 2
    with suited_threads(small, enough - 1) as note:
        assert note is not None and note.startswith("one thread of 2") and torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two")
def test_what_the_environment_says_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with suited_threads(network("hopfield"), 1) as note:
        assert note is None and torch.get_num_threads() == 2


def test_the_operations_of_layers_count_for_each_copy() -> None:
    one, two = (operations(network("cem", L=str(copies))) for copies in (1, 2))
    assert two == 2 * one
