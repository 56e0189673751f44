"""Observers of a free phase: they are called before each of its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Fixed
from energyc.runtime.relaxation.measures import energy, residual
from energyc.runtime.tensors.states import Tensors, put_


class Moment(NamedTuple):
    """Before a step: its number, the samples that take it (their rows; None: all) with their states, and the whole."""

    number: int
    rows: Tensor | None
    part: list[Tensor]
    states: list[Tensor]
    fixed: Fixed
    step: Sequence[float]

    @property
    def everyone(self) -> list[Tensor]:
        """The states of all samples; those of ``rows`` are put back among them, in place."""
        return self.part if self.rows is None else put_(self.states, self.rows, self.part)


#: Looks at a step of a free phase. It may give the force there, if it had to compute it.
Observer = Callable[[Moment], Tensors | None]


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

    def __call__(self, moment: Moment) -> None:
        self.record(moment.everyone, moment.fixed, moment.step)

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
