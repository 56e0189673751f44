"""Plain steps: every state moves by its step size times its force, then to its proximal point.

That is the nearest point of its set, where no kink of an energy moves by a proximal step.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Fixed
from energyc.runtime.tensors.states import Tensors, relative_change


def advance_(net: Equations, states: list[Tensor], fixed: Fixed, force: Tensors, step: Sequence[float]) -> None:
    """One step, in place: every state moves by its step times its force, then to its proximal point."""
    for x, f, h in zip(states, force, step):
        x.add_(f, alpha=h)
    net._proximal_(states, fixed, step)


def projected(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float]) -> list[Tensor]:
    """Where a plain step leads from some states."""
    moved = [x + h * f for x, f, h in zip(states, net._force(states, fixed), step)]
    net._proximal_(moved, fixed, step)
    return moved


def change(net: Equations, states: Tensors, fixed: Fixed, force: Tensors, step: Sequence[float]) -> Tensor:
    """The largest relative change of a state in one step: [batch]."""
    moved = [x.clone() for x in states]
    advance_(net, moved, fixed, force, step)
    return relative_change(moved, states)


def free_steps(
    net: Equations, states: list[Tensor], fixed: Fixed, first: int, count: int, step: Sequence[float]
) -> None:
    """Steps of a free phase in place, the first of them with the number ``first``."""

    def some(own: list[Tensor], at: Fixed, _: Tensors) -> None:
        for number in range(first, first + count):
            net._step_(own, net._at(at, number), step)

    if net.numbered or count < 2:
        some(states, fixed, ())
    else:
        net._repeat_(("free", count, *step), some, states, fixed)
