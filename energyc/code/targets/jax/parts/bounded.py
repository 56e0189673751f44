"""A free phase of states that cannot explode, since each is kept in a bounded set."""

from __future__ import annotations

from jax import Array

from energyc.code.targets.jax.parts.exact_steps import settle
from energyc.code.targets.jax.parts.network import Fixed, Params, States, project, start
from energyc.code.targets.jax.parts.records import Relaxed


def free_phase(params: Params, fixed: Fixed) -> Relaxed:
    """The states from their start to where they rest."""
    return settle(params, project(start(params, fixed)), fixed)


def checked(params: Params, before: States, after: States, fixed: Fixed, residual: Array) -> Array:
    """The residual of each sample, none of which exploded."""
    return residual
