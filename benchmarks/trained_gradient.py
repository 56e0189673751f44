"""The gradient of a trained ``thick``: how long it takes by some settings, and how near it is to the implicit one.

    energyc train specs/thick.energy --target cpp --set relax.exit=early --set relax.step=0.4 --set relax.chunk=5 \\
        --set train.batch=16 --out RUN
    python -m benchmarks.trained_gradient RUN

The run's last weights, held-out windows. The time is the least processor time of one thread over some rounds, every
setting in each round; the cosine and the relative error are those of the whole gradient in float32 against ``implicit``
in float64 at rest. The first line is the shipped settings as torch operations: 150 steps of 0.1, then on to 1e-4.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.vectors import cosine, flat
from energyc import pipeline
from energyc.running.runs.prepare import reopen
from energyc.running.runs.saved import load_run
from energyc.running.training.feeds import Feed
from energyc.studies.bench.step import least

#: The settings that ``specs/thick.energy`` ships with.
SHIPPED = {
    "relax.step": 0.1,
    "relax.steps": 150,
    "relax.exit": "settled",
    "relax.chunk": 25,
    "relax.max_steps": 600,
    "relax.tolerance": 1e-4,
    "nudge.steps": 20,
    "nudge.snapshots": 5,
    "nudge.beta": "auto",
}
EARLY = {**SHIPPED, "relax.exit": "early", "relax.chunk": 5}
LARGER = {**EARLY, "relax.step": 0.4}
ANDERSON = "anderson"
WAYS: dict[str, tuple[str, Mapping[str, object]]] = {
    "shipped": ("torch", SHIPPED),
    "shipped, kernels": ("cpp", SHIPPED),
    "exit = early": ("cpp", EARLY),
    "exit = early, step = 0.4": ("cpp", LARGER),
    "exit = early, step = 0.4, tolerance = 1e-3": ("cpp", {**LARGER, "relax.tolerance": 1e-3}),
    "exit = early, step = 0.4, 10 nudged steps": ("cpp", {**LARGER, "nudge.steps": 10}),
    "exit = early, step = 0.4, beta = 4": ("cpp", {**LARGER, "nudge.beta": 4}),
    "exit = early, step = auto": ("cpp", {**EARLY, "relax.step": "auto"}),
    "exit = early, anderson": ("cpp", {**EARLY, "relax.solver": ANDERSON}),
    "exit = early, anderson, step = 0.4": ("cpp", {**LARGER, "relax.solver": ANDERSON}),
    "exit = early, step = 0.4, torch": ("torch", LARGER),
}
RULE = "tracking-aep"


@dataclass(frozen=True)
class Trained:
    """A run and a batch of its test part."""

    run: Path
    clamps: dict[str, Tensor]
    targets: dict[str, Tensor]

    @staticmethod
    def of(run: Path, samples: int) -> Trained:
        """The first samples of the test part."""
        batch = Feed(reopen(run).feeds(), "test", "cpu", torch.float32).batch(np.arange(samples))
        return Trained(run, batch.clamps, batch.targets)

    def net(
        self,
        target: str,
        settings: Mapping[str, object],
        dtype: torch.dtype = torch.float32,
        rules: Sequence[str] = (RULE, "implicit"),
    ) -> Any:
        """The trained network with other settings."""
        saved = load_run(self.run)
        network = pipeline.resolve(saved.source, pipeline.Choices(None, settings))
        compiled = pipeline.emit(network, rules, target=target)
        net = pipeline.instantiate(compiled, "cpu", dtype, 0)
        saved.load_into(net, "last")
        return net


def exact(trained: Trained) -> Tensor:
    """The implicit gradient in float64 at rest."""
    settings = {**LARGER, "relax.tolerance": 1e-11, "relax.max_steps": 5000}
    net = trained.net("cpp", settings, torch.float64)
    found = net.gradients(trained.clamps, trained.targets, "implicit")
    print(f"implicit: residual {float(found.residual.max()):.1e}, cost {float(found.cost.mean()):.4f}")
    return flat(found.params)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    trained = Trained.of(options.run, options.samples)
    aim = exact(trained)
    nets = {name: trained.net(*way) for name, way in WAYS.items()}
    rows = {}
    for name, net in nets.items():
        rows[name] = net.gradients(trained.clamps, trained.targets, RULE)
    calls = {name: lambda net=net: net.gradients(trained.clamps, trained.targets, RULE) for name, net in nets.items()}
    times = least(calls, options.seconds, time.process_time)
    print("| settings | ms | of shipped | steps | residual | beta | cosine | relative error |")
    print("|---|---|---|---|---|---|---|---|")
    for name, found in rows.items():
        ours = flat(found.params)
        error = float((ours - aim).norm() / aim.norm())
        cells = (
            f"{1e3 * times[name]:.0f}",
            f"{times[name] / times['shipped']:.3f}",
            f"{float(found.steps.float().mean()):.1f}",
            f"{float(found.residual.max()):.0e}",
            f"{found.beta:g}",
            f"{cosine(ours, aim):.6f}",
            f"{error:.1e}",
        )
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
