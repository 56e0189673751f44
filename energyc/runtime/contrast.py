"""What equilibrium propagation has in common: nudged phases, their contrast, and how strong a nudge is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.equations import Equations
from energyc.runtime.gradients import averaged, ended, narrowed
from energyc.runtime.phases import Drive, NudgeMonitor, advance_, change, nudged
from energyc.runtime.products import rounding
from energyc.runtime.records import Fixed, FreePhase, Gradients, RuleSettings, Tensors
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
    tracks: bool = False,
) -> Gradients:
    """The contrast of nudged phases at +beta and -beta, which run in lockstep.

    A rule with a ``correction`` takes every flow for a force; one without goes down the energies that it names. One
    that ``tracks`` has its correction at the midpoint of both phases.
    """
    drive = net._nudge if correction is None else net._cost_force
    beta = nudging_strength(net, free, fixed, targets, settings, drive=drive)
    nudge = settings.nudge._replace(step=free.step)
    pair = paired(free.states, fixed, targets) if net._joins and correction is None else None
    batch = len(free.states[0])
    plus = [x.clone() for x in free.states] if pair is None else [x[:batch] for x in pair.states]
    minus = [x.clone() for x in free.states] if pair is None else [x[batch:] for x in pair.states]
    monitor, shots = NudgeMonitor(nudge, net.dtype), ContrastSnapshots(net.snapshots)

    def forces() -> tuple[list[Tensor], list[Tensor]]:
        up = subtract(net._force(plus, fixed), drive(plus, fixed, targets), beta)
        down = subtract(net._force(minus, fixed), drive(minus, fixed, targets), -beta)
        if correction is None:
            return up, down
        left, right = correction(plus, minus)
        return subtract(up, left), subtract(down, right)

    for k, count in monitor.strides(shots.every):
        if monitor.is_due(k):
            up, down = forces()
            moved = torch.maximum(change(net, plus, up, nudge.step), change(net, minus, down, nudge.step))
            if monitor.settled(moved):
                break
        if tracks:
            net._tracking_steps_(plus, minus, fixed, targets, beta, count, nudge.step)
        elif pair is not None:
            net._nudged_steps_(*pair, beta, drive, count, nudge.step, batch)
        elif correction is None:
            net._nudged_steps_(plus, fixed, targets, beta, drive, count, nudge.step)
            net._nudged_steps_(minus, fixed, targets, -beta, drive, count, nudge.step)
        else:
            for _ in range(count):
                up, down = forces()
                advance_(net, plus, up, nudge.step)
                advance_(net, minus, down, nudge.step)
        shots.offer(k + count, plus, minus)
    plus, minus = shots.best(plus, minus)
    descends = net.descends and correction is None
    return contrast(net, free, plus, minus, fixed, targets, settings, 2 * beta, beta, shots, descends)


class Pair(NamedTuple):
    """Two phases as one batch, the second one behind the first."""

    states: list[Tensor]
    fixed: Fixed
    targets: list[Tensor]


def paired(states: Tensors, fixed: Fixed, targets: Tensors) -> Pair:
    """Each sample twice."""
    twice = torch.arange(len(states[0]), device=states[0].device).repeat(2)
    return Pair(take(states, twice), fixed.rows(twice), take(targets, twice))


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
    descends: bool = False,
) -> Gradients:
    """Each param reads only the terms it is in; forces without an energy take <a, dF/dtheta> at z*.

    Where a network ``descends`` its energies in a metric, all energies are contrasted and no force is left. ``width``
    is the difference of both nudging strengths. Samples whose free phase exploded or whose nudged phases diverged take
    no part.
    """
    kept, health = ended(free) & finite([*plus, *minus]), {}
    if shots is not None and shots.diverging is not None:
        kept &= ~shots.diverging
    if shots is not None and shots.taken is not None:
        health["snapshot"] = shots.taken
    at, (states, plus, minus, aims) = narrowed(kept, fixed, free.states, plus, minus, targets)
    energy = {name: slope.div_(width) for name, slope in energy_contrast(net, plus, minus, at, descends).items()}
    a = [(m - p) / width for m, p in zip(minus, plus)]
    forces = {} if descends else net._user_force_gradient(states, at, a)
    slopes = [energy, forces, net._cost_gradient(states, at, aims)]
    return averaged(net, slopes, free, fixed, targets, settings, beta, kept, health)


def energy_contrast(
    net: Equations, plus: Tensors, minus: Tensors, fixed: Fixed, descends: bool = False
) -> dict[str, Tensor]:
    """dE/dtheta at ``plus`` less that at ``minus``, in memory of its own; with ``descends`` of all energies."""
    slope = net._descent_gradient if descends else net._energy_gradient
    upper, lower = slope(plus, fixed), slope(minus, fixed)
    apart = {name: upper[name].sub_(lower[name]) for name in upper}
    return apart if descends else {**net._energy_contrast(plus, minus, fixed), **apart}


class Trial(NamedTuple):
    """How far a nudge of strength 1 moves each state in a nudged phase, and how far it moves without one.

    Both are root mean squares relative to the state's size, or, where it has none but noise, to the largest one's.
    """

    moves: list[float]
    drifts: list[float]


def nudging_strength(
    net: Equations,
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    order: int = 2,
    one_sided: bool = False,
    drive: Drive | None = None,
) -> float:
    """The nudging strength; ``auto`` balances noise (noise / displacement) and bias (displacement ^ order).

    With the largest displacement r for a unit beta, and the largest ratio q of noise and displacement of a state,
    ``q / beta = (r beta)^n`` gives ``beta^(n + 1) = q / r^n``, rounded to a power of two. The noise is rounding; a
    contrast that is ``one_sided`` also reads what the free phase still moves, which two nudged phases share.
    """
    if settings.strength is not None and settings.strength != "auto":
        return float(settings.strength)
    eps, largest = rounding(net), math.log2(torch.finfo(net.dtype).max) / 2
    trial = tried(net, free, fixed, targets, settings, drive)
    pairs = [(r, max(eps, d) if one_sided else eps) for r, d in zip(*trial) if 0 < r < math.inf and d < math.inf]
    if not pairs:
        return 1.0
    ratio = max(math.log2(noise) - math.log2(r) for r, noise in pairs)
    balanced = (ratio - order * math.log2(max(r for r, _ in pairs))) / (order + 1)
    net.last_beta = 2.0 ** round(min(max(balanced, -largest), largest))
    return net.last_beta


def tried(
    net: Equations,
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    drive: Drive | None = None,
) -> Trial:
    """A trial nudge beside a phase without one, on the samples that settled; nothing where nothing nudges."""
    drive = drive or net._cost_force
    at, (states, aims) = narrowed(steady(free, settings.free.tolerance), fixed, free.states, targets)
    eps, nudge = torch.finfo(net.dtype).eps, settings.nudge._replace(step=free.step)
    push = max((rms(c) for c in drive(states, at, aims) if c is not None), default=0.0)
    if not 0 < push < math.inf:
        return Trial([], [])
    sizes, steps = list(map(rms, states)), nudge.steps or 20
    strength = eps ** (1 / 3) * (max(sizes) or 1.0) / (push * max(nudge.step) * min(steps, 20))
    phase = nudge._replace(steps=steps)
    moved, drifted = (nudged(net, states, at, aims, beta, phase, drive) for beta in (strength, 0.0))
    drifts = [rms(d - x) for d, x in zip(drifted, states)]
    floor = eps * max(sizes)
    scales = [size if size > 16 * max(drift, floor) else 0.0 for size, drift in zip(sizes, drifts)]
    scales = [scale or max(scales) or 1.0 for scale in scales]
    moves = [rms(m - d) / (strength * scale) for m, d, scale in zip(moved, drifted, scales)]
    return Trial(moves, [drift / scale for drift, scale in zip(drifts, scales)])


def steady(free: FreePhase, tolerance: float | None) -> Tensor:
    """Samples that reached the tolerance, or are about as settled as most: [batch]."""
    known = ended(free)
    if not bool(known.any()):
        return known
    return known & (free.residual <= max(tolerance or 0.0, 10 * float(free.residual[known].median())))


def rms(x: Tensor) -> float:
    """The root mean square; 0 of nothing."""
    return float(x.square().mean()) ** 0.5 if x.numel() else 0.0
