"""How strong a nudge is: as it is set, or where noise and bias balance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.gradients import not_exploded, restricted
from energyc.runtime.equations.parts import chosen, part
from energyc.runtime.equations.records import Fixed, FreePhase, RuleSettings
from energyc.runtime.nudging.nudged import nudged
from energyc.runtime.relaxation.solver import Drive
from energyc.runtime.tensors.states import Tensors


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
    """The nudging strength that is set, for a call or by the spec, or the one that balances noise and bias."""
    strength = net.beta if settings.strength is None else settings.strength
    if strength is not None and strength != "auto":
        return float(strength)
    return float(chosen("strength", "auto")(net, free, fixed, targets, settings, order, one_sided, drive))


#: A nudge so many times as strong as its trial is tried itself. Those of shipped specs are 4 to 80 times as strong;
#: where it would have to be stronger, states are held on a rim of their set, and may be let go.
STRONGER = 256


class Trial(NamedTuple):
    """How far a nudge of strength 1 moves each state in a nudged phase, and how far it moves without one.

    Both are root mean squares relative to the state's size, or, where it has none but noise, to the largest one's. A
    move that is nothing but rounding is 0: it says nothing about the strength. ``strength`` is that of the trial, and
    ``lets_go`` says whether a stronger nudge moves entries four times as far as in proportion, or more.
    """

    moves: list[float]
    drifts: list[float]
    strength: float
    lets_go: Callable[[float], bool]


@part("strength", "auto")
def balanced_strength(
    net: Equations,
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    order: int,
    one_sided: bool,
    drive: Drive | None,
) -> float:
    """The strength that balances noise (noise / displacement) and bias (displacement ^ order).

    With the largest displacement r for a unit beta, and the largest ratio q of noise and displacement of a state,
    ``q / beta = (r beta)^n`` gives ``beta^(n + 1) = q / r^n``, rounded to a power of two. The noise is rounding; a
    contrast that is ``one_sided`` also reads what the free phase still moves, which two nudged phases share. Where a
    nudge much stronger than its trial lets go of what the trial left held, it is the trial's.
    """
    eps, largest = net._rounding(), math.log2(torch.finfo(net.dtype).max) / 2
    trial = trial_nudge(net, free, fixed, targets, settings, drive)
    if trial is None:
        return 1.0
    noises = zip(trial.moves, trial.drifts)
    pairs = [(r, max(eps, d) if one_sided else eps) for r, d in noises if 0 < r < math.inf and d < math.inf]
    balanced = 0.0
    if pairs:
        ratio = max(math.log2(noise) - math.log2(r) for r, noise in pairs)
        balanced = (ratio - order * math.log2(max(r for r, _ in pairs))) / (order + 1)
    found = 2.0 ** round(min(max(balanced, -largest), largest))
    signs = (1.0,) if one_sided else (1.0, -1.0)
    if found > STRONGER * trial.strength and any(trial.lets_go(sign * found) for sign in signs):
        found = 2.0 ** math.floor(math.log2(trial.strength))
    if pairs:
        net.last_beta = found
    return found


def trial_nudge(
    net: Equations,
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    drive: Drive | None = None,
) -> Trial | None:
    """A trial nudge beside a phase without one, on the samples that settled; None where nothing nudges."""
    drive = drive or net._cost_force
    at, (states, aims) = restricted(most_settled(free, settings.free.tolerance), fixed, free.states, targets)
    eps, nudge = torch.finfo(net.dtype).eps, settings.nudge._replace(step=free.step)
    push = max((rms(c) for c in drive(states, at, aims) if c is not None), default=0.0)
    if not 0 < push < math.inf:
        return None
    sizes, steps = list(map(rms, states)), nudge.steps or 20
    strength = eps ** (1 / 3) * (max(sizes) or 1.0) / (push * max(nudge.step) * min(steps, 20))
    phase = nudge._replace(steps=steps)

    def after(beta: float) -> Tensors:
        return nudged(net, states, at, aims, beta, phase, drive)

    moved, drifted = after(strength), after(0.0)
    drifts = [rms(d - x) for d, x in zip(drifted, states)]
    floor = eps * max(sizes)
    scales = [size if size > 16 * max(drift, floor) else 0.0 for size, drift in zip(sizes, drifts)]
    scales = [scale or max(scales) or 1.0 for scale in scales]
    pairs = [(rms(m - d), scale) for m, d, scale in zip(moved, drifted, scales)]
    moves = [move / (strength * scale) if move > 4 * eps * scale else 0.0 for move, scale in pairs]

    def lets_go(beta: float) -> bool:
        growth = 4 * abs(beta) / strength
        known = [(m - d).abs() + 4 * eps * scale for m, d, scale in zip(moved, drifted, scales)]
        within = ((x - d).abs() <= growth * k for x, d, k in zip(after(beta), drifted, known))
        return not all(bool(entries.all()) for entries in within)  # what is not finite is not within

    return Trial(moves, [drift / scale for drift, scale in zip(drifts, scales)], strength, lets_go)


def most_settled(free: FreePhase, tolerance: float | None) -> Tensor:
    """Samples that reached the tolerance, or are about as settled as most: [batch]."""
    known = not_exploded(free)
    if not bool(known.any()):
        return known
    return known & (free.residual <= max(tolerance or 0.0, 10 * float(free.residual[known].median())))


def rms(x: Tensor) -> float:
    """The root mean square; 0 of nothing."""
    return float(x.square().mean()) ** 0.5 if x.numel() else 0.0
