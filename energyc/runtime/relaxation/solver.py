"""The solver of a free phase: projected gradient descent, which other solvers change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed
from energyc.runtime.relaxation.steps import advance_
from energyc.runtime.tensors.states import Tensors, subtract

#: Called before each step of a solver: its number, the states. It may give the force there.
Seen = Callable[[int, list[Tensor]], Tensors | None]
#: What a nudge subtracts from the force, of states, what is fixed, and targets.
Drive = Callable[[Tensors, Fixed, Tensors], Sequence[Tensor | None]]


@part("solver", "gradient")
class GradientDescent:
    """Projected gradient descent; all states move in place.

    ``takes_force``: a step can be made from a force that is known at the states already.
    """

    takes_force = True

    @staticmethod
    def step_(net: Equations, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """One step."""
        advance_(net, states, fixed, net._force(states, fixed), step)

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
        """One step of a nudged phase, under F - strength ``drive``: a plain one."""
        force = subtract(net._force(states, fixed), drive(states, fixed, targets), strength)
        advance_(net, states, fixed, force, step)

    @classmethod
    def walk_(
        cls,
        net: Equations,
        states: list[Tensor],
        fixed: Fixed,
        first: int,
        count: int,
        step: Sequence[float],
        seen: Seen | None = None,
    ) -> None:
        """Some steps, the first of them with the number ``first``; ``seen`` is called before each of them."""
        if seen is None:
            net._steps_(states, fixed, first, count, step)
            return
        for number in range(first, first + count):
            force = seen(number, states)
            if force is None or not cls.takes_force:
                cls.step_(net, states, net._at(fixed, number), step)
            else:
                advance_(net, states, fixed, force, step)
