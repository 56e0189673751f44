"""The cases that are compared: networks at their sizes, and one of them with its params, inputs and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from energyc import pipeline

SPECS = Path(__file__).parents[2] / "specs"
#: Steps are timed in a phase of so many.
STEPS = 10
#: Relative residuals at which an equilibrium and its adjoint are at rest.
TOLERANCES = {torch.float64: 1e-13, torch.float32: 1e-6}
Tensors = dict[str, Tensor]
#: A way to do a task; it returns what it computed, by name.
Way = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class Case:
    """A network at a size: phases of exactly so many steps, and the rules that are compared by a whole update.

    Where a free phase ends ``early``, ``steps`` is the most it makes on its way to the problem's tolerance.
    """

    spec: str
    batch: int
    steps: int
    rules: tuple[str, ...]
    nudges: int = 0
    beta: float = 0.5
    step: float | None = None
    early: bool = False
    choices: Mapping[str, int] = field(default_factory=dict)
    tiny: Mapping[str, int] = field(default_factory=dict)

    def choice(self, quick: bool, tolerance: float) -> pipeline.Choices:
        """Sizes and settings, tiny ones where it shall be quick."""
        relax: dict[str, object] = {"steps": self.steps, "tolerance": "none"}
        if self.early:
            relax |= {"tolerance": tolerance, "max_steps": self.steps, "exit": "early", "chunk": 5}
        if self.step is not None:
            relax["step"] = self.step
        nudge = {"beta": self.beta, "steps": self.nudges, "snapshots": "none"} if self.nudges else {}
        settings = {f"relax.{k}": v for k, v in relax.items()} | {f"nudge.{k}": v for k, v in nudge.items()}
        return pipeline.Choices(None, {**(self.tiny if quick else self.choices), **settings})


CASES = {
    "hopfield": Case(
        "hopfield", 128, 60, ("centered-ep", "bptt", "implicit"), 15, tiny={"I": 12, "J": 9, "K": 4}, step=0.5
    ),
    "hopfield_conv": Case(
        "hopfield_conv", 8, 40, ("centered-ep", "tbptt"), 12, tiny={"C": 1, "S": 16, "C1": 3, "C2": 4, "K": 3}
    ),
    "thick": Case(
        "thick",
        16,
        30,
        ("tracking-aep", "bptt", "implicit"),
        20,
        1.0,
        0.4,
        tiny={"T": 6, "D": 8, "H": 2},
    ),
    "cet": Case(
        "cet",
        16,
        30,
        ("centered-ep", "tbptt"),
        5,
        choices={"C": 1, "S": 32, "P": 8, "stride": 4, "split": 2, "D": 128, "H": 4, "A": 32, "M": 512},
        tiny={"C": 1, "S": 12, "P": 4, "stride": 2, "D": 8, "H": 2, "A": 4, "M": 10},
    ),
    "et": Case(
        "et_image",
        8,
        12,
        ("bptt",),
        choices={"C": 3, "S": 32, "P": 4, "D": 256, "H": 4, "Y": 64, "K": 1024},
        tiny={"C": 1, "S": 8, "P": 2, "D": 8, "H": 2, "Y": 4, "K": 12},
    ),
    "deq": Case("deq", 128, 50, ("implicit", "bptt"), early=True, tiny={"D": 16}),
    "modern_hopfield": Case("modern_hopfield", 128, 5, ("centered-ep",), 5, tiny={"D": 8, "M": 6}),
    "edges": Case("et_anomaly", 1, 1, ("bptt",), tiny={"N": 9, "E": 20, "F": 3, "D": 8, "Y": 4, "K": 5, "U": 6}),
}


@dataclass(frozen=True)
class Problem:
    """A case in a dtype: the generated network, its params, drawn inputs, and where its states start."""

    case: Case
    network: Any
    net: Any
    params: Tensors
    clamps: Tensors
    targets: Tensors
    states: Tensors
    sizes: Mapping[str, int]

    @property
    def batch(self) -> int:
        """The number of samples."""
        return len(next(iter(self.states.values())))

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of states and params."""
        return next(iter(self.states.values())).dtype

    @property
    def step(self) -> dict[str, float]:
        """How far a step goes along the force of each state."""
        return dict(zip(self.net.state_shapes, self.net.relax_step, strict=True))

    @property
    def tolerance(self) -> float:
        """The relative residual to which equilibria and their adjoints are solved."""
        return TOLERANCES[self.dtype]


def problem(case: Case, dtype: torch.dtype, quick: bool) -> Problem:
    """The case with random inputs, the same in either dtype."""
    network = pipeline.resolve(pipeline.read(SPECS / f"{case.spec}.energy"), case.choice(quick, TOLERANCES[dtype]))
    compiled = pipeline.emit(network, case.rules)
    net = pipeline.instantiate(compiled, "cpu", torch.float64, 0)
    batch = 3 if quick else case.batch
    random = torch.Generator().manual_seed(1)

    def drawn(shapes: Mapping[str, tuple[tuple[int, ...], int | None]]) -> Tensors:
        return {
            name: torch.randint(over, (batch, *shape), generator=random)
            if over
            else torch.rand(batch, *shape, generator=random, dtype=torch.float64)
            for name, (shape, over) in shapes.items()
        }

    clamps, targets = drawn(net.clamp_shapes), drawn(net.target_shapes)
    if "hidden" in clamps:
        clamps["hidden"] = (clamps["hidden"] < 0.5).double()
    net.to(dtype)
    clamps, targets = (
        {name: x.to(dtype) if x.is_floating_point() else x for name, x in given.items()} for given in (clamps, targets)
    )
    params = {name: value.detach().clone() for name, value in net.params.items()}
    sizes = {name: size.value for name, size in network.sizes.items()}
    return Problem(case, network, net, params, clamps, targets, net.start(clamps), sizes)
