"""One relaxation step: the generated module beside the same network by hand, with autograd, without, and compiled.

    python benchmarks/step.py                # all sizes but the paper's
    python benchmarks/step.py --paper        # the CET at paper size too
    python benchmarks/step.py --compile      # torch.compile as well, where it works

Every way takes its turn in each round, so that what else the machine does strikes all alike; the least time of many
rounds is what a way costs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from by_hand import HOPFIELD, THICK, ByHand, Tensors, cet

import energyc

SPECS = Path(__file__).parents[1] / "specs"
Way = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """A network at a size: its spec, dims, and batch."""

    title: str
    hand: ByHand
    batch: int
    dims: dict[str, int]
    paper: bool = False


CASES = (
    Case("hopfield 784-512-10, B = 20", HOPFIELD, 20, {}),
    Case("hopfield 784-512-10, B = 256", HOPFIELD, 256, {}),
    Case("cet 32x32, D = 128, B = 16", cet(4), 16, {"S": 32, "P": 8, "stride": 4, "D": 128, "H": 4, "A": 32, "M": 512}),
    Case("thick T = 64, D = 128, B = 16", THICK, 16, {}),
    Case("cet 120x120, D = 768, B = 2", cet(10), 2, {}, paper=True),
)


def drawn(net: Any, batch: int) -> tuple[Tensors, Tensors]:
    """Random states and clamps."""
    random = torch.Generator().manual_seed(1)
    states = {n: 0.5 * torch.rand(batch, *shape, generator=random) for n, shape in net.state_shapes.items()}
    clamps = {
        n: torch.rand(batch, *shape, generator=random)
        if classes is None
        else torch.randint(classes, (batch, *shape), generator=random)
        for n, (shape, classes) in net.clamp_shapes.items()
    }
    return states, clamps


def ways(case: Case, compiled: bool) -> dict[str, Way]:
    """What is timed, by name; all of them are checked to take the same step."""
    settings = {"relax.step.y": 1} if case.hand.spec == "nothing" else {}
    net = energyc.load(SPECS / f"{case.hand.spec}.energy", dims=case.dims, settings=settings, dtype=torch.float32)
    states, clamps = drawn(net, case.batch)
    fixed = net._fixed(clamps)
    params = {name: value.detach() for name, value in net.params.items()}
    given = {**clamps, **fixed._asdict()}

    def generated() -> Tensors:
        moved = [x.clone() for x in states.values()]
        net._step_(moved, fixed, net.relax_step)
        return dict(zip(states, moved, strict=True))

    found: dict[str, Way] = {
        "generated": torch.no_grad()(generated),
        "autograd": lambda: case.hand.autograd(states, params, given),
    }
    if case.hand.written:
        written = case.hand.written
        found["by hand"] = torch.no_grad()(lambda: written(states, params, given))
    if compiled:
        best = torch.compile(case.hand.written or case.hand.autograd)
        found["by hand, compiled"] = torch.no_grad()(lambda: best(states, params, given))
    if case.hand.spec == "thick":
        found["by hand"] = torch.no_grad()(found.pop("autograd"))
    agree(found)
    return found


def agree(found: dict[str, Way]) -> None:
    """All ways lead to the same states, up to float32."""
    first = found["generated"]()
    for name, way in found.items():
        for state, value in way().items():  # type: ignore[attr-defined]
            error = float((value - first[state]).abs().max() / first[state].abs().max())  # type: ignore[index]
            assert error < 1e-4, (name, state, error)


def least(found: dict[str, Way], seconds: float) -> dict[str, float]:
    """The least milliseconds of each way, all in turns."""
    best = dict.fromkeys(found, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, way in found.items():
            start = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - start)
    return {name: 1e3 * value for name, value in best.items()}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--paper", action="store_true", help="the CET at paper size too")
    parser.add_argument("--compile", action="store_true", help="torch.compile as well")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each network")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for case in CASES:
        if case.paper and not options.paper:
            continue
        times = least(ways(case, options.compile), options.seconds)
        own = times["generated"]
        print(f"{case.title}")
        for name, milliseconds in times.items():
            print(f"    {name:<20} {milliseconds:8.3f} ms  {milliseconds / own:5.2f}")


if __name__ == "__main__":
    main()
