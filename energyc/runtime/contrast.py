"""What equilibrium propagation has in common: nudged phases, their contrast, and how strong a nudge is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from energyc.runtime.equations import Equations
from energyc.runtime.gradients import averaged
from energyc.runtime.phases import NudgeMonitor, advance_, change, nudged
from energyc.runtime.records import Fixed, FreePhase, Gradients, Phase, RuleSettings, Tensors
from energyc.runtime.snapshots import ContrastSnapshots
from energyc.runtime.states import finite, subtract, take

#: What is taken from the force on each of two phases.
Corrections = tuple[Sequence[Tensor | None], Sequence[Tensor | None]]


def centred(
    net: Equations,
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    correction: Callable[[Tensors, Tensors], Corrections] | None = None,
) -> Gradients:
    """The contrast of nudged phases at +beta and -beta, which run in lockstep."""
    beta, nudge = nudging_strength(net, free, fixed, targets, settings), settings.nudge
    plus, minus = [x.clone() for x in free.states], [x.clone() for x in free.states]
    monitor, shots = NudgeMonitor(nudge, net.dtype), ContrastSnapshots(net.snapshots)
    for k in monitor.steps():
        up = subtract(net._force(plus, fixed), net._cost_force(plus, fixed, targets), beta)
        down = subtract(net._force(minus, fixed), net._cost_force(minus, fixed, targets), -beta)
        if correction is not None:
            left, right = correction(plus, minus)
            up, down = subtract(up, left), subtract(down, right)
        if monitor.is_due(k):
            moved = torch.maximum(change(net, plus, up, nudge.step), change(net, minus, down, nudge.step))
            if monitor.settled(moved):
                break
        advance_(net, plus, up, nudge.step)
        advance_(net, minus, down, nudge.step)
        shots.offer(k + 1, plus, minus)
    plus, minus = shots.best(plus, minus)
    return contrast(net, free, plus, minus, fixed, targets, settings, 2 * beta, beta, shots)


def contrast(
    net: Equations,
    free: FreePhase,
    plus: Tensors,
    minus: Tensors,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    width: float,
    beta: float,
    shots: ContrastSnapshots | None = None,
) -> Gradients:
    """Each param reads only the terms it is in; forces without an energy take <a, dF/dtheta> at z*.

    ``width`` is the difference of both nudging strengths. Samples whose nudged phases diverged take no part.
    """
    kept, health = finite([*plus, *minus]), {}
    if shots is not None and shots.diverging is not None:
        kept &= ~shots.diverging
    if shots is not None and shots.taken is not None:
        health["snapshot"] = shots.taken
    states, at, aims = free.states, fixed, targets
    if not bool(kept.all()):
        rows = kept.nonzero()[:, 0]
        states, plus, minus, aims = (take(part, rows) for part in (states, plus, minus, targets))
        at = fixed.rows(rows)
    upper, lower = net._energy_gradient(plus, at), net._energy_gradient(minus, at)
    energy = {name: (upper[name] - lower[name]) / width for name in upper}
    a = [(m - p) / width for m, p in zip(minus, plus)]
    slopes = [energy, net._user_force_gradient(states, at, a), net._cost_gradient(states, at, aims)]
    return averaged(net, slopes, free, fixed, targets, settings, beta, kept, health)


def nudging_strength(
    net: Equations, free: FreePhase, fixed: Fixed, targets: Tensors, settings: RuleSettings, order: int = 2
) -> float:
    """The nudging strength; ``auto`` balances rounding (eps / displacement) and bias (displacement ^ order).

    The relative displacement of each state is measured under a trial nudge; with the largest r and the smallest s for
    a unit beta, ``eps / (s beta) = (r beta)^n`` gives ``beta^(n + 1) = eps / (s r^n)``, rounded to a power of two.
    """
    if settings.strength is not None and settings.strength != "auto":
        return float(settings.strength)
    ratios = [r for r in displacements(net, free, fixed, targets, settings.nudge) if r > 0 and math.isfinite(r)]
    if not ratios:
        return 1.0
    balanced = (torch.finfo(net.dtype).eps / (min(ratios) * max(ratios) ** order)) ** (1 / (order + 1))
    net.last_beta = 2.0 ** round(math.log2(balanced))
    return net.last_beta


def displacements(net: Equations, free: FreePhase, fixed: Fixed, targets: Tensors, nudge: Phase) -> list[float]:
    """By how much a nudge of strength 1 displaces each state, relative to its size; empty where nothing nudges."""
    slopes = [c for c in net._cost_force(free.states, fixed, targets) if c is not None]
    drive = max((float(c.square().mean()) for c in slopes), default=0.0) ** 0.5
    if drive == 0.0:
        return []
    size = max(float(x.square().mean()) for x in free.states) ** 0.5
    steps = nudge.steps or 20
    trial = torch.finfo(net.dtype).eps ** (1 / 3) * (size or 1.0) / (drive * max(nudge.step) * min(steps, 20))
    moved = nudged(net, free.states, fixed, targets, trial, nudge._replace(steps=steps))
    scales = [float(x.square().mean()) ** 0.5 or size or 1.0 for x in free.states]
    moves = [float((m - x).square().mean()) ** 0.5 for m, x in zip(moved, free.states)]
    return [move / (trial * scale) for move, scale in zip(moves, scales)]
