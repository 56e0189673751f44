"""The start of a free phase in rough steps, which bring the states near rest for less."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import chosen, part
from energyc.runtime.equations.products import with_products
from energyc.runtime.equations.records import Fixed, Phase
from energyc.runtime.relaxation.solver import Seen
from energyc.runtime.tensors.states import Tensors, per_sample, relative_change

#: A rough step gains where it is so many times as long as what rounding makes of it.
ABOVE_ROUNDING = 4.0


@part("start", "rounded")
def rounded_start(
    net: Equations, products: str, states: list[Tensor], fixed: Fixed, phase: Phase, seen: Seen | None = None
) -> int:
    """Steps with other ``products`` in place, of a network in float32; returns how many.

    Every ``phase.chunk`` steps the next step is made with rounded products and without. They end where half of the
    samples gain no more: the step is shorter than ``ABOVE_ROUNDING`` times the difference of both, or than the
    tolerance. A sample whose step is no shorter than at the last look goes back there. A chunk of ``phase.max_steps``
    at least is left.
    """
    if net.dtype != torch.float32 or products == net.products or not net._rounds_steps(states):
        return 0
    taken, goal = 0, phase.tolerance or 0.0
    last = states[0].new_full((len(states[0]),), float("inf"))
    while taken + 2 * phase.chunk <= phase.max_steps:
        kept = [x.clone() for x in states]
        with with_products(net, products):
            chosen("solver", net.relax_solver).walk_(net, states, fixed, taken, phase.chunk, phase.step, seen)
            rough = ahead(net, states, fixed, taken, phase.step)
        taken += phase.chunk
        plain = ahead(net, states, fixed, taken, phase.step)
        left = relative_change(plain, states)
        gains = (left < last) & (left > goal) & (left > ABOVE_ROUNDING * relative_change(rough, plain))
        for x, before in zip(states, kept):
            x.copy_(torch.where(per_sample(left < last, x), x, before))
        last = torch.minimum(left, last)
        if 2 * int(gains.sum()) <= len(gains):
            break
    return taken


def ahead(net: Equations, states: Tensors, fixed: Fixed, number: int, step: Sequence[float]) -> list[Tensor]:
    """Where the next plain step leads."""
    moved = [x.clone() for x in states]
    net._steps_(moved, fixed, number, 1, step)
    return moved
