"""The benchmark for a GPU, at tiny sizes on a CPU: what it counts, that it times nothing wrong, that it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import gpu
from energyc.runtime.equations.inputs import prepared

BENCH = gpu.Bench(torch.device("cpu"), gpu.SMOKE, smoke=True)


def test_operations_are_those_of_the_products() -> None:
    """As torch counts them in the force of the torch target."""
    net = BENCH.network("cet", "centered-ep", gpu.EAGER)
    clamps, _ = BENCH.inputs(net)
    with torch.no_grad():
        fixed = prepared(net, clamps)
        states = list(net.start(clamps).values())
        with FlopCounterMode(display=False) as counted:
            net._force(states, fixed)
    assert gpu.floating_operations(net, BENCH) == counted.get_total_flops()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:products in tf32")
def test_what_disagrees_gets_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    built = gpu.Bench.network

    def spoilt(self: Any, spec: str, rule: str, way: gpu.Way, dtype: torch.dtype = torch.float32) -> Any:
        net = built(self, spec, rule, way, dtype)
        if way.name == "torch":
            force = net._force
            net._force = lambda states, fixed: [f.flip(1) for f in force(states, fixed)]
        return net

    monkeypatch.setattr(gpu.Bench, "network", spoilt)
    for table in (gpu.gradients, gpu.steps):
        rows = {row[0]: row for row in table(BENCH)}
        assert rows["torch"][1] == "differs"
        assert float(rows["torch, eager"][1]) > 0
        assert float(rows["torch, bfloat16"][1]) > 0


@pytest.mark.slow
def test_it_runs(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "benchmarks.gpu", "--smoke", "--train", "1"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for line in (
        "a gradient of thick",
        "a step of the free phase of cet",
        "1 updates of thick",
        "tracking-aep",
        "bptt",
    ):
        assert line in done.stdout
    assert "differs" not in done.stdout
    assert "failed" not in done.stdout


@pytest.mark.slow
def test_without_a_gpu_it_says_how_it_runs() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-m", "benchmarks.gpu"], cwd=root, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip() == "there is no GPU here: --smoke runs tiny sizes on a CPU"
