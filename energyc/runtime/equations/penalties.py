"""Penalties that keep training healthy: a residual defence and one on the Jacobian, each with its slope."""

from __future__ import annotations

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.gradients import Slopes
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed, FreePhase, RuleSettings
from energyc.runtime.tensors.states import norm, per_sample

#: What was measured, its name first: [batch]; and the slope by param of its weight times it, summed over the batch.
Penalty = tuple[str, Tensor, Slopes]


@part("penalty", "defence")
def residual_defence(net: Equations, free: FreePhase, fixed: Fixed, settings: RuleSettings) -> Penalty:
    """|step F|^2 / |z|^2 of each sample, and the slope of ``settings.defence`` times it.

    Raises ValueError where a kink moves by a proximal step, which the force does not tell of.
    """
    if net.kinked:
        raise ValueError(f"a residual defence reads the whole force, and {net.name} has kinks that move proximally")
    force, step = net._force(free.states, fixed), free.step
    sizes = [norm(x).square() + 1e-12 for x in free.states]
    value = sum((h * norm(f)).square() / s for f, h, s in zip(force, step, sizes))
    cotangents = [2 * settings.defence * h * h * f / per_sample(s, f) for f, h, s in zip(force, step, sizes)]
    return "defence", torch.as_tensor(value), net._force_vjp(free.states, fixed, cotangents)[1]


@part("penalty", "jacobian")
def jacobian_penalty(net: Equations, free: FreePhase, fixed: Fixed, settings: RuleSettings) -> Penalty:
    """|J_nc w|^2 / dim for one w a sample (Hutchinson 1989), and the slope of ``settings.penalty`` times it."""
    along = settings.directions or [torch.randn_like(x) for x in free.states]
    weight, size = settings.penalty, sum(x[0].numel() for x in free.states)
    (square,), slopes = net._penalty(free.states, fixed, along)
    return "penalty", square / size, {name: weight / size * slope for name, slope in slopes.items()}
