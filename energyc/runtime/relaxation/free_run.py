"""A free phase under way, and its observers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed
from ..tensors.states import Tensors, put_
from .steps import energy, residual


class FreeRun:
    """The state of a free phase: the states of all samples, and the ``rows`` of those that still move.

    ``residual`` and ``count`` are the residual and the steps of each sample: [batch]. ``taken`` is the number of steps
    so far, ``extra`` that of evaluations of the force beside them, ``step`` the step size of each state.
    """

    def __init__(self, net: Equations, states: list[Tensor], fixed: Fixed, step: tuple[float, ...]) -> None:
        self.net, self.states, self.fixed, self.step = net, states, fixed, step
        self.rows = torch.arange(len(states[0]), device=net.device)
        self.residual = torch.full((len(self.rows),), float("inf"), device=net.device, dtype=net.dtype)
        self.count = torch.zeros_like(self.rows)
        self.taken = self.extra = 0

    @property
    def evaluations(self) -> int:
        """The evaluations of the force so far."""
        return self.taken + self.extra

    @property
    def moving(self) -> Tensor | None:
        """The rows of the samples that still move; None: all."""
        return None if len(self.rows) == len(self.count) else self.rows

    def with_moving(self, part: list[Tensor]) -> list[Tensor]:
        """Return the states of all samples, those that still move put back among them in place."""
        return part if self.moving is None else put_(self.states, self.rows, part)


class Observer(ABC):
    """Observer of the steps of a free phase."""

    @abstractmethod
    def before_step(self, run: FreeRun, number: int, states: list[Tensor]) -> Tensors | None:
        """Look at the states of the samples that take a step; return the force there where it is known."""

    def steps_(self, run: FreeRun, states: list[Tensor], fixed: Fixed, count: int) -> bool:
        """Make some steps itself, and return whether it did."""
        return False


class Trace(Observer):
    """Keeps energy, residual or states before each step; ``record`` adds those at the end.

    Raises ValueError for another name.
    """

    def __init__(self, net: Equations, names: Sequence[str]) -> None:
        for name in names:
            if name not in ("energy", "residual", *net.state_names):
                known = ", ".join(net.state_names)
                raise ValueError(f"cannot record {name!r}; there are energy, residual, {known}")
        self.net = net
        self.values: dict[str, list[Tensor]] = {name: [] for name in names}

    def before_step(self, run: FreeRun, number: int, states: list[Tensor]) -> None:
        """Record all samples."""
        self.record(run.with_moving(states), run.fixed, run.step)

    def record(self, states: Tensors, fixed: Fixed, step: Sequence[float]) -> None:
        """Append what is kept of these states."""
        for name, values in self.values.items():
            if name == "energy":
                values.append(energy(self.net, states, fixed))
            elif name == "residual":
                values.append(residual(self.net, states, fixed, step))
            else:
                values.append(states[self.net.state_names.index(name)].clone())

    def stacked(self) -> dict[str, Tensor]:
        """Return what was kept by name: [steps + 1, batch, ...] each."""
        return {name: torch.stack(values) for name, values in self.values.items()}
