"""The adjoint of an equilibrium: solved, or relaxed beside the states."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..adjoints.implicit import solve_adjoint
from ..equations.equations import Equations, rule
from ..equations.records import Estimate, Fixed, RuleSettings, not_exploded, restricted
from ..nudging.nudged_phases import NudgeMonitor
from ..relaxation.solver import run_free_phase
from ..relaxation.steps import advance_
from ..tensors.states import Tensors, filled, finite, relative_change


@rule("implicit", place=110, exact="any")
def implicit(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """The exact gradient at an equilibrium, which all other rules are judged by.

        lambda = dC/dz + (I + step J)^T P^T lambda,    dC/dtheta = <step P^T lambda, dF/dtheta> + direct

    Samples whose free phase exploded take no part. Raises RuntimeError where the equilibrium is not isolated.
    """
    free = run_free_phase(net, start, fixed, settings.free)
    kept = not_exploded(free)
    if not bool(kept.any()):
        return Estimate(free, [], kept)
    at, (states, aims) = restricted(kept, fixed, free.states, targets)
    by_states, direct = net._cost_vjp(states, at, aims)
    pushed = solve_adjoint(net, states, at, filled(by_states, states), free.step)
    slopes = [net._force_vjp(states, at, pushed)[1], net._kink_gradient(states, at, pushed), direct]
    return Estimate(free, slopes, kept, pushed)


@rule("adjoint", place=60, exact="any", settings=("steps",))
def adjoint(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """The limit of ``tracking-aep`` as beta -> 0.

        a <- P^T (a + step (J^T a + dC/dz))  while the states go on,    dC/dtheta = <a, dF/dtheta>

    Its fixed point is the exact adjoint whatever the force; it is not a local rule. Samples whose adjoint diverged take
    no part.
    """
    free = run_free_phase(net, start, fixed, settings.free)
    states, step = [x.clone() for x in free.states], free.step
    a = [torch.zeros_like(x) for x in states]
    monitor = NudgeMonitor(settings.nudge, net.dtype)
    for k, count in monitor.chunks():
        if monitor.is_due(k):
            after, force = adjoined(net, states, a, fixed, targets, step)
            if monitor.has_converged(relative_change(after, a)):
                break
            a, count = after, count - 1
            advance_(net, states, fixed, force, step)
        if not net._adjoining_steps_(states, a, fixed, targets, count, step):
            for _ in range(count):
                a, force = adjoined(net, states, a, fixed, targets, step)
                advance_(net, states, fixed, force, step)
    kept = not_exploded(free) & finite(a)
    at, (ends, a, aims) = restricted(kept, fixed, free.states, a, targets)
    slopes = [net._force_vjp(ends, at, a)[1], net._kink_gradient(ends, at, a), net._cost_gradient(ends, at, aims)]
    return Estimate(free, slopes, kept, a)


def adjoined(
    net: Equations, states: list[Tensor], a: list[Tensor], fixed: Fixed, targets: Tensors, step: Sequence[float]
) -> tuple[list[Tensor], Tensors]:
    """What moves beside the states after a step, and the force by which they move."""
    slopes = filled(net._cost_force(states, fixed, targets), states)
    back = filled(net._force_adjoint(states, fixed, a), states)
    moved = [x + h * (b + c) for x, b, c, h in zip(a, back, slopes, step)]
    force = net._force(states, fixed)
    ahead = [x + h * f for x, f, h in zip(states, force, step)]
    return net._proximal_adjoint(ahead, moved, fixed, step), force
