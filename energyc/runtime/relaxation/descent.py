"""Step methods: the interface, projected gradient descent, and block coordinate descent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed
from ..tensors.states import Rate, Tensors, per_sample, subtract
from .steps import advance_

#: Called before each step with its number and the states. It may return the force there, which the step then uses.
StepCallback = Callable[[int, list[Tensor]], Tensors | None]
#: What a nudge subtracts from the force, of states, what is fixed, and targets.
NudgeForce = Callable[[Tensors, Fixed, Tensors], Sequence[Tensor | None]]


class StepMethod(ABC):
    """How a network moves its states from one step to the next, in place.

    ``uses_known_force``: whether a step can use a force that is known at the states already.
    """

    uses_known_force = False

    def __init__(self, net: Equations) -> None:
        self.net = net

    @abstractmethod
    def step_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """Make one step of a free phase; ``step`` is the step size of each state."""

    @abstractmethod
    def nudged_step_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        nudge: NudgeForce,
        strength: float | Tensor,
        step: Sequence[float],
    ) -> None:
        """Make one step of a nudged phase, under F - strength ``nudge``; the strength may be one for each sample."""

    def steps_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        first: int,
        count: int,
        step: Sequence[float],
        callback: StepCallback | None = None,
    ) -> None:
        """Make ``count`` steps of a free phase, the first of them with the number ``first``.

        Without a callback the network makes them together.
        """
        net = self.net
        if callback is None:
            net._steps_(states, fixed, first, count, step)
            return
        for number in range(first, first + count):
            force = callback(number, states)
            if force is None or not self.uses_known_force:
                self.step_(states, net._at(fixed, number), step)
            else:
                advance_(net, states, fixed, force, step)


class GradientDescent(StepMethod):
    """Projected gradient descent: all states move at once."""

    uses_known_force = True

    def step_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """Make one plain step."""
        advance_(self.net, states, fixed, self.net._force(states, fixed), step)

    def nudged_step_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        nudge: NudgeForce,
        strength: float | Tensor,
        step: Sequence[float],
    ) -> None:
        """Make one plain step under F - strength ``nudge``."""
        force = subtract(self.net._force(states, fixed), nudge(states, fixed, targets), strength)
        advance_(self.net, states, fixed, force, step)


class BlockDescent(StepMethod):
    """Block coordinate descent: a sweep in place of a step moves block after block, the others held.

    Where the force on a state is ``b - D z`` with the other blocks held, D > 0, the state moves to the minimiser of the
    energy: ``b / D`` on its set, ``z + F / D`` before. That is a plain step of size 1 / D. Other states make a plain
    step of the size that is set.
    """

    def step_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """Make one sweep."""
        for number in range(len(self.net.blocks)):
            self.move_block_(number, states, fixed, step)

    def nudged_step_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        nudge: NudgeForce,
        strength: float | Tensor,
        step: Sequence[float],
    ) -> None:
        """Make one sweep under F - strength ``nudge``, from the last block to the first: outputs come first.

        The slope of a squared error is added to D. Another nudge is held while its block moves.
        """
        net = self.net
        is_cost = nudge == net._cost_force or (nudge == net._nudge and not net.descends)
        for number in reversed(range(len(net.blocks))):
            if is_cost and net.cost_slopes.keys().isdisjoint(net.blocks[number]):
                self.move_block_(number, states, fixed, step)
            else:
                pushes = nudge(states, fixed, targets)
                slopes = net.cost_slopes if is_cost else {}
                self.move_block_(number, states, fixed, step, pushes, strength, slopes)

    def move_block_(
        self,
        number: int,
        states: list[Tensor],
        fixed: Fixed,
        step: Sequence[float],
        pushes: Sequence[Tensor | None] = (),
        strength: float | Tensor = 0.0,
        push_slopes: Mapping[int, float | None] = {},
    ) -> None:
        """Move a block under F - strength ``pushes``; a state whose step size is 0 is held.

        ``push_slopes`` are the slopes of pushes that are affine as the force is.
        """
        net = self.net
        block, given = net.blocks[number], net._block(number, states, fixed)
        computed, sizes = iter(given[len(block) :]), dict[int, Rate]()
        for k, force in zip(block, given):
            slope: Rate | None = net.block_slopes.get(k)
            if k in net.block_slopes and slope is None:
                slope = next(computed)
            if step[k] == 0:
                continue
            push = pushes[k] if pushes else None
            if push is not None:
                factor = per_sample(strength, force) if isinstance(strength, Tensor) else strength
                force = force - factor * push
                slope = None if slope is None else total_slope(slope, factor, push_slopes.get(k))
            size = step[k] if slope is None else 1 / slope
            sizes[k] = size
            if isinstance(size, Tensor):
                states[k].addcmul_(force, size)
            else:
                states[k].add_(force, alpha=size)
        if sizes and net.constrained:
            net._proximal_block_(number, states, fixed, sizes)


def total_slope(slope: Rate, factor: Rate, push_slope: float | None) -> Rate:
    """Return D of a force less ``factor`` times a push of this slope; D alone where that is not positive or unknown."""
    if not push_slope:
        return slope
    total = slope + factor * push_slope
    if isinstance(total, Tensor):
        return torch.where(total > 0, total, slope)
    return total if total > 0 else slope
