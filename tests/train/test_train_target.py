"""The target of a run's phases: the one that is asked for, or why there is none."""

from __future__ import annotations

import pytest

from energyc import pipeline
from energyc.language.diagnostics import UserError
from energyc.language.network import Network
from energyc.resources import folder
from energyc.running.runs import target
from energyc.runtime.kernels.triton_functions import has_triton


def network(name: str, **overrides: str) -> Network:
    choices = pipeline.Choices(overrides={key.replace("__", "."): value for key, value in overrides.items()})
    return pipeline.resolve(pipeline.read(str(folder("specs") / f"{name}.energy")), choices)


def test_triton_on_a_cpu_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    with pytest.raises(UserError, match="Triton kernels: they run on a GPU, not on cpu") as refused:
        target.compiled_for("triton", "cpu", network("hopfield"), "centered-ep")
    assert refused.value.code == "E0518"


@pytest.mark.skipif(not has_triton(), reason="triton is not installed")
@pytest.mark.parametrize(("wanted", "device", "interpret"), [("triton", "cuda:1", "0"), ("triton", "cpu", "1")])
def test_triton_where_it_runs(wanted: str, device: str, interpret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", interpret)
    compiled, note = target.compiled_for(wanted, device, network("hopfield"), "centered-ep")
    assert (compiled.target, note) == ("triton", "phases run in Triton kernels")


def test_a_gpu_takes_triton_by_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernels have not run on one yet."""
    assert target.compiled_for("auto", "cuda", network("hopfield"), "centered-ep")[0].target == "torch"
    monkeypatch.setattr("energyc.runtime.kernels.triton_functions.triton", None)
    with pytest.raises(UserError, match="triton is not installed"):
        target.compiled_for("triton", "cuda", network("hopfield"), "centered-ep")
    compiled, note = target.compiled_for("triton", "cuda", network("hopfield"), "centered-ep", resumes=True)
    assert compiled.target == "torch" and note is not None and "from here on rounding differs" in note


def test_a_network_without_kernels_takes_torch() -> None:
    compiled, note = target.compiled_for("auto", "cpu", network("deq", relax__solver="newton"), "implicit")
    assert compiled.target == "torch" and note is not None and note.startswith("phases run as torch operations: its")
    assert target.compiled_for("auto", "mps", network("hopfield"), "centered-ep")[1] is None
