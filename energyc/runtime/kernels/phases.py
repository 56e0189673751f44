"""A network whose phases run in kernels where those take its states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from torch import Tensor

from ..equations.records import Fixed
from ..networks.network import EnergyNetwork
from ..relaxation.step_methods import NudgeForce
from ..tensors.states import Tensors


class PhaseKernels(Protocol):
    """The kernels of a network's phases, by name; ``pairs``: those of nudged phases take a batch of two phases."""

    names: Sequence[str]
    pairs: bool

    def serve(self, name: str, states: Tensors, products: str | None = None) -> bool:
        """Return whether a kernel takes these states and products; a warning says once why one does not."""

    def rounds(self, name: str) -> bool:
        """Return whether a kernel rounds the operands of a product where it is asked to."""

    def run(
        self,
        name: str,
        states: Tensors,
        given: Tensors,
        scalars: Sequence[float],
        steps: int,
        change: Tensor | None = None,
        products: str | None = None,
    ) -> bool:
        """Move the states in place; ``change`` [batch] becomes the relative change of the step that would follow.

        False where the kernels turn out not to work here: nothing is moved, and a warning says once why.
        """


class KernelNetwork(EnergyNetwork):
    """A network whose phases run in kernels where those take its states; elsewhere as torch operations."""

    kernels: PhaseKernels
    #: What the names of its own kernels begin with.
    _kernel_prefix = ""
    #: Whether they are the same in training, where a force may read the flag ``training``.
    _kernels_in_training = True
    #: The sizes of the sums over steps, and the params whose slopes steps back add up, each with the order in which its
    #: axes lie; where there are kernels for trajectories.
    _sum_sizes: tuple[tuple[int, ...], ...] = ()
    _totals: Mapping[str, tuple[int, ...]] = {}

    def _given(self, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The tensors that kernels read, in their order."""
        raise NotImplementedError

    def _serving(self, phase: str, states: Tensors) -> str | None:
        """The kernel of a phase, if it takes these states."""
        if self.training and not self._kernels_in_training:
            return None
        name = self._kernel_prefix + phase
        return name if self.kernels.serve(name, states, self.products) else None

    def _ran(
        self,
        phase: str,
        states: Tensors,
        fixed: Fixed,
        targets: Tensors,
        scalars: Sequence[float],
        steps: int,
        change: Tensor | None = None,
    ) -> bool:
        """Return whether the kernel of a phase took these states, and moved them."""
        name = self._serving(phase, states)
        if name is None:
            return False
        return self.kernels.run(name, states, self._given(fixed, targets), scalars, steps, change, self.products)

    def _rounds_steps(self, states: Tensors) -> bool:
        name = self._serving("sweeps" if self.relax_solver == "blocks" else "free", states)
        return name is None or self.kernels.rounds(name)

    @property
    def _joins(self) -> bool:
        return super()._joins and self.kernels.pairs

    def _steps_(self, states: list[Tensor], fixed: Fixed, first: int, count: int, step: Sequence[float]) -> None:
        phase = "sweeps" if self.relax_solver == "blocks" else "free"
        if self._holds(step) or not self._ran(phase, states, self._at(fixed, first), (), step, count):
            super()._steps_(states, fixed, first, count, step)

    def _residual(self, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
        change = states[0].new_empty(len(states[0]))
        if self.relax_measure != "residual" or not self._ran("free", states, fixed, (), step, 0, change):
            return super()._residual(states, fixed, step)
        done = change.device.type != "cpu" or bool(change.isfinite().all())
        return change if done else super()._residual(states, fixed, step)

    def _nudged_steps_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        beta: float,
        nudge: NudgeForce,
        count: int,
        step: Sequence[float],
        negative_from: int | None = None,
    ) -> None:
        usual = nudge == self._nudge or (nudge == self._cost_force and not self.descends)
        scalars = (beta, *step, float("inf") if negative_from is None else negative_from)
        if self._holds(step) or not (usual and self._ran("nudged", states, fixed, targets, scalars, count)):
            super()._nudged_steps_(states, fixed, targets, beta, nudge, count, step, negative_from)

    def _tracking_steps_(
        self,
        plus: list[Tensor],
        minus: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        beta: float,
        count: int,
        step: Sequence[float],
    ) -> None:
        if not self._ran("tracking", [*plus, *minus], fixed, targets, (beta, *step), count):
            super()._tracking_steps_(plus, minus, fixed, targets, beta, count, step)
