"""``python -m benchmarks.shell_completion``: what a TAB costs, by what it completes.

Each is the processor time, user and system, of a whole process from the start of Python to its answer: the least of so
many, and the longest wait among them.
"""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SPEC = str(ROOT / "specs" / "thick.energy")
#: What is completed, and the words of the line up to the cursor.
TABS = {
    "a command": ["tra"],
    "an option": ["train", SPEC, "--se"],
    "a spec": ["check", f"{ROOT}/specs/th"],
    "a run": ["eval", "runs/"],
    "a preset": ["check", SPEC, "--preset", ""],
    "a name or setting": ["train", SPEC, "--set", ""],
    "a rule": ["train", SPEC, "--rule", ""],
    "a stage": ["show", SPEC, "--stage", ""],
}
TIMES = 7


def measured(words: list[str]) -> tuple[float, float]:
    """The processor time and the time of one TAB, in seconds."""
    line = {"COMP_WORDS": shlex.join(["energyc", *words]), "COMP_CWORD": str(len(words))}
    environ = {**os.environ, "_ENERGYC_COMPLETE": "bash_complete", **line}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "energyc"], env=environ, capture_output=True, check=True)
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - started
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds


def main() -> None:
    """Print a row for each."""
    print(f"{'a TAB completes':<20}{'processor, ms':>15}{'longest wait, ms':>18}")
    for name, words in TABS.items():
        rows = [measured(words) for _ in range(TIMES)]
        least, longest = min(cpu for cpu, _ in rows), max(wait for _, wait in rows)
        print(f"{name:<20}{1000 * least:>15.0f}{1000 * longest:>18.0f}")


if __name__ == "__main__":
    main()
