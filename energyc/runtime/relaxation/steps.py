"""Plain steps: every state moves by its step size times its force, then to its proximal point.

That is the nearest point of its set, where no kink of an energy moves by a proximal step.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import chosen
from energyc.runtime.equations.records import Fixed
from energyc.runtime.tensors.states import Tensors, relative_change, unshared


def advance_(net: Equations, states: list[Tensor], fixed: Fixed, force: Tensors, step: Sequence[float]) -> None:
    """One step, in place: every state moves by its step times its force, then to its proximal point."""
    for x, f, h in zip(states, unshared(force, states), step):
        x.add_(f, alpha=h)
    if net.kinked:
        net._proximal_(states, fixed, step)
    else:
        net._project_(states)


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
    if net.graphs is not None and not (net.graphs.within or net.numbered or count < 2):

        def again(own: list[Tensor], at: Fixed, _: Tensors) -> None:
            free_steps(net, own, at, first, count, step)

        net.graphs.repeat(net, ("free", count, *step), again, states, fixed)
        return
    for number in range(first, first + count):
        chosen("solver", net.relax_solver).step_(net, states, net._at(fixed, number), step)
