"""A nudged phase: steps under the force less a nudge, for a number of steps or to convergence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import chosen
from energyc.runtime.equations.records import Fixed, Phase
from energyc.runtime.relaxation.solver import Drive
from energyc.runtime.relaxation.steps import advance_, change
from energyc.runtime.tensors.states import Tensors, subtract


class NudgeMonitor:
    """Counts the steps of a nudged phase; one without a number of steps ends when nothing changes any more."""

    def __init__(self, nudge: Phase, dtype: torch.dtype) -> None:
        self.nudge = nudge
        self.smallest = torch.finfo(dtype).eps / 8
        self.best = float("inf")
        self.stalled = 0

    def steps(self) -> range:
        """The steps to take at most."""
        return range(100_000 if self.nudge.steps is None else self.nudge.steps)

    def strides(self) -> Iterator[tuple[int, int]]:
        """The number of a step and how many to take from it on, until there is a change to look at."""
        last = len(self.steps())
        stride = last if self.nudge.steps is not None else self.nudge.chunk
        for k in range(0, last, max(1, stride)):
            yield k, min(stride, last - k)

    def is_due(self, k: int) -> bool:
        """Whether to measure the change at step k."""
        return self.nudge.steps is None and k % self.nudge.chunk == 0

    def settled(self, change: Tensor) -> bool:
        """Whether the change has reached rounding, or falls no more; samples that diverged have none."""
        now = float(change.masked_fill(~change.isfinite(), 0.0).max())
        self.stalled = 0 if now < self.best else self.stalled + 1
        self.best = min(self.best, now)
        return now <= self.smallest or self.stalled == 20


def nudged(
    net: Equations, free: Tensors, fixed: Fixed, targets: Tensors, beta: float, nudge: Phase, drive: Drive | None = None
) -> list[Tensor]:
    """The states after a nudged phase from the free ones, under F - beta ``drive``, which is dC/dz by default."""
    drive = drive or net._cost_force
    states = [x.clone() for x in free]
    monitor = NudgeMonitor(nudge, net.dtype)
    for k, count in monitor.strides():
        if monitor.is_due(k):
            force = subtract(net._force(states, fixed), drive(states, fixed, targets), beta)
            if monitor.settled(change(net, states, fixed, force, nudge.step)):
                break
        net._nudged_steps_(states, fixed, targets, beta, drive, count, nudge.step)
    return states


def nudged_steps(
    net: Equations,
    states: list[Tensor],
    fixed: Fixed,
    targets: Tensors,
    beta: float,
    drive: Drive,
    count: int,
    step: Sequence[float],
    turned: int | None = None,
) -> None:
    """Steps under F - beta ``drive``, in place; from the sample ``turned`` on, beta is negative."""
    if net.graphs is not None and not net.graphs.within:

        def again(own: list[Tensor], at: Fixed, aims: Tensors) -> None:
            nudged_steps(net, own, at, aims, beta, drive, count, step, turned)

        key = ("nudged", drive == net._nudge, drive == net._cost_force, beta, count, turned, *step)
        net.graphs.repeat(net, key, again, states, fixed, targets)
        return
    strength = beta if turned is None else opposed(beta, turned, states[0])
    for _ in range(count):
        chosen("solver", net.relax_solver).nudged_(net, states, fixed, targets, drive, strength, step)


def opposed(beta: float, turned: int, x: Tensor) -> Tensor:
    """The strength of each sample's nudge: beta, and from the sample ``turned`` on -beta: [batch]."""
    strength = x.new_full((len(x),), beta)
    strength[turned:] = -beta
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
    """Steps of two nudged phases, in place: F -+ beta dC/dz -+ (J_nc - J_nc^T)(m) v.

    m is their midpoint and v half of what separates them.
    """
    if net.graphs is not None and not net.graphs.within:
        pairs = len(plus)

        def again(own: list[Tensor], at: Fixed, aims: Tensors) -> None:
            tracking_steps(net, own[:pairs], own[pairs:], at, aims, beta, count, step)

        net.graphs.repeat(net, ("tracking", beta, count, *step), again, [*plus, *minus], fixed, targets)
        return
    for _ in range(count):
        middle = [(p + m) / 2 for p, m in zip(plus, minus)]
        half = [(p - m) / 2 for p, m in zip(plus, minus)]
        turn = net._correction(middle, fixed, half)
        up = subtract(net._force(plus, fixed), net._cost_force(plus, fixed, targets), beta)
        down = subtract(net._force(minus, fixed), net._cost_force(minus, fixed, targets), -beta)
        advance_(net, plus, fixed, subtract(up, turn), step)
        advance_(net, minus, fixed, subtract(down, turn, -1.0), step)
