"""Nudged phases: steps under the force less a nudge, of one phase or of two in lockstep at +beta and -beta."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed, Phase, rows_of
from ..relaxation.solver import step_method
from ..relaxation.step_methods import NudgeForce
from ..relaxation.steps import advance_, change
from ..tensors.states import Tensors, subtract, take

#: What is subtracted from the force on each of two phases.
Corrections = tuple[Sequence[Tensor | None], Sequence[Tensor | None]]


class NudgeMonitor:
    """Counts the steps of a nudged phase; one without a number of steps ends when nothing changes any more."""

    def __init__(self, phase: Phase, dtype: torch.dtype) -> None:
        self.phase = phase
        self.smallest = torch.finfo(dtype).eps / 8
        self.best = float("inf")
        self.stalled = 0

    def steps(self) -> range:
        """Return the steps to make at most."""
        return range(100_000 if self.phase.steps is None else self.phase.steps)

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Yield the number of a step and how many to make from it on, until the change is checked."""
        last = len(self.steps())
        size = last if self.phase.steps is not None else self.phase.chunk
        for k in range(0, last, max(1, size)):
            yield k, min(size, last - k)

    def is_due(self, k: int) -> bool:
        """Return whether to check the change at step k."""
        return self.phase.steps is None and k % self.phase.chunk == 0

    def has_converged(self, change: Tensor) -> bool:
        """Return whether the change has reached rounding, or falls no more; samples that diverged do not count."""
        now = float(change.masked_fill(~change.isfinite(), 0.0).max())
        self.stalled = 0 if now < self.best else self.stalled + 1
        self.best = min(self.best, now)
        return now <= self.smallest or self.stalled == 20


def nudged(
    net: Equations,
    free: Tensors,
    fixed: Fixed,
    targets: Tensors,
    beta: float,
    phase: Phase,
    nudge: NudgeForce | None = None,
) -> list[Tensor]:
    """Return the states after a nudged phase from the free ones, under F - beta ``nudge``, by default dC/dz."""
    nudge = nudge or net._cost_force
    states = [x.clone() for x in free]
    monitor = NudgeMonitor(phase, net.dtype)
    for k, count in monitor.chunks():
        if monitor.is_due(k):
            force = subtract(net._force(states, fixed), nudge(states, fixed, targets), beta)
            if monitor.has_converged(change(net, states, fixed, force, phase.step)):
                break
        net._nudged_steps_(states, fixed, targets, beta, nudge, count, phase.step)
    return states


def nudged_steps(
    net: Equations,
    states: list[Tensor],
    fixed: Fixed,
    targets: Tensors,
    beta: float,
    nudge: NudgeForce,
    count: int,
    step: Sequence[float],
    negative_from: int | None = None,
) -> None:
    """Make steps under F - beta ``nudge``, in place; from the sample ``negative_from`` on, beta is negative."""
    if net.graphs is not None and not net.graphs.within:

        def again(own: list[Tensor], at: Fixed, aims: Tensors) -> None:
            nudged_steps(net, own, at, aims, beta, nudge, count, step, negative_from)

        key = ("nudged", nudge == net._nudge, nudge == net._cost_force, beta, count, negative_from, *step)
        net.graphs.repeat(net, key, again, states, fixed, targets)
        return
    strength = beta if negative_from is None else opposed(beta, negative_from, states[0])
    method = step_method(net)
    for _ in range(count):
        method.nudged_step_(states, fixed, targets, nudge, strength, step)


def opposed(beta: float, negative_from: int, x: Tensor) -> Tensor:
    """Return the strength of each sample's nudge: beta, and from the sample ``negative_from`` on -beta: [batch]."""
    strength = x.new_full((len(x),), beta)
    strength[negative_from:] = -beta
    return strength


def tracking_steps(
    net: Equations,
    plus: list[Tensor],
    minus: list[Tensor],
    fixed: Fixed,
    targets: Tensors,
    beta: float,
    count: int,
    step: Sequence[float],
) -> None:
    """Make steps of two nudged phases, in place: F -+ beta dC/dz -+ (J_nc - J_nc^T)(m) v.

    m is their midpoint and v half of their difference.
    """
    if net.graphs is not None and not net.graphs.within:
        pairs = len(plus)

        def again(own: list[Tensor], at: Fixed, aims: Tensors) -> None:
            tracking_steps(net, own[:pairs], own[pairs:], at, aims, beta, count, step)

        net.graphs.repeat(net, ("tracking", beta, count, *step), again, [*plus, *minus], fixed, targets)
        return
    for _ in range(count):
        midpoint = [(p + m) / 2 for p, m in zip(plus, minus)]
        half = [(p - m) / 2 for p, m in zip(plus, minus)]
        correction = net._correction(midpoint, fixed, half)
        up = subtract(net._force(plus, fixed), net._cost_force(plus, fixed, targets), beta)
        down = subtract(net._force(minus, fixed), net._cost_force(minus, fixed, targets), -beta)
        advance_(net, plus, fixed, subtract(up, correction), step)
        advance_(net, minus, fixed, subtract(down, correction, -1.0), step)


# -------------------------------------------------------------------- two phases


