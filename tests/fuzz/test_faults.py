"""Runs that are killed, or meet a full or a broken disk, at their file operations: the same bytes once resumed.

``python -m tests.fuzz faults`` draws further ones; ``python -m tests.fuzz.faults kill 0 1`` tries every one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from energyc import files
from tests.fuzz.injection import WHERE, Fault, Faults, File, Module

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "ENERGYC_TARGET": "torch"}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each run is a fork")


def without_finds(fault: Fault, every: int, first: int) -> None:
    """The runs with a fault at every so many operations, in a process of their own, since they are forks of it."""
    command = [sys.executable, "-m", "tests.fuzz.faults", fault, str(first), str(every)]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "full"])
def test_some_operations(fault: Fault) -> None:
    without_finds(fault, 40, 7)


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "full"])
def test_more_operations(fault: Fault) -> None:
    without_finds(fault, 5, 0)


@pytest.mark.slow
def test_errors_at_operations() -> None:
    without_finds("broken", 15, 0)


# -------------------------------------------------------------------- the harness notices


def _counted(faults: Faults, *arguments: Any, **options: Any) -> File:
    return File(open(*arguments, **options), faults)


def test_an_operation_fails_where_it_was_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file that is replaced there are the old bytes until its name is changed, wherever the disk is full."""
    place = files.SafePath(tmp_path) / "a"
    place.write(b"old")
    failed = 0
    for at in range(1, 40):
        faults = Faults("full", at)
        monkeypatch.setattr(files, "os", Module(os, faults))
        monkeypatch.setattr(files, "open", partial(_counted, faults), raising=False)
        try:
            place.write(b"new")
        except OSError as error:
            failed += 1
            assert error.errno == 28 and faults.seen[-1] in (*WHERE["full"], "unlink", "open"), faults.seen
        monkeypatch.undo()
        names = [path.name for path in tmp_path.iterdir()]
        assert names == ["a"] and place.read() in (b"old", b"new")
    assert failed >= 3
