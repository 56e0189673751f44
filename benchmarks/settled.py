"""Trained networks of ``cet`` brought to rest: which setting settles them, after how long, and what the images lose.

    energyc train specs/cet.energy --preset small --rule centered-ep --out RUN
    python -m benchmarks.settled RUN...

For each run and each way to relax, on samples of the test split: the share of samples within the tolerance, the median
and the largest residual, the mean number of steps, milliseconds of processor time a sample, how far the states are from
those of plain descent at rest (1e-6), relative to their size, and the mean squared errors over hidden and over all
pixels.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.completion import BATCH, Errors, test_images
from energyc import pipeline
from energyc.running.runs.prepare import reopen
from energyc.running.runs.saved import load_run

LONG = {"relax.exit": "early", "relax.steps": 30, "relax.chunk": 10, "relax.max_steps": 600, "relax.tolerance": 1e-3}
TIGHT = {**LONG, "relax.tolerance": 1e-4}
REST: Mapping[str, object] = {**LONG, "relax.tolerance": 1e-6, "relax.max_steps": 3000}
WAYS: dict[str, Mapping[str, object]] = {
    "30 steps": {"relax.exit": "settled", "relax.steps": 30, "relax.max_steps": 30, "relax.tolerance": 1e-3},
    "to 1e-3": LONG,
    "to 1e-4": TIGHT,
    "to 1e-4, anderson": {**TIGHT, "relax.solver": "anderson"},
    "to 1e-4, step = 0.5": {**TIGHT, "relax.step": 0.5},
    "to 1e-4, step = auto": {**TIGHT, "relax.step": "auto"},
    "at rest": REST,
}


def network(run: Path, settings: Mapping[str, object]) -> Any:
    """The trained network with other settings, its phases in kernels."""
    saved = load_run(run)
    chosen = pipeline.resolve(saved.source, pipeline.Choices(None, settings))
    net = pipeline.instantiate(pipeline.emit(chosen, target="cpp"), "cpu", torch.float32, 0)
    saved.load_into(net, "last")
    return net


def relaxed(net: Any, masked: np.ndarray) -> tuple[dict[str, Tensor], Tensor, Tensor, float]:
    """States, residuals and steps of all samples, and the seconds that it took."""
    start = time.process_time()
    parts = [net.relax({"x": part}) for part in torch.split(torch.from_numpy(masked), BATCH)]
    seconds = time.process_time() - start
    states = {name: torch.cat([part.states[name] for part in parts]) for name in net.state_shapes}
    residual, steps = (torch.cat([getattr(part, name) for part in parts]) for name in ("residual", "steps"))
    return states, residual, steps, seconds


def apart(states: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> Tensor:
    """The largest relative distance of a state: [samples]."""
    pairs = [(states[name].flatten(1), others[name].flatten(1)) for name in states]
    return torch.stack([(a - b).norm(dim=1) / b.norm(dim=1) for a, b in pairs]).amax(0)


def rows(run: Path, samples: int) -> Iterator[str]:
    """A line for each way."""
    whole = test_images(next(iter(reopen(run).datasets.values())))
    test = {name: values[:: -(-len(values) // samples)] for name, values in whole.items()}
    rest = relaxed(network(run, REST), test["masked"])[0]
    for name, settings in WAYS.items():
        net = network(run, settings)
        states, residual, steps, seconds = relaxed(net, test["masked"])
        errors = Errors.of(states["y"].numpy(), test["clean"], test["mask"])
        cells = (
            f"{float((residual <= net.relax_tolerance).float().mean()):.0%}",
            f"{float(residual.median()):.0e}, {float(residual.max()):.0e}",
            f"{float(steps.float().mean()):.0f}",
            f"{1e3 * seconds / len(residual):.2f}",
            f"{float(apart(states, rest).median()):.0e}, {float(apart(states, rest).max()):.0e}",
            f"{errors.hidden:.5f}",
            f"{errors.every:.5f}",
        )
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print a table for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--samples", type=int, default=512, help="evenly spread over the test split")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for run in options.runs:
        print(f"{run}\n")
        print("| relaxed | settled | residual, median and largest | steps | ms a sample | rest | hidden | all |")
        print("|---|---|---|---|---|---|---|---|")
        for line in rows(run, options.samples):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
