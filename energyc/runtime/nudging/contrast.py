"""The contrast of two nudged phases, which all variants of equilibrium propagation share, at its end or on the way."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, FreePhase, Phase, RuleSettings, Slopes, not_exploded, restricted
from ..tensors.states import Tensors, finite, norm, subtract
from .nudged_phases import JointPair, NudgedPair, NudgeMonitor
from .strength import TRIAL_STEPS, nudging_strength


def centered_contrast(
    net: Equations,
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    kind: type[NudgedPair] | None = None,
) -> Estimate:
    """Return the contrast of nudged phases of a ``kind`` at +beta and -beta, which run in lockstep.

    By default nothing is corrected, and the network says whether they are one batch.
    """
    pair_type = kind or (JointPair if net._joins else NudgedPair)
    with net._contrasting():
        phase = settings.nudge._replace(step=free.step)

        tried: dict[float, NudgedPair] = {}

        def response(states: Tensors, at: Fixed, aims: Tensors, beta: float) -> Tensors:
            trial = pair_type(net, states, at, aims, beta, phase.step)
            trial.steps_(phase.steps or TRIAL_STEPS)
            if len(states[0]) == len(free.states[0]):
                tried[beta] = trial
            return subtract(trial.plus, trial.minus)

        nudge = pair_type.nudge_of(net)
        beta = nudging_strength(net, free, fixed, targets, settings, nudge=nudge, response=response)
        pair: NudgedPair | ContrastSnapshots
        if beta in tried and phase.steps is not None and net.snapshots is None:
            pair = tried[beta]  # the choice of beta made these very phases
        else:
            pair = run_pair(net, pair_type(net, free.states, fixed, targets, beta, phase.step), phase)
    descends = net.descends and pair_type.descends
    found = contrast(net, free, pair.plus, pair.minus, fixed, targets, 2 * beta, beta, descends)
    return found._replace(health=pair.health())


def run_pair(net: Equations, phases: NudgedPair, phase: Phase) -> NudgedPair | ContrastSnapshots:
    """Run both phases to their end, with a comparison of their contrast on the way where it is set."""
    pair = phases if net.snapshots is None else ContrastSnapshots(phases, net.snapshots)
    monitor = NudgeMonitor(phase, net.dtype)
    for k, count in monitor.chunks():
        if monitor.is_due(k) and monitor.has_converged(pair.change()):
            break
        pair.steps_(count)
    pair.finish_(phase)
    return pair


def contrast(
    net: Equations,
    free: FreePhase,
    plus: Tensors,
    minus: Tensors,
    fixed: Fixed,
    targets: Tensors,
    width: float,
    beta: float,
    descends: bool = False,
) -> Estimate:
    """Return the contrast as an estimate: forces without an energy take <a, dF/dtheta> at z*.

    Each param reads only the terms it is in. Where the phases descend all energies in a metric (``descends``) no force
    is left. ``width`` is the difference of both nudging strengths. Samples whose free phase exploded or whose nudged
    phases are not finite take no part.
    """
    kept = not_exploded(free) & finite([*plus, *minus])
    at, (states, plus, minus, aims) = restricted(kept, fixed, free.states, plus, minus, targets)
    if descends:
        difference = gradient_difference(net._descent_gradient, plus, minus, at)
    else:
        difference = energy_contrast(net, plus, minus, at)
    energy = {name: slope.div_(width) for name, slope in difference.items()}
    if descends:
        return Estimate(free, [energy, net._cost_gradient(states, at, aims)], kept, beta=beta)
    a = [(m - p) / width for m, p in zip(minus, plus)]
    slopes = [energy, net._user_force_gradient(states, at, a), net._cost_gradient(states, at, aims)]
    return Estimate(free, slopes, kept, a, beta)


def energy_contrast(net: Equations, plus: Tensors, minus: Tensors, fixed: Fixed) -> Slopes:
    """Return dE/dtheta at ``plus`` less that at ``minus``, in memory of its own."""
    return {**net._energy_contrast(plus, minus, fixed), **gradient_difference(net._energy_gradient, plus, minus, fixed)}


def gradient_difference(
    gradient: Callable[[Tensors, Fixed], Slopes], plus: Tensors, minus: Tensors, fixed: Fixed
) -> Slopes:
    """Return a gradient at ``plus`` less that at ``minus``, in memory of its own."""
    upper, lower = gradient(plus, fixed), gradient(minus, fixed)
    return {name: upper[name].sub_(lower[name]) for name in upper}


# -------------------------------------------------------------------- snapshots


class ContrastSnapshots:
    """Both phases of a pair, their contrast compared every few steps; the one that changes least is taken.

    ``share`` is how far the last such steps changed the contrast of the batch, relative to its size; ``before`` is that
    of the steps before.

    A sample whose contrast changes ten times as fast at the end as at first is ``diverging``.
    """

    def __init__(self, pair: NudgedPair, every: int) -> None:
        self.phases, self.every, self.count = pair, every, 0
        self.change = pair.change
        self.plus, self.minus = pair.plus, pair.minus
        self.last: list[Tensor] | None = None
        self.first: Tensor | None = None
        self.smallest: Tensor | None = None
        self.diverging: Tensor | None = None
        self.taken: Tensor | None = None
        self.share = self.before = float("inf")
        self.pair: tuple[list[Tensor], list[Tensor]] = ([], [])

    def steps_(self, count: int) -> None:
        """Make some steps of both phases, in place, with a comparison where it is due."""
        last = self.count + count
        while self.count < last:
            stop = min(last, self.count + self.every - self.count % self.every)
            self.phases.steps_(stop - self.count)
            self.count = stop
            if stop % self.every == 0:
                self._check(stop, self.plus, self.minus)

    def finish_(self, phase: Phase) -> None:
        """Go on to the tolerance of the contrast, where there is one, and take the best pair."""
        if phase.tolerance is not None:
            self.converge_(phase.tolerance, phase.max_steps)
        self.take_best_()

    def converge_(self, tolerance: float, most: int) -> None:
        """Make steps of both phases, in place, until the contrast changes by a share of ``tolerance`` at most.

        They end too where this share no longer falls.
        """
        while tolerance < self.share <= self.before and self.count + self.every <= most:
            self.steps_(self.every)

    def _check(self, step: int, plus: Tensors, minus: Tensors) -> None:
        """Compare both phases after a step with what they were at the last comparison."""
        contrast = [p - m for p, m in zip(plus, minus)]
        if self.last is not None:
            difference = [c - b for c, b in zip(contrast, self.last)]
            self._compare(step, plus, minus, torch.stack([norm(x) for x in difference]).amax(0))
            self.before, self.share = self.share, share_of_change(difference, contrast)
        self.last = contrast

    def _compare(self, step: int, plus: Tensors, minus: Tensors, change: Tensor) -> None:
        if self.first is None or self.smallest is None or self.taken is None:
            self.first, self.smallest = change, change
            self.taken = torch.full_like(change, step, dtype=torch.int64)
            self.pair = ([p.clone() for p in plus], [m.clone() for m in minus])
        self.diverging = ~(change <= 10 * self.first)
        better = (change < self.smallest).nonzero()[:, 0]
        self.smallest = torch.minimum(change, self.smallest)
        self.taken[better] = step
        for best, now in zip((*self.pair[0], *self.pair[1]), (*plus, *minus)):
            best[better] = now[better]

    def health(self) -> dict[str, Tensor]:
        """Return ``snapshot``, the step whose contrast is taken if two were compared, and ``nudged``, all steps."""
        if self.taken is None:
            return {}
        return {"snapshot": self.taken, "nudged": torch.full_like(self.taken, self.count)}

    def take_best_(self) -> None:
        """Take the pair that changes least, if two could be compared; a sample that diverges has no finite states."""
        if self.diverging is not None:
            self.plus, self.minus = self.pair
            for x in self.plus:
                x[self.diverging] = float("nan")


def share_of_change(difference: Tensors, contrast: Tensors) -> float:
    """Return the norm of a change of the contrast relative to it, over the samples that are finite; 0 of nothing."""
    rows = finite([*difference, *contrast])
    size = torch.stack([c[rows].norm() for c in contrast]).norm()
    changed = torch.stack([c[rows].norm() for c in difference]).norm()
    return float(changed / size) if float(size) > 0 else 0.0
