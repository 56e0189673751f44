"""How far states are from rest: the residual of a step, by the measure that is set."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import chosen, part
from energyc.runtime.equations.records import Fixed
from energyc.runtime.relaxation.steps import advance_
from energyc.runtime.tensors.states import Tensors, norm, relative_change


def energy(net: Equations, states: Tensors, fixed: Fixed) -> Tensor:
    """The sum of the energy terms: [batch]."""
    return sum(net._terms(states, fixed), states[0].new_zeros(len(states[0])))


def residual(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """The measure of the next step: [batch]."""
    if net.graphs is not None and not net.graphs.within:
        left = states[0].new_empty(len(states[0]))

        def again(found: list[Tensor], at: Fixed, own: list[Tensor]) -> None:
            found[0].copy_(residual(net, own, at, step))

        net.graphs.repeat(net, ("residual", *step), again, [left], fixed, states)
        return left
    moved = [x.clone() for x in states]
    advance_(net, moved, fixed, net._force(states, fixed), step)
    return measured(net, states, moved, fixed, step)


def measured(net: Equations, before: Tensors, after: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """The ``relax_measure`` of a step: [batch], infinite where it is not a finite number."""
    return chosen("measure", net.relax_measure)(net, before, after, fixed, step)


@part("measure", "residual")
def relative_move(net: Equations, before: Tensors, after: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """The largest relative change of a state."""
    return relative_change(after, before)


@part("measure", "energy")
def energy_change(net: Equations, before: Tensors, after: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """The change of the energy in either direction."""
    value = (energy(net, after, fixed) - energy(net, before, fixed)).abs()
    return value.nan_to_num(float("inf"), float("inf"))


@part("measure", "gradient")
def gradient_norm(net: Equations, before: Tensors, after: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """The length of the gradients that flows name, of other states that of the move by the step size."""
    rest = [n not in net.sloped and h > 0 for n, h in zip(net.state_names, step)]  # a step of 0 holds a state
    moves = [(a - b) / h for own, a, b, h in zip(rest, after, before, step) if own]
    value = torch.stack([norm(x) for x in (*net._slopes(before, fixed), *moves)]).norm(dim=0)
    return value.nan_to_num(float("inf"), float("inf"))
