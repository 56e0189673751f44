"""The command line as a process: how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: What libraries leave behind: an object that speaks when the interpreter frees it, an exit function, a thread.
LEFT_BEHIND = """
import atexit, os, sys, threading, time, types
{before}
import energyc.surfaces.cli
def main():
    sys.modules["loud"] = types.SimpleNamespace(loud=Loud())
    atexit.register(lambda: print("exit function"))
    threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
    return energyc.surfaces.cli.main()
class Loud:
    def __del__(self):
        os.write(2, b"leaked\\n")
sys.argv = ["energyc", *{arguments}]
sys.modules["energyc.surfaces.cli.process"].main = main
energyc.surfaces.cli.process()
"""


def _done(arguments: list[str], before: str = "") -> subprocess.CompletedProcess[str]:
    code = LEFT_BEHIND.format(before=before, arguments=arguments)
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("arguments", "status"), [(["list", "tsallis-free"], 1), (["--version"], 0), (["nope"], 2)])
def test_a_process_ends_without_a_word_of_libraries(arguments: list[str], status: int) -> None:
    done = _done(arguments)
    assert done.returncode == status
    assert done.stdout.endswith("thread\nexit function\n")
    assert "leaked" not in done.stderr


def test_no_exit_function_is_left_out() -> None:
    done = _done(["--version"], before="import atexit; atexit.register(lambda: print('profiler'))")
    assert (done.returncode, done.stdout[-30:]) == (0, "thread\nexit function\nprofiler\n")


def test_a_failure_is_told_though_the_output_is_full(tmp_path: Path) -> None:
    spec = tmp_path / "long.energy"
    spec.write_text("network  long\nstate z\nenergy e = z^2\n")
    command = [sys.executable, "-m", "energyc", "fmt", "--check", "--format", "json", str(spec)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith("error[E0906]: cannot write the output: No space left on device")
