"""A network divided over ranks by heads and hidden units: what its phases communicate, counted and calculated.

``python -m benchmarks.sharded`` simulates two ranks in this process at a small size, compares states and gradients with
those of the whole network, and counts the numbers that would travel. Then it prints, from the sizes and ``flops per
step`` of the specs, what a step takes on 1, 8 and 64 GPUs under the stated assumptions, which are not measurements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

import energyc
from energyc.resources import folder
from energyc.runtime.equations.inputs import prepared
from energyc.runtime.nudging.contrast import energy_contrast

Tensors = dict[str, Tensor]

FLOPS = 160e12  # a second and GPU: 40 % of the 400e12 that an H100 is said to reach in tf32
LINKS = {8: (450e9, 10e-6), 64: (50e9, 30e-6)}  # bytes a second and GPU, seconds of latency: NVLink, InfiniBand
BATCH, NUMBER = 64, 4  # samples of a step in all, bytes of a number
FREE = 150  # steps of the free phase of both, as shipped


@dataclass(frozen=True)
class Division:
    """How a spec is divided: its dims, the axis of each divided param, the params that lead out of the divided part.

    ``state`` is the state whose force the ranks add up.
    """

    spec: str
    sizes: Mapping[str, int]
    divided: tuple[str, ...]
    axes: Mapping[str, int]
    outputs: tuple[str, ...]
    state: str = "z"


THICK = Division(
    folder("specs").joinpath("thick.energy").read_text().replace("A = D / H, F = 4 * D", "A = 2, F = 12"),
    {"T": 6, "D": 8, "H": 4, "A": 2, "F": 12},
    ("H", "F"),
    {"W_q": 0, "W_k": 0, "W_v": 0, "W_o": 0, "W1": 1, "b1": 0, "W2": 0},
    ("W_o", "W2"),
)
CET = Division(
    folder("specs").joinpath("cet.energy").read_text(),
    {"C": 1, "S": 12, "P": 4, "stride": 2, "split": 1, "D": 16, "H": 4, "A": 8, "M": 24},
    ("H", "M"),
    {"W_q": 0, "W_k": 0, "W_mem": 1},
    ("W_q", "W_k", "W_mem"),
)


@dataclass
class Wire:
    """Adds up tensors of all ranks, and counts the numbers of the sums."""

    numbers: int = 0

    def summed(self, parts: Sequence[Tensor]) -> Tensor:
        """Return the sum, which every rank gets."""
        self.numbers += parts[0].numel()
        return torch.stack(list(parts)).sum(0)


@dataclass
class Sharded:
    """A network of which each rank has some heads and hidden units, and all of the states."""

    division: Division
    ranks: int
    wire: Wire = field(default_factory=Wire)

    def __post_init__(self) -> None:
        self.whole = self._load({})
        for param in self.whole.params.values():  # as first drawn, some would leave the terms next to nothing
            torch.nn.init.normal_(param, std=0.3)
        self.parts = [self._part(rank) for rank in range(self.ranks)]
        self.bare = self._part(0)  # what every rank computes by itself
        with torch.no_grad():
            for name in self.division.outputs:
                self.bare.params[name].zero_()

    def _load(self, sizes: Mapping[str, int]) -> Any:
        return energyc.load(self.division.spec, dims={**self.division.sizes, **sizes}, dtype=torch.float64)

    def _part(self, rank: int) -> Any:
        part = self._load({dim: self.division.sizes[dim] // self.ranks for dim in self.division.divided})
        with torch.no_grad():
            for name, param in part.params.items():
                param.copy_(self.own(self.whole.params[name], name, rank))
        return part

    def own(self, value: Tensor, name: str, rank: int) -> Tensor:
        """Return a rank's share of a param, or of its gradient."""
        axis = self.division.axes.get(name)
        return value if axis is None else value.chunk(self.ranks, axis)[rank]

    def force(self, states: Tensors, clamps: Tensors) -> Tensors:
        """Return the force of the whole network, for which the ranks add up that on one state."""
        common = self.bare.force(states, clamps)
        name = self.division.state
        shares = [part.force(states, clamps)[name] - common[name] for part in self.parts[1:]]
        return {**common, name: self.wire.summed([self.parts[0].force(states, clamps)[name], *shares])}

    def correction(self, states: Tensors, direction: Tensors, clamps: Tensors) -> Tensor:
        """Return (J_nc - J_nc^T) direction."""
        return self.wire.summed(
            [part.correction(states, direction, clamps)[self.division.state] for part in self.parts]
        )

    def relaxed(self, states: Tensors, clamps: Tensors, steps: int, nudge: Any = None) -> Tensors:
        """Take steps, with ``nudge(states)`` added to the force, which every rank computes by itself."""
        sizes = dict(zip(self.whole.state_names, self.whole.relax_step, strict=True))
        for _ in range(steps):
            force = self.force(states, clamps)
            push = {} if nudge is None else nudge(states)
            moved = [states[name] + size * (force[name] + push.get(name, 0)) for name, size in sizes.items()]
            self.whole._project_(moved)
            states = dict(zip(self.whole.state_names, moved, strict=True))
        return states

    def contrast(self, plus: Tensors, minus: Tensors, clamps: Tensors, beta: float, rank: int) -> Tensors:
        """Return a rank's share of (dE/dtheta(plus) - dE/dtheta(minus)) / 2 beta, averaged; it communicates nothing."""
        net = self.parts[rank]
        fixed = prepared(net, clamps)
        sides = [[states[name] for name in net.state_names] for states in (plus, minus)]
        sums = energy_contrast(net, sides[0], sides[1], fixed)
        samples = len(sides[0][0])
        return {name: value / (2 * beta * samples) for name, value in sums.items()}


