"""Back through steps of which proximal ones are a part."""

from __future__ import annotations

from typing import Any

from energyc.code.targets.jax.parts.kinks import kinked_vjp
from energyc.code.targets.jax.parts.network import Fixed, Params, Slopes, States
from energyc.code.targets.jax.parts.records import Relaxed
from energyc.code.targets.jax.parts.steps import step
from energyc.code.targets.jax.parts.trajectories import back


def through_steps(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    seeds: States,
    path: Any,
) -> tuple[States, list[Slopes]]:
    """Cotangents of where the states began a path, not yet on their sets, and the slopes of its steps."""
    first, slopes = back(params, free, fixed, seeds, path, kinked_step)
    return first, [slopes]


def kinked_step(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """J^T cotangents of the force without its kinks, and the slopes by params: of kinks those where the step leads."""
    return kinked_vjp(params, states, step(params, states, fixed), fixed, cotangents)
