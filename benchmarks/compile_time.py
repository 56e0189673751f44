"""Processor time of checking and compiling the shipped specs, in two checkouts beside one another.

    python -m benchmarks.compile_time BEFORE                   # all specs, against this checkout
    python -m benchmarks.compile_time BEFORE --specs thick cet --tasks cpp --rounds 20

BEFORE is the folder of another checkout. Each checkout has one process, in a cache of its own, which is asked for one
thing at a time: the other waits meanwhile, and which of them begins changes from round to round. A figure is the least
of some rounds after one that is not counted; imports and tables of the grammar are there by then.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SPECS = sorted(path.stem for path in (ROOT / "specs").glob("*.energy"))
TASKS = ("check", "torch", "cpp", "triton")

#: What a process does: it reads tasks with the path of a spec, a line each, and answers with milliseconds, or NaN where
#: the task failed.
WORKER = """
import sys, time
import energyc
from energyc import pipeline

def run(task, path):
    start = time.process_time()
    if task == "check":
        energyc.check(path)
    else:
        pipeline.emit(pipeline.resolve(pipeline.read(path)), pipeline.ALL, target=task)
    return time.process_time() - start

for line in sys.stdin:
    try:
        taken = 1000 * run(*line.split())
    except Exception:
        taken = float("nan")
    print(taken, flush=True)
"""


class Checkout:
    """A checkout, and the process that compiles in it."""

    def __init__(self, folder: Path, cache: str) -> None:
        self.folder = folder.resolve()
        around = {**os.environ, "PYTHONPATH": str(self.folder), "XDG_CACHE_HOME": cache, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self.folder,
            env=around,
            text=True,
        )

    def taken(self, task: str, spec: str) -> float:
        """Milliseconds of processor time of one task."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(task, self.folder / "specs" / f"{spec}.energy", file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def least(pair: Sequence[Checkout], task: str, spec: str, rounds: int) -> list[float]:
    """The least time of each checkout, one after the other in each round."""
    times: dict[Checkout, list[float]] = {checkout: [] for checkout in pair}
    for k in range(rounds + 1):
        for checkout in pair[:: -1 if k % 2 else 1]:
            times[checkout].append(checkout.taken(task, spec))
    return [min(times[checkout][1:]) for checkout in pair]


def table(pair: Sequence[Checkout], specs: Sequence[str], tasks: Sequence[str], rounds: int) -> Iterator[str]:
    """Rows of the table: milliseconds before and now, and their quotient."""
    yield f"| ms | {' | '.join(tasks)} |"
    yield f"|---|{'---|' * len(tasks)}"
    for spec in specs:
        found = [least(pair, task, spec, rounds) for task in tasks]
        yield f"| {spec} | {' | '.join(f'{a:.0f}, {b:.0f}: {b / a:.2f}' for a, b in found)} |"


def main() -> None:
    """Print the table, each row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the folder of another checkout")
    parser.add_argument("--now", type=Path, default=ROOT, help="the other one; this one by default")
    parser.add_argument("--specs", nargs="+", default=SPECS, choices=SPECS, metavar="SPEC")
    parser.add_argument("--tasks", nargs="+", default=TASKS, choices=TASKS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as before, tempfile.TemporaryDirectory() as now:
        pair = Checkout(options.before, before), Checkout(options.now, now)
        for line in table(pair, options.specs, options.tasks, options.rounds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
