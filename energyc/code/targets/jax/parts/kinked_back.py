"""Back through steps of which proximal ones are a part."""

from __future__ import annotations

from energyc.code.targets.jax.parts.kinks import kinked_vjp
from energyc.code.targets.jax.parts.network import Fixed, Params, Slopes, States
from energyc.code.targets.jax.parts.steps import step


def step_pull(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """J^T cotangents of the force without its kinks, and the slopes by params: of kinks those where the step leads."""
    return kinked_vjp(params, states, step(params, states, fixed), fixed, cotangents)
