"""A rank that is killed, stopped or asked to end ends the run at all, with one message, and the run can be resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from energyc.running.folder import checkpoints
from energyc.running.folder.layout import RunFolder
from tests.cli.run import SMALL

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "ENERGYC_TARGET": "torch"}


@contextmanager
def launched(spec: Path, out: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A run of 2,000 updates by two ranks, once its first checkpoint is there."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    train = ["-m", "energyc", "train", str(spec), "--out", str(out), "--steps", "2000", "--set", "train.save_every=10"]
    train += ["--time-limit", "10"]
    command = [*torchrun, *meeting, *train, *options]
    with subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        try:
            while max(checkpoints.steps(RunFolder(out).checkpoints), default=0) < 20:
                assert process.poll() is None, process.stderr and process.stderr.read()
                time.sleep(0.1)
            yield process
        finally:
            process.kill()


def ranks(process: subprocess.Popen[str]) -> list[int]:
    """The processes that a launcher has started, the oldest first."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return sorted(map(int, children))


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "small.energy"
    path.write_text(SMALL)
    return path


def resumed(out: Path, step: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "energyc", "train", "--resume", str(out), "--steps", str(step)]
    return subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "message"),
    [
        (signal.SIGKILL, "error[E0519]: rank 1"),
        (signal.SIGTERM, "interrupted after step"),
        (signal.SIGSTOP, "error[E0519]: rank 1"),
    ],
)
def test_the_end_of_a_rank(number: signal.Signals, message: str, spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with launched(spec, out) as process:
        os.kill(ranks(process)[1], number)
        _, said = process.communicate(timeout=120)
    assert said.count(message) == 1 and said.count("error[") + said.count("interrupted after") == 1, said
    assert "Traceback" not in said.partition("torch/distributed")[0]
    step = checkpoints.steps(RunFolder(out).checkpoints)[0]
    assert resumed(out, step + 5).returncode == 0
