"""The matrix products of a step by torch alone, one after the other, on operands of their sizes."""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.against.cases import STEPS, Problem
from energyc import pipeline
from energyc.code.loops import NotLowered
from energyc.code.loops.nest import products_of
from energyc.code.module.context import Options
from energyc.code.targets.kernels import kernels_of

#: How many steps' products a task has at least, by its steps and nudged steps; those of a contrast come on top.
STEPS_OF: dict[str, Callable[[int, int], int]] = {
    "step": lambda free, nudged: 1,
    "phase": lambda free, nudged: free,
    "centered-ep": lambda free, nudged: free + 2 * nudged,
    "tracking-aep": lambda free, nudged: free + 2 * nudged,
    "tbptt": lambda free, nudged: free + 2 * nudged,
    "bptt": lambda free, nudged: 3 * free,
    "implicit": lambda free, nudged: free,
}


def products(problem: Problem) -> Callable[[], None] | None:
    """The products of as many steps as are timed; None where the plan has no loop nests to read them from."""
    network, batch = problem.network, problem.batch
    classes = pipeline.classify(network)
    options = Options(("implicit",), "", "", unproved=classes.unproved, descends=classes.descends)
    try:
        kernel = kernels_of(options.plan(network), options)[0].kernels[0]
    except NotLowered:
        return None
    pairs = []
    for block in products_of(kernel.body):
        rows, columns, inner = block.rows.count, block.columns.count, block.inner.count
        if block.right.batched:
            many = batch * block.outer.count
            pairs.append((torch.rand(many, rows, inner), torch.rand(many, inner, columns)))
        else:
            pairs.append((torch.rand(batch * rows, inner), torch.rand(inner, columns * block.outer.count)))
    into = [a @ b for a, b in pairs]

    def run() -> None:
        for _ in range(STEPS):
            for (a, b), out in zip(pairs, into, strict=True):
                torch.matmul(a, b, out=out)

    return run
