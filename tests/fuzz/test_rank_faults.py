"""Runs by several ranks, one of which goes: ``python -m tests.fuzz ranks`` draws further ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.rank_faults import Launched, Rank, wrong_end

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "ENERGYC_TARGET": "torch"}
GONE = "error[E0519]: rank 1 did not answer: dead\n"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each rank is a fork")
def test_a_rank_that_goes_at_any_call() -> None:
    """In a process of their own, since they are forks of it."""
    command = [sys.executable, "-m", "tests.fuzz", "ranks", "--seed", "37100000", "--count", "8"]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0 and "8 cases" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("statuses", "gone", "said", "wrong"),
    [
        ((1, -9), (0.4, 0.0), GONE, ""),
        ((0, 0), (0.0, 0.0), "", ""),
        ((0, -9), (0.4, 0.0), "", ""),
        ((1, -9), (13.0, 0.0), GONE, "the others take long"),
        ((1, -9), (0.4, 0.0), GONE + GONE, "2 messages"),
        ((1, -9), (0.4, 0.0), GONE.replace("1 did", "0 did"), "1 messages"),
        ((1, -9), (0.4, 0.0), f"{GONE}Traceback", "an internal error"),
    ],
)
def test_what_is_wrong_with_an_end(statuses: tuple[int, int], gone: tuple[float, float], said: str, wrong: str) -> None:
    ranks = [Rank(k, Path(), *end) for k, end in enumerate(zip(gone, statuses, strict=True))]
    ranks[0].said = said
    assert wrong_end(Launched(ranks), signal.SIGKILL, 1) == wrong
