"""Two nudged phases in lockstep, at +beta and -beta: apart, as one batch, with a correction."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed
from energyc.runtime.relaxation.solver import Drive
from energyc.runtime.relaxation.steps import advance_, change
from energyc.runtime.tensors.states import Tensors, subtract, take

#: What is taken from the force on each of two phases.
Corrections = tuple[Sequence[Tensor | None], Sequence[Tensor | None]]


class NudgedPair:
    """Two nudged phases from the free states on, each with steps of its own.

    They go down the energies in the metric of the network, where it has one.
    """

    descends = True

    def __init__(
        self, net: Equations, free: Tensors, fixed: Fixed, targets: Tensors, beta: float, step: Sequence[float]
    ) -> None:
        self.net, self.fixed, self.targets, self.beta, self.step = net, fixed, targets, beta, step
        self.drive = self.drive_of(net)
        self.plus, self.minus = self.copies(free)

    @staticmethod
    def drive_of(net: Equations) -> Drive:
        """The drive of the nudge, which is subtracted from the force."""
        return net._nudge

    def copies(self, free: Tensors) -> tuple[list[Tensor], list[Tensor]]:
        """The states of both phases at the start."""
        return [x.clone() for x in free], [x.clone() for x in free]

    def forces(self) -> tuple[list[Tensor], list[Tensor]]:
        """The force on each phase where it is now."""
        net, fixed = self.net, self.fixed
        up = subtract(net._force(self.plus, fixed), self.drive(self.plus, fixed, self.targets), self.beta)
        down = subtract(net._force(self.minus, fixed), self.drive(self.minus, fixed, self.targets), -self.beta)
        return up, down

    def change(self) -> Tensor:
        """The largest relative change of a state in the next step of either phase: [batch]."""
        up, down = self.forces()
        moved = change(self.net, self.plus, self.fixed, up, self.step)
        return torch.maximum(moved, change(self.net, self.minus, self.fixed, down, self.step))

    def steps_(self, count: int) -> None:
        """Some steps of both phases, in place."""
        net, fixed, targets = self.net, self.fixed, self.targets
        net._nudged_steps_(self.plus, fixed, targets, self.beta, self.drive, count, self.step)
        net._nudged_steps_(self.minus, fixed, targets, -self.beta, self.drive, count, self.step)


@part("nudges", "together")
class JointPair(NudgedPair):
    """Two nudged phases as one batch, the second one behind the first."""

    def copies(self, free: Tensors) -> tuple[list[Tensor], list[Tensor]]:
        """Views of the states of one batch, in which each sample is twice."""
        self.batch = len(free[0])
        twice = torch.arange(self.batch, device=free[0].device).repeat(2)
        self.states = take(free, twice)
        self.both = self.fixed.rows(twice), take(self.targets, twice)
        return [x[: self.batch] for x in self.states], [x[self.batch :] for x in self.states]

    def steps_(self, count: int) -> None:
        """Some steps of both phases, in place."""
        self.net._nudged_steps_(self.states, *self.both, self.beta, self.drive, count, self.step, self.batch)


class CorrectedPair(NudgedPair):
    """Two nudged phases whose forces are corrected; every flow is taken for a force."""

    descends = False

    @staticmethod
    def drive_of(net: Equations) -> Drive:
        """dC/dz."""
        return net._cost_force

    def correction(self) -> Corrections:
        """The corrections that are subtracted from the force on each phase where it is now."""
        raise NotImplementedError

    def forces(self) -> tuple[list[Tensor], list[Tensor]]:
        """The corrected force on each phase where it is now."""
        (up, down), (left, right) = super().forces(), self.correction()
        return subtract(up, left), subtract(down, right)

    def steps_(self, count: int) -> None:
        """Some steps of both phases, in place."""
        for _ in range(count):
            up, down = self.forces()
            advance_(self.net, self.plus, self.fixed, up, self.step)
            advance_(self.net, self.minus, self.fixed, down, self.step)


class HeldPair(CorrectedPair):
    """Two nudged phases with a correction that is held at the free states."""

    def copies(self, free: Tensors) -> tuple[list[Tensor], list[Tensor]]:
        """The states of both phases at the start; what the correction needs of them is computed once."""
        self.free, self.held = free, self.net._hold(free, self.fixed)
        return super().copies(free)

    def correction(self) -> Corrections:
        """(J_nc - J_nc^T)(z*) (z - z*) of each phase."""
        left = self.net._held_correction(self.held, self.fixed, [p - x for p, x in zip(self.plus, self.free)])
        right = self.net._held_correction(self.held, self.fixed, [m - x for m, x in zip(self.minus, self.free)])
        return left, right


class TrackingPair(CorrectedPair):
    """Two nudged phases with the correction of half of what separates them, at their midpoint."""

    def correction(self) -> Corrections:
        """(J_nc - J_nc^T)(m) v, and its opposite."""
        midpoint = [(p + m) / 2 for p, m in zip(self.plus, self.minus)]
        half = [(p - m) / 2 for p, m in zip(self.plus, self.minus)]
        up = self.net._correction(midpoint, self.fixed, half)
        return up, [None if part is None else -part for part in up]

    def steps_(self, count: int) -> None:
        """Some steps of both phases, in place."""
        self.net._tracking_steps_(self.plus, self.minus, self.fixed, self.targets, self.beta, count, self.step)
