"""The strength of a nudge: as it is set, or where noise and bias balance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed, FreePhase, RuleSettings, not_exploded, restricted
from ..relaxation.step_methods import NudgeForce
from ..tensors.states import Tensors, norm
from .nudged_phases import nudged

#: The response of states to nudged phases: of the states, what is fixed, targets and the strength.
Response = Callable[[Tensors, Fixed, Tensors, float], Tensors]


def nudging_strength(
    net: Equations,
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    order: int = 2,
    one_sided: bool = False,
    nudge: NudgeForce | None = None,
    response: Response | None = None,
) -> float:
    """Return the nudging strength that is set, for a call or by the spec, or the one that balances noise and bias."""
    strength = net.beta if settings.strength is None else settings.strength
    if strength is not None and strength != "auto":
        return float(strength)
    return balanced_strength(net, free, fixed, targets, settings, order, one_sided, nudge, response)


#: A nudge so many times as strong as its trial is tried itself. Those of shipped specs are 4 to 80 times as strong;
#: where it would have to be stronger, states are held on a rim of their set, and may be let go.
STRONGER = 256
#: The nudged steps of a trial where they are not set.
TRIAL_STEPS = 20
#: The share of the response to a nudge that may be out of proportion before a weaker nudge is tried.
NONLINEAR = 0.01
#: A response is compared with that to a nudge so many times as weak.
WEAKER = 4
#: Where most of a response is out of proportion, a nudge so many times as weak is tried.
MUCH_WEAKER = 16
#: How many weaker nudges are tried at most.
MOST_TRIALS = 8


class Trial(NamedTuple):
    """Displacement of each state in a nudged phase for a nudge of strength 1, and its drift without one.

    Both are root mean squares relative to the state's size, or, where it has none but noise, to the largest one's. A
    move that is nothing but rounding is 0: it says nothing about the strength. ``strength`` is that of the trial, and
    ``lets_go`` says whether a stronger nudge moves entries four times as far as in proportion, or more.
    """

    moves: list[float]
    drifts: list[float]
    strength: float
    lets_go: Callable[[float], bool]


def balanced_strength(
    net: Equations,
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    order: int,
    one_sided: bool,
    nudge: NudgeForce | None,
    response: Response | None,
) -> float:
    """Return the strength that balances noise (noise / displacement) and bias (displacement ^ order).

    With the largest displacement r for a unit beta, and the largest ratio q of noise and displacement of a state,
    ``q / beta = (r beta)^n`` gives ``beta^(n + 1) = q / r^n``, rounded to a power of two. The noise is rounding; a
    contrast that is ``one_sided`` also reads what the free phase still moves, which two nudged phases share. Where a
    nudge much stronger than its trial lets go of what the trial left held, it is the trial's. Where the
    ``response`` of the phases is out of proportion, a weaker one is taken.
    """
    eps, largest = net._rounding(), math.log2(torch.finfo(net.dtype).max) / 2
    trial = trial_nudge(net, free, fixed, targets, settings, nudge)
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
        if response is not None:
            at, (states, aims) = restricted(most_converged(free, settings.free.tolerance), fixed, free.states, targets)
            found = proportionate(found, order, 2.0**ratio, lambda beta: response(states, at, aims, beta))
        net.last_beta = found
    return found


def proportionate(beta: float, order: int, noise: float, response: Callable[[float], Tensors]) -> float:
    """Return the strength of a nudge, or a weaker one to which states respond in proportion.

    The share of the response that is out of proportion is the bias; it falls with ``beta ^ order``, while noise, which
    is ``noise`` for a unit beta, rises with 1 / beta. Where a weaker nudge has the larger share, that is noise.
    """
    bias = out_of_proportion(beta, response)
    for _ in range(MOST_TRIALS):
        if bias <= NONLINEAR:
            break
        weaker = beta / MUCH_WEAKER
        if bias < 1 / 2:
            weaker = 2.0 ** round(math.log2(noise * beta**order / bias) / (order + 1))
        if weaker >= beta:
            break
        left = out_of_proportion(weaker, response)
        if left >= bias < 1:
            break
        beta, bias = weaker, left
    return beta


def out_of_proportion(beta: float, response: Callable[[float], Tensors]) -> float:
    """Return how far the response to a nudge is from proportion, as a share of that to a weaker one.

    It is that of the worst sample: 1 of a sample whose response is not finite, 0 of one that does not respond.
    """
    strong, weak = response(beta), response(beta / WEAKER)
    size = WEAKER * norm(torch.stack([norm(w) for w in weak], 1))
    excess = norm(torch.stack([norm(s - WEAKER * w) for s, w in zip(strong, weak)], 1))
    share = torch.where(size == 0, 0.0, excess / size)
    return float(torch.where(share.isfinite(), share, 1.0).clamp_max(1.0).max())


def trial_nudge(
    net: Equations,
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    nudge: NudgeForce | None = None,
) -> Trial | None:
    """Try a nudge beside a phase without one, on the samples that converged; return None where nothing nudges."""
    nudge = nudge or net._cost_force
    at, (states, aims) = restricted(most_converged(free, settings.free.tolerance), fixed, free.states, targets)
    eps, phase = torch.finfo(net.dtype).eps, settings.nudge._replace(step=free.step)
    push = max((rms(c) for c in nudge(states, at, aims) if c is not None), default=0.0)
    if not 0 < push < math.inf:
        return None
    sizes, steps = list(map(rms, states)), phase.steps or TRIAL_STEPS
    strength = eps ** (1 / 3) * (max(sizes) or 1.0) / (push * max(phase.step) * min(steps, TRIAL_STEPS))
    phase = phase._replace(steps=steps)

    def after(beta: float) -> Tensors:
        return nudged(net, states, at, aims, beta, phase, nudge)

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


def most_converged(free: FreePhase, tolerance: float | None) -> Tensor:
    """Return which samples reached the tolerance, or are about as close to it as most: [batch]."""
    known = not_exploded(free)
    if not bool(known.any()):
        return known
    return known & (free.residual <= max(tolerance or 0.0, 10 * float(free.residual[known].median())))


def rms(x: Tensor) -> float:
    """Return the root mean square; 0 of nothing."""
    return float(x.square().mean()) ** 0.5 if x.numel() else 0.0
