"""An observer of a free phase that keeps what happens."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Fixed
from energyc.runtime.relaxation.free_phase import FreeRun
from energyc.runtime.relaxation.measures import energy, residual
from energyc.runtime.tensors.states import Tensors


class Trace:
    """An observer that keeps energy, residual or states; ``record`` adds those at the end.

    Raises ValueError for another name.
    """

    def __init__(self, net: Equations, names: Sequence[str]) -> None:
        for name in names:
            if name not in ("energy", "residual", *net.state_names):
                known = ", ".join(net.state_names)
                raise ValueError(f"cannot record {name!r}; there are energy, residual, {known}")
        self.net = net
        self.values: dict[str, list[Tensor]] = {name: [] for name in names}

    def __call__(self, run: FreeRun, number: int, part: list[Tensor]) -> None:
        self.record(run.with_part(part), run.fixed, run.step)

    def record(self, states: Tensors, fixed: Fixed, step: Sequence[float]) -> None:
        """Append what the states are now."""
        for name, values in self.values.items():
            if name == "energy":
                values.append(energy(self.net, states, fixed))
            elif name == "residual":
                values.append(residual(self.net, states, fixed, step))
            else:
                values.append(states[self.net.state_names.index(name)].clone())

    def stacked(self) -> dict[str, Tensor]:
        """[steps + 1, batch, ...] each."""
        return {name: torch.stack(values) for name, values in self.values.items()}
