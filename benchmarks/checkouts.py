"""Processor time of checking and compiling the shipped specs, and of a gradient of theirs, in two checkouts.

    python -m benchmarks.checkouts BEFORE                      # all specs, against this checkout
    python -m benchmarks.checkouts BEFORE --specs thick cet --tasks cpp gradient-cpp --rounds 20

BEFORE is the folder of another checkout. Each checkout has one process, in a cache of its own, which is asked for one
thing at a time: the other waits meanwhile, and which of them begins changes from round to round. A figure is the least
of some rounds after one that is not counted; imports and tables of the grammar are there by then, and modules loaded.
A gradient is one by the spec's rule, of eight random samples, with the settings that the spec has in BEFORE.
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
COMPILING = ("check", "torch", "cpp", "triton")
GRADIENTS = ("gradient-torch", "gradient-cpp")

#: What a process does: it reads tasks with the path of a spec, a line each, and answers with milliseconds, or NaN where
#: the task failed.
WORKER = """
import functools, sys, time
import energyc, torch
from energyc import pipeline
from energyc.studies.verify import random_probe

torch.set_num_threads(1)

@functools.cache
def network(target, path):
    rule = pipeline.resolve(pipeline.read(path)).train.rule
    net = energyc.load(path, target=target, rules=[rule])
    probe = random_probe(net, batch=8, seed=0)
    cast = lambda x: x.to(net.dtype) if x.is_floating_point() else x
    return net, rule, *({name: cast(x) for name, x in part.items()} for part in (probe.clamps, probe.targets))

def run(task, path):
    kind, _, target = task.partition("-")
    given = network(target, path) if kind == "gradient" else None
    start = time.process_time()
    if given is not None:
        net, rule, clamps, targets = given
        net.gradients(clamps, targets, rule, allow_biased=True)
    elif task == "check":
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

    def taken(self, task: str, path: Path) -> float:
        """Milliseconds of processor time of one task with a spec."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(task, path, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def least(pair: Sequence[Checkout], task: str, spec: str, rounds: int) -> list[float]:
    """The least time of each checkout, one after the other in each round."""
    times: dict[Checkout, list[float]] = {checkout: [] for checkout in pair}
    for k in range(rounds + 1):
        for checkout in pair[:: -1 if k % 2 else 1]:
            owner = pair[0] if task in GRADIENTS else checkout
            times[checkout].append(checkout.taken(task, owner.folder / "specs" / f"{spec}.energy"))
    return [min(times[checkout][1:]) for checkout in pair]


def table(pair: Sequence[Checkout], specs: Sequence[str], tasks: Sequence[str], rounds: int) -> Iterator[str]:
    """Rows of the table: milliseconds before and now, and their quotient."""
    yield f"| ms | {' | '.join(tasks)} |"
    yield f"|---|{'---|' * len(tasks)}"
    for spec in specs:
        found = [least(pair, task, spec, rounds) for task in tasks]
        yield f"| {spec} | {' | '.join(f'{a:.3g}, {b:.3g}: {b / a:.2f}' for a, b in found)} |"


def main() -> None:
    """Print the table, each row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="the folder of another checkout")
    parser.add_argument("--now", type=Path, default=ROOT, help="the other one; this one by default")
    parser.add_argument("--specs", nargs="+", default=SPECS, choices=SPECS, metavar="SPEC")
    parser.add_argument("--tasks", nargs="+", default=COMPILING, choices=[*COMPILING, *GRADIENTS])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as before, tempfile.TemporaryDirectory() as now:
        pair = Checkout(options.before, before), Checkout(options.now, now)
        for line in table(pair, options.specs, options.tasks, options.rounds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