class NudgedPair:
    """Two nudged phases from the free states on, each with steps of its own.

    They descend the energies in the metric of the network, where it has one.
    """

    descends = True

    def __init__(
        self, net: Equations, free: Tensors, fixed: Fixed, targets: Tensors, beta: float, step: Sequence[float]
    ) -> None:
        self.net, self.fixed, self.targets, self.beta, self.step = net, fixed, targets, beta, step
        self.nudge = self.nudge_of(net)
        self.plus, self.minus = self.copies(free)

    @staticmethod
    def nudge_of(net: Equations) -> NudgeForce:
        """Return what the nudge subtracts from the force."""
        return net._nudge

    def copies(self, free: Tensors) -> tuple[list[Tensor], list[Tensor]]:
        """Return the states of both phases at the start."""
        return [x.clone() for x in free], [x.clone() for x in free]

    def forces(self) -> tuple[list[Tensor], list[Tensor]]:
        """Return the force on each phase where it is now."""
        net, fixed = self.net, self.fixed
        up = subtract(net._force(self.plus, fixed), self.nudge(self.plus, fixed, self.targets), self.beta)
        down = subtract(net._force(self.minus, fixed), self.nudge(self.minus, fixed, self.targets), -self.beta)
        return up, down

    def change(self) -> Tensor:
        """Return the largest relative change of a state in the next step of either phase: [batch]."""
        up, down = self.forces()
        moved = change(self.net, self.plus, self.fixed, up, self.step)
        return torch.maximum(moved, change(self.net, self.minus, self.fixed, down, self.step))

    def steps_(self, count: int) -> None:
        """Make some steps of both phases, in place."""
        net, fixed, targets = self.net, self.fixed, self.targets
        net._nudged_steps_(self.plus, fixed, targets, self.beta, self.nudge, count, self.step)
        net._nudged_steps_(self.minus, fixed, targets, -self.beta, self.nudge, count, self.step)

    def finish_(self, phase: Phase) -> None:
        """End the phases where they are."""

    def health(self) -> dict[str, Tensor]:
        """Return what is reported of the phases of each sample: nothing."""
        return {}


class JointPair(NudgedPair):
    """Two nudged phases as one batch, the second one behind the first."""

    def copies(self, free: Tensors) -> tuple[list[Tensor], list[Tensor]]:
        """Return views of the states of one batch, in which each sample is twice."""
        self.batch = len(free[0])
        twice = torch.arange(self.batch, device=free[0].device).repeat(2)
        self.states = take(free, twice)
        self.both = rows_of(self.fixed, twice), take(self.targets, twice)
        return [x[: self.batch] for x in self.states], [x[self.batch :] for x in self.states]

    def steps_(self, count: int) -> None:
        """Make some steps of both phases, in place."""
        self.net._nudged_steps_(self.states, *self.both, self.beta, self.nudge, count, self.step, self.batch)


class CorrectedPair(NudgedPair):
    """Two nudged phases whose forces are corrected; every flow is taken for a force."""

    descends = False

    @staticmethod
    def nudge_of(net: Equations) -> NudgeForce:
        """Return dC/dz."""
        return net._cost_force

    def correction(self) -> Corrections:
        """Return the corrections that are subtracted from the force on each phase where it is now."""
        raise NotImplementedError

    def forces(self) -> tuple[list[Tensor], list[Tensor]]:
        """Return the corrected force on each phase where it is now."""
        (up, down), (left, right) = super().forces(), self.correction()
        return subtract(up, left), subtract(down, right)

    def steps_(self, count: int) -> None:
        """Make some steps of both phases, in place."""
        for _ in range(count):
            up, down = self.forces()
            advance_(self.net, self.plus, self.fixed, up, self.step)
            advance_(self.net, self.minus, self.fixed, down, self.step)


class HeldPair(CorrectedPair):
    """Two nudged phases with a correction that is held at the free states."""

    def copies(self, free: Tensors) -> tuple[list[Tensor], list[Tensor]]:
        """Return the states of both phases at the start; what the correction needs of them is computed once."""
        self.free, self.held = free, self.net._hold(free, self.fixed)
        return super().copies(free)

    def correction(self) -> Corrections:
        """Return (J_nc - J_nc^T)(z*) (z - z*) of each phase."""
        left = self.net._held_correction(self.held, self.fixed, [p - x for p, x in zip(self.plus, self.free)])
        right = self.net._held_correction(self.held, self.fixed, [m - x for m, x in zip(self.minus, self.free)])
        return left, right


class TrackingPair(CorrectedPair):
    """Two nudged phases with the correction of half of their difference, at their midpoint."""

    def correction(self) -> Corrections:
        """Return (J_nc - J_nc^T)(m) v, and its negative."""
        midpoint = [(p + m) / 2 for p, m in zip(self.plus, self.minus)]
        half = [(p - m) / 2 for p, m in zip(self.plus, self.minus)]
        up = self.net._correction(midpoint, self.fixed, half)
        return up, [None if part is None else -part for part in up]

    def steps_(self, count: int) -> None:
        """Make some steps of both phases, in place."""
        self.net._tracking_steps_(self.plus, self.minus, self.fixed, self.targets, self.beta, count, self.step)
