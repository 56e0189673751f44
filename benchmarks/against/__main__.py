"""Run the comparison, or measure the memory of one task in this process."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

# Read when JAX is imported.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import torch

import benchmarks.against
from benchmarks.against import report
from benchmarks.against.cases import CASES, problem
from benchmarks.against.comparators import COMPARATORS, REFERENCE
from benchmarks.against.measure import compare, growth, memory

RESULTS = Path(__file__).parents[1] / "results"


def used(case: str, names: tuple[str, ...], quick: bool) -> dict[str, dict[str, float]]:
    """The memory of the first rule's update in each way that has it, in MiB."""
    from benchmarks.against.comparators import ways

    small = problem(CASES[case], torch.float32, True)
    task = CASES[case].rules[0]
    grown = {
        way: memory(case, name, way, task, quick)
        for name in names
        for way, tasks in ways(small, (name,)).items()
        if task in tasks
    }
    return {task: grown}


def main(arguments: list[str] | None = None) -> None:
    """Compare the networks one after the other; what is done is written after each."""
    parser = argparse.ArgumentParser(
        description=benchmarks.against.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=f"all by default: {', '.join(CASES)}")
    parser.add_argument("--only", nargs="+", choices=COMPARATORS, help="these comparators beside the generated modules")
    parser.add_argument("--tasks", nargs="+", default=(), metavar="TASK", help="these alone, as step phase bptt")
    parser.add_argument("--seconds", type=float, default=4.0, help="for each task of a network")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, without torch.compile and memory")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the results")
    parser.add_argument("--memory", action="store_true", help="measure memory, not time, beside results that there are")
    parser.add_argument("--grown", nargs=3, metavar=("COMPARATOR", "WAY", "TASK"), help="memory of a task, here")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if not options.quick and hasattr(os, "sched_setaffinity"):
        # XLA keeps a second thread whatever its flags say, and would be given another core for it.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    names = options.networks or list(CASES)
    for name in names:
        if name not in CASES:
            parser.error(f"there is no network {name}; there are {', '.join(CASES)}")
    if options.grown:
        print(growth(problem(CASES[names[0]], torch.float32, options.quick), *options.grown))
        return
    chosen = tuple(options.only or (name for name in COMPARATORS if not (options.quick and name == "compile")))
    chosen = ("generated", *(name for name in chosen if name != "generated"))
    results: dict[str, Any] = report.kept(options.out)
    for name in names:
        if options.memory:
            results[name] = {**results[name], "memory": used(name, chosen, options.quick)}
        else:
            seconds = 0.0 if options.quick else options.seconds
            found = compare(CASES[name], chosen, seconds, options.quick, options.tasks)
            before = results.get(name, {})
            found["tasks"] = {**(before.get("tasks", {}) if options.tasks else {}), **found["tasks"]}
            results[name] = {**before, **found, "machine": report.machine()}
            print(f"{name}: {len(found['tasks'])} tasks, all agree with {REFERENCE}", flush=True)
        written = report.write(options.out, {case: results[case] for case in CASES if case in results})
    print("\n".join(map(str, written)))


if __name__ == "__main__":
    main()
