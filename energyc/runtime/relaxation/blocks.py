"""Block descent: the states move block after block, each to its minimiser while the others are held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed
from energyc.runtime.relaxation.solver import Drive, GradientDescent
from energyc.runtime.tensors.states import Rate, Tensors, per_sample


@part("solver", "blocks")
class Blocks(GradientDescent):
    """Sweeps in the place of steps.

    Where the force on a state is ``b - D z`` with the other blocks held, D > 0, it moves to the minimiser of the
    energy: ``b / D`` on its set, ``z + F / D`` before. That is a plain step of size 1 / D. Other states make a plain
    step of the size that is set.
    """

    takes_force = False

    @staticmethod
    def step_(net: Equations, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """One sweep."""
        for number in range(len(net.blocks)):
            move_block_(net, number, states, fixed, step)

    @staticmethod
    def nudged_(
        net: Equations,
        states: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        drive: Drive,
        strength: float | Tensor,
        step: Sequence[float],
    ) -> None:
        """One sweep under F - strength ``drive``, from the last block to the first: outputs come first.

        The slope of a squared error is added to D. Another drive is held while its block moves.
        """
        is_cost = drive == net._cost_force or (drive == net._nudge and not net.descends)
        for number in reversed(range(len(net.blocks))):
            if is_cost and net.cost_slopes.keys().isdisjoint(net.blocks[number]):
                move_block_(net, number, states, fixed, step)
            else:
                pushes = drive(states, fixed, targets)
                move_block_(net, number, states, fixed, step, pushes, strength, net.cost_slopes if is_cost else {})


def move_block_(
    net: Equations,
    number: int,
    states: list[Tensor],
    fixed: Fixed,
    step: Sequence[float],
    pushes: Sequence[Tensor | None] = (),
    strength: float | Tensor = 0.0,
    bends: Mapping[int, float | None] = {},
) -> None:
    """One move of a block under F - strength ``pushes``, in place; a state whose step is 0 is held.

    ``bends`` are the slopes of pushes that are affine as the force is.
    """
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
            slope = None if slope is None else bent(slope, factor, bends.get(k))
        size = step[k] if slope is None else 1 / slope
        sizes[k] = size
        if isinstance(size, Tensor):
            states[k].addcmul_(force, size)
        else:
            states[k].add_(force, alpha=size)
    if sizes and net.constrained:
        net._proximal_block_(number, states, fixed, sizes)


def bent(slope: Rate, factor: Rate, bend: float | None) -> Rate:
    """D of a force less ``factor`` times a push of this slope; where that is not positive, or not known, D alone."""
    if not bend:
        return slope
    whole = slope + factor * bend
    if isinstance(whole, Tensor):
        return torch.where(whole > 0, whole, slope)
    return whole if whole > 0 else slope
