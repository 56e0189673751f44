"""The gradient of each layer of trained blocks of ``thick``, nudged one by one, beside the exact one.

    energyc train benchmarks/thick_stack.energy --target cpp --set L=2 --steps 300 --out RUN
    python -m benchmarks.layer_cosines RUN

The run's last weights, held-out windows, tracking-aep in float32 with the steps of the spec and with more, against
``bptt`` in float64 through steps that end at rest: the cosine for the params of each copy, and the relative error of
all params together.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from energyc import pipeline
from energyc.running.runs.prepare import reopen
from energyc.running.runs.saved import load_run
from energyc.running.training.feeds import Feed
from energyc.studies.verify.compare import measure_all
from energyc.studies.verify.layers import each_layer

RULE, EXACT = "tracking-aep", "bptt"
#: Steps at whose end the layers rest, in float64.
REST = 300


def table(run: Path, samples: int, steps: Sequence[int]) -> list[str]:
    """A row for each number of nudged steps."""
    saved = load_run(run)
    batch = Feed(reopen(run).feeds(), "test", "cpu", torch.float32).batch(np.arange(samples))
    compiled = pipeline.emit(saved.resolved(pipeline.Choices()), [RULE, EXACT])
    nets = {dtype: pipeline.instantiate(compiled, "cpu", dtype, 0).eval() for dtype in (torch.float32, torch.float64)}
    for net in nets.values():
        saved.load_into(net, "last", print)
    exact = nets[torch.float64]
    reference = exact.gradients(batch.clamps, batch.targets, EXACT, steps=REST)
    print(f"residual of the exact gradient's relaxations {float(reference.residual.max()):.0e}")
    rows = []
    for count in steps:
        found = nets[torch.float32].gradients(batch.clamps, batch.targets, RULE, nudge_steps=count)
        layers = each_layer(exact, found.params, reference.params)
        cells = [f"{measure.cosine:.4f}" for measure in layers.values()]
        rows.append(
            f"| {count} | {' | '.join(cells)} | {measure_all(found.params, reference.params).relative_error:.1e} |"
        )
    head = f"| nudged steps | {' | '.join(layers)} | error |"
    return [head, "|---" * (len(layers) + 2) + "|", *rows]


def main() -> None:
    """Print a table of each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--steps", type=int, nargs="+", default=[6, 12, 24])
    given = parser.parse_args()
    for run in given.run:
        print(run.name)
        print("\n".join(table(run, given.samples, given.steps)))


if __name__ == "__main__":
    main()
