"""Block descent: the states move block after block, each to its minimiser while the others are held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jax import Array

from energyc.code.targets.jax.parts.network import (
    BLOCKS,
    COST_SLOPES,
    STEP,
    Fixed,
    Params,
    States,
    Targets,
    block,
    project,
)
from energyc.code.targets.jax.parts.nudged import Drive
from energyc.code.targets.jax.parts.plain_nudge import cost_force


def step(params: Params, states: States, fixed: Fixed) -> States:
    """One sweep: each block moves while the others are held."""
    for number in range(BLOCKS):
        states = moved_block(params, states, fixed, block(number, params, states, fixed))
    return states


def nudged_step(
    params: Params, states: States, fixed: Fixed, targets: Targets, beta: Array | float, drive: Drive
) -> States:
    """One sweep under the force less beta times its drive, from the last block to the first: outputs come first.

    The slope of a squared error is added to D. Another drive is held while its block moves.
    """
    bends = COST_SLOPES if drive == cost_force else {}
    for number in reversed(range(BLOCKS)):
        push = drive(params, states, fixed, targets)
        forces = {
            name: (force - beta * getattr(push, name), bent(slope, beta * bends.get(name, 0.0)))
            for name, (force, slope) in block(number, params, states, fixed).items()
        }
        states = moved_block(params, states, fixed, forces)
    return states


def moved_block(params: Params, states: States, fixed: Fixed, forces: Mapping[str, Any]) -> States:
    """A block where its energy is least: a state whose force is b - D z goes by 1 / D, another by its step."""
    steps = {name: getattr(STEP, name) if slope is None else 1 / slope for name, (_, slope) in forces.items()}
    led = {name: getattr(states, name) + steps[name] * force for name, (force, _) in forces.items()}
    there = project(states._replace(**led))
    return states._replace(**{name: getattr(there, name) for name in forces})


def bent(slope: Array | float | None, more: Array | float) -> Array | None:
    """D with the slope of a push; where that is not positive, D alone."""
    return None if slope is None else jnp.where(slope + more > 0, slope + more, slope)
