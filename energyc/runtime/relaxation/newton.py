"""Newton's method."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed
from energyc.runtime.relaxation.solver import GradientDescent
from energyc.runtime.relaxation.steps import projected
from energyc.runtime.tensors.gmres import gmres
from energyc.runtime.tensors.states import flatten, per_sample, unflatten


def newton_step(net: Equations, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
    """One damped Newton step in place, with products in full precision."""
    with net._precise():
        solved_step(net, states, fixed, step)


@part("solver", "newton")
class Newton(GradientDescent):
    """A damped Newton step in the place of a plain one."""

    step_ = staticmethod(newton_step)


def solved_step(net: Equations, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
    """One damped Newton step on R(z) = P(z + step F(z)) - z, in place, where P is a projection or a proximal point.

    (I - P'(I + step J)) d = R by GMRES, P' the derivative of P: of a box or a kink its active set (a semismooth
    method, Qi and Sun 1993). It is halved until the largest entry of |R| falls; where it never does the step is the
    plain one. The length of R would let an entry go far away where its force saturates, if only others come closer.
    """
    moved = projected(net, states, fixed, step)
    here, gap = flatten(states), flatten(moved) - flatten(states)

    def operator(direction: Tensor) -> Tensor:
        parts = unflatten(direction, states)
        pushed = [h * u for h, u in zip(step, net._force_jvp(states, fixed, parts))]
        if not net.constrained:
            return -flatten(pushed)
        at = [x + h * f for x, f, h in zip(states, net._force(states, fixed), step)]
        return direction - flatten(net._proximal_adjoint(at, [d + u for d, u in zip(parts, pushed)], fixed, step))

    goal = 1e-10 if net.dtype == torch.float64 else 1e-5
    delta, _ = gmres(operator, gap, tolerance=goal, restart=50, cycles=4)
    damping, size = gap.new_ones(len(gap)), gap.abs().amax(1)
    for _ in range(30):
        trial = unflatten(here + damping[:, None] * delta, states)
        net._project_(trial)
        left = (flatten(projected(net, trial, fixed, step)) - flatten(trial)).abs().amax(1)
        worse = ~(left <= (1 - 1e-4 * damping) * size)
        if not bool(worse.any()):
            break
        damping = torch.where(worse, damping / 2, damping)
    for x, plain, newton in zip(states, moved, trial):
        x.copy_(torch.where(per_sample(worse, x), plain, newton))
