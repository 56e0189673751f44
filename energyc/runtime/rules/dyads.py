"""Dyads: each state is a pair, nudged either way, whose mean is its activity and whose difference is its error."""

from __future__ import annotations

import torch
from torch import Tensor

from ..equations.equations import Equations, rule
from ..equations.records import Estimate, Fixed, FreePhase, RuleSettings, not_exploded, restricted
from ..nudging.contrast import contrast
from ..nudging.nudged_phases import CorrectedPair, NudgeMonitor
from ..nudging.strength import nudging_strength
from ..relaxation.solver import run_free_phase
from ..relaxation.step_methods import NudgeForce
from ..tensors.states import Tensors, finite, subtract


@rule(
    "dyadic-ep",
    place=140,
    exact="any",
    needs=("contrast", "correction", "dyads"),
    settings=("beta", "steps", "alpha"),
    order=2,
)
def dyadic_ep(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """Dyadic learning in a network of any connections (Hoier, Kalinin, Ernoult and Zach 2024).

    Each state is a dyad of s+ and s- with mean m and difference v = s+ - s-, which settle in one phase from the start:

        ds+/dt = F(s+) - alpha (beta dC/dz + (J_nc - J_nc^T)(m) v),
        ds-/dt = F(s-) + (1 - alpha) (beta dC/dz + (J_nc - J_nc^T)(m) v).

    v / beta tends to J^-T dC/dz. The bias is of O(beta^2) for alpha = 1/2, and of O(beta) otherwise. Where F is a
    gradient both halves are on their own: they are the phases of ``centered-ep`` at beta / 2.
    """
    with net._contrasting():
        states, step, beta = dyad_start(net, start, fixed, targets, settings, net._cost_force)
        dyads = CorrectedDyads(net, states, fixed, targets, beta, step)
        mean = relaxed(dyads, settings)
    return contrast(net, mean, dyads.plus, dyads.minus, fixed, targets, beta, beta)


@rule(
    "dual-propagation",
    place=150,
    exact="gradient",
    needs=("dyads", "predictions", "lifted"),
    settings=("beta", "steps", "alpha"),
    order=2,
    instead="dyadic-ep",
)
def dual_propagation(
    net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings
) -> Estimate:
    """Dual propagation (Hoier, Staudt and Zach 2023), its mean by the transposed weights (Hoier and Zach 2024).

    In a sum of squared prediction errors each state s_k, as a dyad, is predicted from the mean of those before it:

        L = alpha C(s+) + (1 - alpha) C(s-) + (1 / beta) sum_k (E_k(s_k+, m) - E_k(s_k-, m)).

    The mean m is the free equilibrium, up to a curvature of the cost; the differences s+ - s- are what backpropagation
    sends back, times beta. dL/dtheta is the gradient up to O(beta^2) for alpha = 1/2, and O(beta) otherwise.
    """
    with net._contrasting():
        states, step, beta = dyad_start(net, start, fixed, targets, settings, net._cost_force)
        dyads = PredictedDyads(net, states, fixed, targets, beta, step)
        mean = relaxed(dyads, settings)
    kept = not_exploded(mean) & finite([*dyads.plus, *dyads.minus])
    here, (states, plus, minus, aims) = restricted(kept, fixed, mean.states, dyads.plus, dyads.minus, targets)
    back = net._prediction_gradient(states, here, weighted_differences(net, plus, minus))
    slopes = [{name: slope.div_(-beta) for name, slope in back.items()}, net._cost_gradient(states, here, aims)]
    return Estimate(mean, slopes, kept, beta=beta)


def dyad_start(
    net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings, nudge: NudgeForce
) -> tuple[list[Tensor], tuple[float, ...], float]:
    """Return where both halves start, the step size of each state, and the strength of the nudge.

    Automatic step sizes and strengths come from a free phase.
    """
    strength = net.beta if settings.strength is None else settings.strength
    if settings.free.auto or strength is None or strength == "auto":
        free = run_free_phase(net, start, fixed, settings.free)
        order = 2 if net.alpha == 0.5 else 1
        beta = nudging_strength(net, free, fixed, targets, settings, order, nudge=nudge)
        return free.states, free.step, beta
    return start, settings.free.step, float(strength)


def weighted_mean(plus: Tensors, minus: Tensors, alpha: float) -> list[Tensor]:
    """Return the mean of both halves, which a nudge by ``alpha`` and by 1 - ``alpha`` the other way leaves where it is.

    Each half has the weight of the other one's nudge (Hoier and Zach 2024, the transposed weights).
    """
    return [(1 - alpha) * p + alpha * m for p, m in zip(plus, minus)]


def weighted_differences(net: Equations, plus: Tensors, minus: Tensors) -> list[Tensor]:
    """Return the difference of the two halves, times the precision of each state."""
    return [w * (p - m) for w, p, m in zip(net.precisions, plus, minus)]


def relaxed(dyads: CorrectedPair, settings: RuleSettings) -> FreePhase:
    """Relax both halves of all dyads, as long as a free phase and a nudged phase after it; return their mean.

    The residual is the larger one of both halves.
    """
    net, free, nudge = dyads.net, settings.free, settings.nudge
    taken = free.steps or 0
    dyads.steps_(taken)
    goal = free.tolerance
    while goal is not None and taken < free.max_steps and not bool((dyads.change() <= goal).all()):
        count = min(free.chunk, free.max_steps - taken)
        dyads.steps_(count)
        taken += count
    monitor = NudgeMonitor(nudge, net.dtype)
    for k, count in monitor.chunks():
        if monitor.is_due(k) and monitor.has_converged(dyads.change()):
            break
        dyads.steps_(count)
        taken += count
    residual, batch = dyads.change(), len(dyads.plus[0])
    whole = torch.full((batch,), taken, device=net.device)
    unknown = residual.masked_fill(~residual.isfinite(), float("inf"))
    none = torch.zeros_like(whole, dtype=torch.bool)
    mean = weighted_mean(dyads.plus, dyads.minus, net.alpha)
    return FreePhase(mean, unknown, whole, none, tuple(dyads.step))


class CorrectedDyads(CorrectedPair):
    """Dyads each half of which descends the energies, and other terms act from the mean m.

    With v = s+ - s- and K = J_nc - J_nc^T the forces are F(s+) - alpha (beta dC/dz + K(m) v) and
    F(s-) + (1 - alpha) (beta dC/dz + K(m) v): to first order in v the other terms are F_nc(m) + alpha J_nc^T v.
    """

    def forces(self) -> tuple[list[Tensor], list[Tensor]]:
        net, fixed, targets, plus, minus = self.net, self.fixed, self.targets, self.plus, self.minus
        alpha, beta = net.alpha, self.beta
        up = subtract(net._force(plus, fixed), net._cost_force(plus, fixed, targets), alpha * beta)
        down = subtract(net._force(minus, fixed), net._cost_force(minus, fixed, targets), (alpha - 1) * beta)
        if not net.turned:
            return up, down
        correction = net._correction(weighted_mean(plus, minus, alpha), fixed, [p - m for p, m in zip(plus, minus)])
        return subtract(up, correction, alpha), subtract(down, correction, alpha - 1)

    def steps_(self, count: int) -> None:
        """Make some steps of both halves, in place: where both nudges are equal those of two nudged phases."""
        net, fixed, targets, beta = self.net, self.fixed, self.targets, self.beta / 2
        if net.alpha != 0.5:
            super().steps_(count)
        elif net.turned:
            net._tracking_steps_(self.plus, self.minus, fixed, targets, beta, count, self.step)
        else:
            net._nudged_steps_(self.plus, fixed, targets, beta, net._cost_force, count, self.step)
            net._nudged_steps_(self.minus, fixed, targets, -beta, net._cost_force, count, self.step)


class PredictedDyads(CorrectedPair):
    """Dyads whose states are predicted from the means before them (Hoier et al. 2023).

    With precisions w, predictions m(s) and errors B = (dm/ds)^T w (s+ - s-) of what a state predicts, the forces are

        w (m - s+) + alpha (B - beta dC/ds),    w (m - s-) - (1 - alpha) (B - beta dC/ds),

    m and B at the mean, dC/ds at each half.
    """

    def forces(self) -> tuple[list[Tensor], list[Tensor]]:
        net, fixed, targets, plus, minus = self.net, self.fixed, self.targets, self.plus, self.minus
        alpha, beta = net.alpha, self.beta
        mean, differences = weighted_mean(plus, minus, alpha), weighted_differences(net, plus, minus)
        predicted, back = net._predictions(mean, fixed), net._prediction_errors(mean, fixed, differences)
        up = [w * (m - p) for w, m, p in zip(net.precisions, predicted, plus)]
        down = [w * (m - q) for w, m, q in zip(net.precisions, predicted, minus)]
        up = subtract(subtract(up, back, -alpha), net._cost_force(plus, fixed, targets), alpha * beta)
        down = subtract(subtract(down, back, 1 - alpha), net._cost_force(minus, fixed, targets), (alpha - 1) * beta)
        return up, down
