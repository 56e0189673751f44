"""Several processes under torchrun train what one process trains."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch

from energyc.running.ranks.group import ALONE
from energyc.running.training.loop import train
from tests.ranks.cases import CASES

ROOT = Path(__file__).resolve().parents[2]
#: Of params after 20 updates, relative to the largest number.
TOLERANCE = 1e-9


def launch(count: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a module in several processes by PyTorch's launcher."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(count)]
    meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "ENERGYC_TARGET": "torch"}
    command = [*torchrun, *meeting, "-m", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=500)


def params(run: Path) -> dict[str, torch.Tensor]:
    return safetensors.torch.load_file(run / "checkpoints" / "step-00000020" / "params.safetensors")


def last_evaluation(run: Path) -> dict[str, float]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    (row,) = [row for row in rows if row["kind"] == "eval" and row["step"] == 20]
    return {name: value for name, value in row.items() if isinstance(value, float)}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs by one process."""
    out = tmp_path_factory.mktemp("alone")
    for name, case in CASES.items():
        train(case.session(out / name, ALONE))
    return out


def differences(one: Path, other: Path) -> dict[str, float]:
    """The largest relative difference of a param or a held-out number, for each case."""
    found = {}
    for name in CASES:
        pairs = [(value, params(other / name)[key]) for key, value in params(one / name).items()]
        numbers = last_evaluation(other / name)
        pairs += [(torch.tensor(v), torch.tensor(numbers[k])) for k, v in last_evaluation(one / name).items()]
        found[name] = max(float((a - b).abs().max() / a.abs().max().clamp(min=1e-6)) for a, b in pairs)
    return found


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
def test_params_and_numbers_are_those_of_one_process(count: int, alone: Path, tmp_path: Path) -> None:
    done = launch(count, "tests.ranks.worker", tmp_path, "begin")
    assert done.returncode == 0, done.stderr[-3000:]
    found = differences(alone, tmp_path)
    assert max(found.values()) <= TOLERANCE, found


@pytest.mark.slow
def test_a_run_that_one_rank_stopped_resumes_with_fewer(alone: Path, tmp_path: Path) -> None:
    begun = launch(3, "tests.ranks.worker", tmp_path, "stop")
    assert begun.returncode == 0, begun.stderr[-3000:]
    assert all((tmp_path / name / "checkpoints" / "step-00000008").exists() for name in CASES)
    done = launch(2, "tests.ranks.worker", tmp_path, "resume")
    assert done.returncode == 0, done.stderr[-3000:]
    found = differences(alone, tmp_path)
    assert max(found.values()) <= TOLERANCE, found
