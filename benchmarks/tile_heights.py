"""Steps of kernels by the number of rows that a product computes at once.

    python -m benchmarks.tile_heights                        # every instruction set of this processor
    python -m benchmarks.tile_heights AVX2 --networks thick cet --dtype float64

``codegen/cpp/kernels.h`` has a table of these heights, by instruction set. For each instruction set this builds the
kernels of some networks with each candidate, and times phases of up to ten steps on one thread, all candidates in turn
within one process. A row has the least milliseconds of a step with the height in the table, and the times with other
heights as multiples of it. Heights must not change results, but for rounding. An instruction set below the
processor's own is what the compiler uses where the larger ones are turned off.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from benchmarks.against.cases import CASES, SPECS, STEPS
from benchmarks.against.measure import least
from energyc import pipeline
from energyc.runtime.equations.inputs import prepared
from energyc.runtime.kernels.library import probed
from energyc.studies.verify import random_probe

#: Each instruction set: the macro that a compiler defines for it, and the flag that turns off larger ones.
SETS = {"AVX-512": ("__AVX512F__", ""), "AVX2": ("__AVX2__", "-mno-avx512f"), "SSE2": ("__SSE2__", "-mno-avx")}
HEIGHTS = (3, 4, 5, 6, 8)
#: The networks: sizes other than their own, and how many samples.
NETWORKS: Mapping[str, tuple[Mapping[str, int], int]] = {
    "thick": (CASES["thick"].choices, CASES["thick"].batch),
    "cet": (CASES["cet"].choices, CASES["cet"].batch),
    "et_image": (CASES["et"].choices, CASES["et"].batch),
    "hopfield": (CASES["hopfield"].choices, CASES["hopfield"].batch),
    "et_graph": ({}, 16),
    "hopfield_conv": ({}, 8),
}
#: The largest difference of results, as a part of the largest entry.
ROUNDING = {torch.float32: 1e-6, torch.float64: 1e-12}


@dataclass(frozen=True)
class Phases:
    """The phases of a network whose kernels are made with one height, and what they begin with."""

    net: Any
    fixed: Any
    states: Sequence[Tensor]
    targets: Sequence[Tensor]

    @property
    def names(self) -> tuple[str, ...]:
        """The phases that are timed."""
        return ("step", "tracking") if "tracking" in self.net.kernels.names else ("step",)

    @property
    def steps(self) -> int:
        """The steps of a phase, no more than there are where they are numbered."""
        return min(STEPS, self.net.relax_steps) if self.net.numbered else STEPS

    @torch.no_grad()
    def run(self, name: str) -> list[Tensor]:
        """Run a phase and return its states."""
        net, moved = self.net, [x.clone() for x in self.states]
        if name == "step":
            net._steps_(moved, self.fixed, 0, self.steps, net.relax_step)
            return moved
        others = [x.clone() for x in moved]
        net._tracking_steps_(moved, others, self.fixed, self.targets, 0.5, self.steps, net.relax_step)
        return [*moved, *others]


@contextmanager
def added_flags(text: str) -> Iterator[None]:
    """Add flags to those that kernels are built with."""
    before = os.environ.get("CXXFLAGS")
    os.environ["CXXFLAGS"] = f"{before or ''} {text}"
    try:
        yield
    finally:
        del os.environ["CXXFLAGS"]
        if before is not None:
            os.environ["CXXFLAGS"] = before


def phases(name: str, dtype: torch.dtype, flags: Sequence[str]) -> Iterator[Phases]:
    """Build the kernels of a network, of its first layer where it has layers, with each of some flags."""
    sizes, batch = NETWORKS[name]
    network = pipeline.resolve(pipeline.read(SPECS / f"{name}.energy"), pipeline.Choices.of(dims=sizes))
    compiled = pipeline.emit(network, [network.train.trained_by], target="cpp")
    for own in flags:
        net = pipeline.instantiate(compiled, "cpu", dtype, 0).eval()
        probe = random_probe(net, batch=batch)
        clamps, targets = (
            {name: x.to(dtype) if x.is_floating_point() else x for name, x in given.items()}
            for given in (probe.clamps, probe.targets)
        )
        if hasattr(net, "copies"):
            net, clamps = net.layer(next(iter(net.layers)), clamps)
        shared = net.kernels  # by all modules of one text
        net.kernels = type(shared)(shared.source, shared.names, shared.rounded)
        with added_flags(own):
            made = Phases(net, prepared(net, clamps), list(net.start(clamps).values()), list(targets.values()))
            if not net._serving("free", made.states):
                raise SystemExit(f"{name}: {net.kernels.failure}")
        yield made


def difference(one: Sequence[Tensor], two: Sequence[Tensor]) -> float:
    """The largest difference of tensors, as a part of their largest entry."""
    return max(float((x - y).abs().max() / x.abs().max()) for x, y in zip(one, two, strict=True))


def rows(name: str, kind: str, heights: Sequence[int], dtype: torch.dtype, seconds: float) -> Iterator[str]:
    """The rows of a network for an instruction set. Raises SystemExit where results depend on the height."""
    _, flag = SETS[kind]
    made = list(phases(name, dtype, [flag, *(f"{flag} -DENERGYC_ROWS={n}" for n in heights)]))
    ways = dict(zip(("table", *map(str, heights)), made, strict=True))
    for phase in made[0].names:
        expected = made[0].run(phase)
        apart = max(difference(expected, x.run(phase)) for x in made)
        if not apart <= ROUNDING[dtype]:
            raise SystemExit(f"{name}: results differ by {apart:.1e}")
        times = least({way: lambda x=x, phase=phase: x.run(phase) for way, x in ways.items()}, seconds)
        own = times.pop("table")
        ratios = " | ".join(f"{time / own:.2f}" for time in times.values())
        yield f"| {kind} | {name}: {phase} | {1e3 * own / made[0].steps:.3f} | {ratios} | {apart:.0e} |"


def main() -> None:
    """Print the table, each row as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}; by default all there are")
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=NETWORKS)
    parser.add_argument("--heights", nargs="+", type=int, default=HEIGHTS)
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--seconds", type=float, default=6.0, help="for each row")
    given = parser.parse_args()
    torch.set_num_threads(1)
    macros = probed([os.environ.get("CXX", "c++"), "-march=native"]) or ""
    print(f"| | {given.dtype} | table, ms | {' | '.join(map(str, given.heights))} | difference |")
    print(f"|---|---|--:|{'--:|' * (len(given.heights) + 1)}", flush=True)
    for kind in given.sets or [kind for kind, (macro, _) in SETS.items() if macro in macros]:
        for name in given.networks:
            for row in rows(name, kind, given.heights, getattr(torch, given.dtype), given.seconds):
                print(row, flush=True)


if __name__ == "__main__":
    main()