@dataclass(frozen=True)
class Counted:
    """The numbers that travelled, those that the formula gives, and the largest difference from the whole network."""

    what: str
    counted: int
    expected: int
    difference: float


def thick_counts(batch: int = 3, steps: int = 7) -> list[Counted]:
    """A free phase of ``thick``, and its Jacobian correction along a direction."""
    net = Sharded(THICK, ranks=2)
    whole, sizes = net.whole, THICK.sizes
    (length,), characters = whole.clamp_shapes["idx"]
    clamps = {"idx": torch.randint(characters, (batch, length))}
    expected = whole.relax(clamps, steps=steps).states
    reached = net.relaxed(whole.start(clamps), clamps, steps)
    free = Counted(
        "thick, free phase", net.wire.numbers, steps * batch * sizes["T"] * sizes["D"], far(reached, expected)
    )
    net.wire.numbers = 0
    direction = {"z": torch.randn_like(reached["z"])}
    turned = net.correction(reached, direction, clamps)
    exact = whole.correction(reached, direction, clamps)
    return [
        free,
        Counted("thick, correction", net.wire.numbers, batch * sizes["T"] * sizes["D"], far({"z": turned}, exact)),
    ]


def cet_counts(batch: int = 3, steps: int = 12, nudged: int = 5, beta: float = 0.5) -> list[Counted]:
    """A gradient of ``cet`` by centred EP."""
    net = Sharded(CET, ranks=2)
    whole, side = net.whole, CET.sizes["S"]
    clamps = {"x": torch.rand(batch, 1, side, side, dtype=torch.float64)}
    targets = {"t": torch.rand(batch, 1, side, side, dtype=torch.float64)}
    free = net.relaxed(whole.start(clamps), clamps, steps)

    def nudge(strength: float) -> Any:
        return lambda states: {"y": -strength * 2 * (states["y"] - targets["t"]) / targets["t"][0].numel()}

    plus, minus = (net.relaxed(free, clamps, nudged, nudge(b)) for b in (beta, -beta))
    exact = whole.gradients(clamps, targets, "centered-ep", steps=steps, tolerance=None, beta=beta, nudge_steps=nudged)
    grid = ((side - CET.sizes["P"]) // CET.sizes["stride"] + 1) ** 2
    moved = (steps + 2 * nudged) * batch * grid * CET.sizes["D"]
    sent, net.wire.numbers = net.wire.numbers, 0
    found, wanted = {}, {}
    for rank in range(net.ranks):
        for name, value in net.contrast(plus, minus, clamps, beta, rank).items():
            found[f"{name} at rank {rank}"] = value
            wanted[f"{name} at rank {rank}"] = net.own(exact.params[name], name, rank)
    return [
        Counted("cet, three phases", sent, moved, far(free, exact.states)),
        Counted("cet, the gradient", net.wire.numbers, 0, far(found, wanted)),
    ]


def far(found: Tensors, expected: Tensors) -> float:
    """The largest difference, relative to the largest entry."""
    return max(
        float((found[name] - value).detach().abs().max() / value.abs().max().clamp(min=1e-12))
        for name, value in expected.items()
    )


# ---------------------------------------------------------------- on paper


@dataclass(frozen=True)
class Load:
    """The work of a step and an update of a network: ``state`` numbers are what ranks add up for a sample."""

    name: str
    flops: float
    params: int
    state: int
    nudged: int


def loads() -> list[Load]:
    """The shipped sizes of ``thick`` and ``cet``."""
    found = []
    for name, shape, nudged in (("thick", (64, 128), 20), ("cet", (121, 768), 5)):
        facts = energyc.check(folder("specs") / f"{name}.energy").to_json()
        found.append(Load(name, facts["flops_per_step"], facts["params"], math.prod(shape), nudged))
    return found


def all_reduce(numbers: float, gpus: int) -> float:
    """Seconds of a ring all-reduce: 2 (p - 1) / p of the bytes over the slowest link, and its latency."""
    if gpus == 1:
        return 0.0
    bandwidth, latency = LINKS[gpus]
    return 2 * (gpus - 1) / gpus * numbers * NUMBER / bandwidth + latency


def on_paper() -> str:
    """The table of what a step takes where its heads are divided, and an update where its samples are."""
    heads = [
        "",
        "GPUs",
        "a step, us",
        "the sum of its force, us",
        "the steps of an update, ms",
        "the sum of its gradient, ms",
    ]
    rows = [heads, ["---"] * len(heads)]
    for load in loads():
        for gpus in (1, *LINKS):
            step = load.flops * BATCH / gpus / FLOPS
            force, gradient = all_reduce(load.state * BATCH, gpus), all_reduce(load.params, gpus)
            steps = (FREE + 2 * load.nudged) * step
            figures = (1e6 * step, 1e6 * force, 1e3 * steps, 1e3 * gradient)
            rows.append([load.name, str(gpus), *(f"{figure:.3g}" for figure in figures)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    """Print the counts and the table."""
    torch.manual_seed(0)
    for counted in (*thick_counts(), *cet_counts()):
        numbers = f"{counted.counted:,} numbers, by the formula {counted.expected:,}"
        print(f"{counted.what}: {numbers}; off by {counted.difference:.1e}")
    print(on_paper())


if __name__ == "__main__":
    main()
