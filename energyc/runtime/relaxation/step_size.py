"""The step-size controller of a free phase whose step sizes are set."""

from __future__ import annotations

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed, Phase
from energyc.runtime.tensors.states import Tensors


@part("step size", "fixed")
class FixedStepSize:
    """The step sizes that are set; ``evaluations`` of the force went into their choice."""

    def __init__(self, net: Equations, states: Tensors, fixed: Fixed, phase: Phase) -> None:
        self.step = phase.step
        self.evaluations = 0

    def adapted(self, states: list[Tensor], fixed: Fixed, residual: Tensor, rows: Tensor, taken: int) -> Tensor:
        """The residual of all samples after a look at ``rows``, which may be put back, and ``taken`` steps."""
        return residual
