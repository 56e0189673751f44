"""Agreement first, then time: the least of each way, all in turns whose order is drawn anew.

The figure is the lesser of two: the least time of a call by the clock, and the least processor time of a run of calls,
all threads together. On a machine with other load the second is near what the first would be without; JAX, which works
in threads of its own that wait actively, is never charged more than the clock tells.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.against.cases import STEPS, Case, Problem, Way, problem
from benchmarks.against.comparators import REFERENCE, Ways, ways
from benchmarks.against.floor import STEPS_OF, products
from benchmarks.resident import GIVE_BACK, peak_growth

#: The largest relative error of a tensor: in float64 at tiny sizes, and in float32 at the sizes that are timed.
EXACT, ROUNDED = 1e-9, 1e-2
#: torchdeq mixes with a ridge of 1e-4 and comes no nearer to rest.
NEAR = {"torchdeq (Anderson)": 1e-7}
#: Seconds of a run of calls, and after it, until the time of all threads is booked.
RUN, SETTLE = 0.02, 0.002
FLOOR = "products alone"


class Disagreement(AssertionError):
    """A way computes something else; nothing is reported."""


def error(found: Mapping[str, Any], expected: Mapping[str, Tensor]) -> float:
    """The largest relative error of a tensor."""
    return max(_error(found[name], value) for name, value in expected.items())


def _error(found: Any, expected: Tensor) -> float:
    value = found.detach() if isinstance(found, Tensor) else torch.tensor(np.asarray(found))
    assert value.shape == expected.shape, (value.shape, expected.shape)
    far = float((value.double() - expected).norm() / expected.norm().clamp(min=1e-30))
    return far if far == far else float("inf")


def agree(found: Ways, expected: Mapping[str, Mapping[str, Tensor]], tolerance: float) -> dict[str, float]:
    """The largest error of each way. Raises Disagreement."""
    worst: dict[str, float] = {}
    for way, tasks in found.items():
        for task, call in tasks.items():
            far = error(call(), expected[task])
            worst[way] = max(worst.get(way, 0.0), far)
            if far > max(tolerance, NEAR.get(way, 0.0)):
                raise Disagreement(f"{way}: {task} is off by {far:.1e}")
    return worst


def computed(found: Ways) -> dict[str, Mapping[str, Tensor]]:
    """The result of each task by the generated module."""
    return {task: call() for task, call in found[REFERENCE].items()}


def compare(
    case: Case, names: tuple[str, ...], seconds: float, quick: bool, chosen: Collection[str] = ()
) -> dict[str, Any]:
    """Milliseconds of each task (of those that are ``chosen``) in each way, once all agree. Raises Disagreement."""
    plain = tuple(name for name in names if name != "compile")
    tiny = _chosen(ways(problem(case, torch.float64, True), plain), chosen)
    expected = computed(tiny)
    exact = agree(tiny, expected, EXACT)
    timed = problem(case, torch.float32, quick)
    found = _chosen(ways(timed, names), chosen)
    if not quick:
        expected = computed(_chosen(ways(problem(case, torch.float64, False), ("generated",)), chosen))
    rounded = agree(found, expected, ROUNDED)
    floor = least({FLOOR: call}, seconds / 4)[FLOOR] / STEPS if (call := products(timed)) else None
    tasks = found[REFERENCE]
    return {
        "batch": timed.batch,
        "tasks": {task: times(case, task, found, floor, seconds) for task in tasks},
        "errors": {"float64, tiny sizes": exact, "float32": rounded},
    }


def _chosen(found: Ways, tasks: Collection[str]) -> Ways:
    return {way: {t: call for t, call in calls.items() if not tasks or t in tasks} for way, calls in found.items()}


def times(case: Case, task: str, found: Ways, floor: float | None, seconds: float) -> dict[str, float]:
    """Milliseconds of a task in each way that has it, its products first."""
    calls = {way: tasks[task] for way, tasks in found.items() if task in tasks}
    share = STEPS if task == "step" else 1
    best = {way: value / share for way, value in least(calls, seconds).items()}
    if floor is not None:
        best = {FLOOR: floor * STEPS_OF[task](case.steps, case.nudges), **best}
    return {way: 1e3 * value for way, value in best.items()}


def least(calls: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """The least seconds of each call."""
    best = dict.fromkeys(calls, float("inf"))
    random, turns = Random(0), list(calls.items())
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < 3 or time.perf_counter() < end:
        random.shuffle(turns)
        rounds += 1
        for way, call in turns:
            best[way] = min(best[way], _run(call, best[way]))
    return best


def _run(call: Callable[[], object], known: float) -> float:
    """The least time of a run of calls that takes ``RUN`` seconds if a call takes what is known."""
    count = max(1, min(1000, int(RUN / known)))
    clock = float("inf")
    spent = time.process_time()
    for _ in range(count):
        start = time.perf_counter()
        call()
        clock = min(clock, time.perf_counter() - start)
    time.sleep(SETTLE)
    return min(clock, (time.process_time() - spent) / count)


def memory(name: str, comparator: str, way: str, task: str, quick: bool) -> float:
    """The growth of the peak resident set in a task, in MiB, in a process of its own, after the same task once."""
    command = [sys.executable, "-m", "benchmarks.against", name, "--grown", comparator, way, task]
    environment = {**os.environ, **GIVE_BACK}
    done = subprocess.run(
        [*command, *(["--quick"] if quick else [])], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def growth(timed: Problem, comparator: str, way: str, task: str) -> float:
    """The same, in this process."""
    call: Way = ways(timed, (comparator,))[way][task]
    call()
    return peak_growth(call)
