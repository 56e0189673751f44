"""Measure a rule that follows another objective than the cost, against differences of that objective."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from energyc.runtime import (
    RULES,
    Fixed,
    Phase,
    energy,
    free_phase,
    ordered_states,
    ordered_targets,
    prepared,
    run_clamped_phase,
    run_free_phase,
)

#: Looks at a phase, each after as many steps as reduce its error to a tenth.
LOOKS = 100


def converged(net: Any, rule: str, probe: Any, states: Mapping[str, Tensor], steps: int, step: float | None) -> Any:
    """Return the gradients of a rule whose phases have both converged."""
    started = {name: x.clone() for name, x in states.items()}
    return net.gradients(probe.clamps, probe.targets, rule, states=started, steps=steps, step=step)


def objective(
    net: Any, rule: str, probe: Any, states: Mapping[str, Tensor], steps: int, step: float | None
) -> tuple[float, float]:
    """Return the mean over samples of what a rule follows, at equilibria near ``states``, and its uncertainty."""
    with torch.no_grad():
        fixed = prepared(net, probe.clamps)
        aims = ordered_targets(net, probe.targets, fixed)
        start = ordered_states(net, states, fixed)
        phase = free_phase(net, steps, step, None)
        free = _rested(net, start, fixed, None, phase)
        clamped = _rested(net, start, fixed, aims, phase)
    contrasted = RULES[rule].objective == "E(clamped) - E(free)"
    value = clamped[0] - free[0] if contrasted else clamped[0]
    eps = torch.finfo(torch.float64).eps
    return value, clamped[1] + free[1] + 8 * eps * (abs(clamped[0]) + abs(free[0]))


def _rested(
    net: Any, start: Sequence[Tensor], fixed: Fixed, aims: Sequence[Tensor] | None, phase: Phase
) -> tuple[float, float]:
    """Return the mean energy where a phase rests, and its change over the last look."""
    states, value, last, residual = [x.clone() for x in start], math.nan, math.nan, math.inf
    for _ in range(LOOKS):
        if aims is None:
            once = run_free_phase(net, states, fixed, phase)
        else:
            once = run_clamped_phase(net, states, fixed, aims, phase)
        states, last, before = list(once.states), value, residual
        value, residual = float(energy(net, states, fixed).mean()), float(once.residual.max())
        if math.isfinite(last) and (residual < 1e-14 or residual > 0.9 * before):
            break
    return value, abs(value - last)
