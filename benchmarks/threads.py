"""A gradient by kernels with one thread and with more: ``python -m benchmarks.threads [NETWORK...] [--threads 2]``.

The cases are those of ``benchmarks.against``, each with its first rule, in turns with both numbers of threads for some
seconds; the least time of each counts. Cores that others use, or that are halves of one, show in the last column: what
so many single threads get done beside each other in matrix products, against one alone.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Mapping
from typing import Any

import torch

from benchmarks.against import generated
from benchmarks.against.cases import CASES, Way, problem
from benchmarks.against.measure import least

SIDE = 512
FLOPS = 2 * SIDE**3


def on(threads: int, call: Way) -> Way:
    """A call on so many threads."""

    def made() -> Mapping[str, Any]:
        torch.set_num_threads(threads)
        return call()

    return made


def products(begin: Any, seconds: float) -> float:
    """Matrix products of one thread: operations a second."""
    torch.set_num_threads(1)
    a, b, done = torch.rand(SIDE, SIDE), torch.rand(SIDE, SIDE), 0
    begin.wait()
    start = time.perf_counter()
    while time.perf_counter() < start + seconds:
        a @ b
        done += FLOPS
    return done / (time.perf_counter() - start)


def capacity(threads: int, seconds: float = 2.0) -> float:
    """How many times the products of one thread alone so many do beside each other."""

    def together(count: int) -> float:
        context = multiprocessing.get_context("spawn")
        with context.Manager() as manager, context.Pool(count) as pool:
            begin = manager.Barrier(count)
            return sum(pool.starmap(products, [(begin, seconds)] * count))

    return together(threads) / together(1)


def main() -> None:
    """Print a row for each network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=f"all by default: {', '.join(CASES)}")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each network")
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    given = parser.parse_args()
    if given.threads < 2:
        parser.error("--threads is at least 2: they are compared with one")
    print(f"what {given.threads} threads get done in matrix products: {capacity(given.threads):.2f} of one alone\n")
    print(f"| | one thread, ms | {given.threads} threads, ms | ratio |\n|---|--:|--:|--:|", flush=True)
    torch.set_num_threads(1)
    for name in given.networks or CASES:
        rule = CASES[name].rules[0]
        ways = generated.ways(problem(CASES[name], torch.float32, given.quick))
        call = ways["energyc, kernels"][rule]
        one, more = least({"one": on(1, call), "more": on(given.threads, call)}, given.seconds).values()
        print(f"| {name}: {rule} | {1e3 * one:.2f} | {1e3 * more:.2f} | {one / more:.2f} |", flush=True)


if __name__ == "__main__":
    main()
