"""A relaxation, and the free phase of a rule."""

from __future__ import annotations

from energyc.code.targets.jax.parts.bounded import free_phase
from energyc.code.targets.jax.parts.network import Clamps, Fixed, Params, prepare
from energyc.code.targets.jax.parts.records import Relaxed


def relax(params: Params, clamps: Clamps) -> Relaxed:
    """Let the states relax from their start."""
    return free_phase(params, prepare(params, clamps))


def free_run(params: Params, clamps: Clamps) -> tuple[Fixed, Relaxed]:
    """A free phase, and what none of its steps changes."""
    fixed = prepared(params, clamps)
    return fixed, free_phase(params, fixed)


def prepared(params: Params, clamps: Clamps) -> Fixed:
    """What no step of a free phase changes that a rule learns from."""
    return prepare(params, clamps)
