"""A free phase of states that cannot explode, since each is kept in a bounded set."""

from __future__ import annotations

from energyc.code.targets.jax.parts.exact_steps import settle
from energyc.code.targets.jax.parts.network import Clamps, Fixed, Params, prepare, project, start
from energyc.code.targets.jax.parts.records import Relaxed


def relax(params: Params, clamps: Clamps) -> Relaxed:
    """Let the states relax from their start."""
    return free_phase(params, prepare(params, clamps))


def free_phase(params: Params, fixed: Fixed) -> Relaxed:
    """The same, with what is fixed in it."""
    return settle(params, project(start(params, fixed)), fixed)
