"""Rules by an adjoint: that of an equilibrium, solved or relaxed beside the states, or that of the steps."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..adjoints.backpropagation import backpropagate
from ..adjoints.implicit import solve_adjoint
from ..equations.by_autograd import start_vjp
from ..equations.equations import Equations, rule
from ..equations.records import Estimate, Fixed, RuleSettings, not_exploded, restricted
from ..nudging.nudged_phases import NudgeMonitor
from ..relaxation.solver import run_free_phase
from ..relaxation.steps import advance_
from ..relaxation.trajectory import run_recorded, select_samples
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
    """Return what moves beside the states after a step, and the force by which they move."""
    slopes = filled(net._cost_force(states, fixed, targets), states)
    back = filled(net._force_adjoint(states, fixed, a), states)
    moved = [x + h * (b + c) for x, b, c, h in zip(a, back, slopes, step)]
    force = net._force(states, fixed)
    ahead = [x + h * f for x, f, h in zip(states, force, step)]
    return net._proximal_adjoint(ahead, moved, fixed, step), force


# -------------------------------------------------------------------- of the steps of a free phase


@rule("tbptt", place=90, exact="any", needs=("trajectory",), settings=("steps",))
def tbptt(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """Backpropagation through the last steps alone, as many as a nudged phase has.

    With k steps from a settled state it is what ``centered-ep`` gives with k nudged steps as beta -> 0, on a
    conservative network (Ernoult et al. 2019).
    """
    return through_steps(net, start, fixed, targets, settings, settings.nudge.steps)[0]


@rule("bptt", place=100, exact="any", needs=("trajectory",))
def bptt(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """The exact gradient of what evaluation runs: all steps, the start included.

    lambda_k = (I + step J)^T P^T lambda_(k+1),    dC/dtheta = sum_k <step P^T lambda_(k+1), dF/dtheta(z_k)>
    """
    found, at, cotangents = through_steps(net, start, fixed, targets, settings)
    through, direct = found.slopes
    of_start = start_vjp(net, at, net._project_adjoint(net._start(at), cotangents))
    return found._replace(slopes=[through, of_start, direct])


def through_steps(
    net: Equations,
    start: list[Tensor],
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    last: int | None = None,
) -> tuple[Estimate, Fixed, list[Tensor]]:
    """Return the slopes through the ``last`` steps, by default all, and the direct ones.

    Also return what is fixed for the samples that are kept, and the cotangents on their states before these steps.
    """
    free, trajectory = run_recorded(net, start, fixed, settings.free, last)
    kept = not_exploded(free)
    at, (states, aims) = restricted(kept, fixed, free.states, targets)
    by_states, direct = net._cost_vjp(states, at, aims)
    seeds = filled(by_states, states)
    cotangents, through = backpropagate(net, select_samples(trajectory, kept), seeds, at, settings.free)
    return Estimate(free, [through, direct], kept), at, cotangents
