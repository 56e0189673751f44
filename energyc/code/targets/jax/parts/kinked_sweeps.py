"""Moves of blocks whose kinks move by proximal steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from energyc.code.targets.jax.parts.network import STEP, Fixed, Params, States, proximal


def moved_block(params: Params, states: States, fixed: Fixed, forces: Mapping[str, Any]) -> States:
    """A block where its energy is least: a state whose force is b - D z goes by 1 / D, another by its step."""
    steps = {name: getattr(STEP, name) if slope is None else 1 / slope for name, (_, slope) in forces.items()}
    led = {name: getattr(states, name) + steps[name] * force for name, (force, _) in forces.items()}
    there = proximal(params, fixed, states._replace(**led), STEP._replace(**steps))
    return states._replace(**{name: getattr(there, name) for name in forces})
