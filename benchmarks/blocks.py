"""Sweeps by blocks beside plain steps: how many, how long, and where they rest.

    python -m benchmarks.blocks                      # the shipped specs with exact blocks, at their starting weights
    python -m benchmarks.blocks --run RUN            # the weights of a run, on its test part

A gradient by ``centered-ep`` with the shipped settings is the measure: its cosine with ``implicit`` in float64 where
the same solver rests. Where there are several equilibria that may be another one, which is counted. Beside it stand the
fewest sweeps with a gradient as near (the cosine at most 1e-6 below), and sweeps to the shipped tolerance.
The time is the least processor time of one thread over some rounds, every way in each round.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.vectors import cosine, flat
from energyc import pipeline
from energyc.language.diagnostics import Source
from energyc.running.runs.prepare import reopen
from energyc.running.runs.saved import SavedRun, load_run
from energyc.running.training.feeds import Feed
from energyc.studies.bench.step import least

#: The specs with their batch, and settings of their own for blocks: steps of what does not move exactly.
SPECS: dict[str, tuple[int, Mapping[str, object]]] = {
    "hopfield": (20, {}),
    "deep_hopfield": (20, {}),
    "hopfield_conv": (4, {"relax.step": 1}),
    "resistive": (20, {}),
    "predictive_coding": (20, {"relax.step": 1}),
}
RULE = "centered-ep"
NEAR = 1e-6
SETTLED = "blocks, settled"
#: The most sweeps that are tried.
MOST = 40


@dataclass(frozen=True)
class Case:
    """A spec or a run, and a batch of inputs for it."""

    source: Source
    run: SavedRun | None
    clamps: dict[str, Tensor]
    targets: dict[str, Tensor]

    def net(self, target: str, settings: Mapping[str, object], dtype: torch.dtype = torch.float32) -> Any:
        """The network with other settings."""
        network = pipeline.resolve(self.source, pipeline.Choices(None, dict(settings)))
        compiled = pipeline.emit(network, [RULE, "implicit"], target=target)
        net = pipeline.instantiate(compiled, "cpu", dtype, 0)
        if self.run is not None:
            self.run.load_into(net, "last")
        return net

    def gradient(self, net: Any, rule: str = RULE, **given: int) -> Any:
        """A gradient of the batch."""
        clamps, targets = (
            {name: x.to(net.dtype) if x.is_floating_point() else x for name, x in given.items()}
            for given in (self.clamps, self.targets)
        )
        return net.gradients(clamps, targets, rule, **given)

    def at_rest(self, settings: Mapping[str, object]) -> Rest:
        """Where the network rests in float64, and the gradient by ``implicit`` there."""
        still = {"relax.tolerance": 1e-11, "relax.max_steps": 20_000}
        net = self.net("cpp", {**settings, **still}, torch.float64)
        found = self.gradient(net, "implicit")
        clamps = {name: x.double() if x.is_floating_point() else x for name, x in self.clamps.items()}
        return Rest(flat(found.params), list(found.states.values()), net.energy(found.states, clamps))


@dataclass(frozen=True)
class Rest:
    """The states where a network rests, their energy, and the gradient there."""

    gradient: Tensor
    states: list[Tensor]
    energy: Tensor


def drawn(name: str, batch: int) -> Case:
    """A shipped spec at its starting weights, with inputs drawn as pixels are: most of them dark."""
    source = pipeline.read(Path("specs") / f"{name}.energy")
    network, random = pipeline.resolve(source), torch.Generator().manual_seed(0)
    sizes = network.extents
    clamps = {
        n: torch.rand((batch, *(sizes[d] for d in c.node.dims)), generator=random) for n, c in network.clamps.items()
    }
    clamps = {n: torch.relu(2 * x - 1) for n, x in clamps.items()}
    targets = {
        n: torch.randint(sizes[t.node.over or ""], (batch,), generator=random) for n, t in network.targets.items()
    }
    return Case(source, None, clamps, targets)


def trained(run: Path, batch: int) -> Case:
    """A run, and the first samples of its test part."""
    given = Feed(reopen(run).feeds(), "test", "cpu", torch.float32).batch(np.arange(batch))
    saved = load_run(run)
    return Case(saved.source, saved, given.clamps, given.targets)


def enough(case: Case, net: Any, aim: Tensor, wanted: float) -> tuple[int, int]:
    """The fewest sweeps, free and nudged together, whose gradient is as near as is wanted."""
    for whole in range(2, MOST):
        for nudged in range(1, whole):
            found = case.gradient(net, steps=whole - nudged, nudge_steps=nudged)
            if cosine(flat(found.params), aim) >= wanted - NEAR:
                return whole - nudged, nudged
    return MOST, MOST


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--spec", choices=SPECS, action="append")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--targets", nargs="+", default=["torch", "cpp"])
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| network | target | way | free | nudged | residual | cosine | ms | of plain |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in options.spec or ([load_run(options.run).source.name] if options.run else SPECS):
        batch, own = SPECS.get(Path(name).stem, (20, {}))
        batch = options.batch or batch
        case = trained(options.run, batch) if options.run else drawn(name, batch)
        measure(Path(name).stem, case, own, options.targets, options.seconds)


def measure(name: str, case: Case, own: Mapping[str, object], targets: list[str], seconds: float) -> None:
    """Print the rows of a network."""
    blocks = {**own, "relax.solver": "blocks"}
    aims = {"plain": case.at_rest({}), "blocks": case.at_rest(blocks)}
    wanted = cosine(flat(case.gradient(case.net("cpp", {})).params), aims["plain"].gradient)
    free, nudged = enough(case, case.net("cpp", blocks), aims["blocks"].gradient, wanted)
    settings = {**blocks, "relax.steps": free, "relax.max_steps": free, "nudge.steps": nudged}
    settled = {**blocks, "relax.exit": "early", "relax.chunk": 2, "nudge.steps": nudged}
    for target in targets:
        nets = {"plain": case.net(target, {}), "blocks": case.net(target, settings), SETTLED: case.net(target, settled)}
        calls = {way: lambda net=net: case.gradient(net) for way, net in nets.items()}
        times = least(calls, seconds, time.process_time)
        for way, net in nets.items():
            found = case.gradient(net)
            cells = (
                f"{float(found.steps.float().mean()):.1f}",
                str(net.nudge_steps),
                f"{float(found.residual.max()):.0e}",
                f"{cosine(flat(found.params), aims['plain' if way == 'plain' else 'blocks'].gradient):.6f}",
                f"{1e3 * times[way]:.2f}",
                f"{times[way] / times['plain']:.2f}",
            )
            print(f"| {name} | {target} | {way} | {' | '.join(cells)} |", flush=True)
    apart = [relative(a, b) for a, b in zip(aims["plain"].states, aims["blocks"].states, strict=True)]
    elsewhere = int((torch.stack(apart).amax(0) > 1e-6).sum())
    print(f"{name}: {elsewhere} of {len(apart[0])} samples rest elsewhere; lower in energy: "
          f"{int((aims['blocks'].energy < aims['plain'].energy - 1e-9).sum())}", flush=True)  # fmt: skip


def relative(a: Tensor, b: Tensor) -> Tensor:
    """The difference of two states relative to the first: [batch]."""
    return (a - b).flatten(1).norm(dim=1) / a.flatten(1).norm(dim=1)


if __name__ == "__main__":
    main()
