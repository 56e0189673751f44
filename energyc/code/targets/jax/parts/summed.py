"""Back through steps by slopes of which some are added up over all of them before they are multiplied out."""

from __future__ import annotations

from typing import Any

from energyc.code.targets.jax.parts.network import SUMS, Fixed, Params, Slopes, States, step_vjp, sums_gradient
from energyc.code.targets.jax.parts.records import Relaxed
from energyc.code.targets.jax.parts.trajectories import back


def through_steps(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    seeds: States,
    path: Any,
) -> tuple[States, list[Slopes]]:
    """Cotangents of where the states began a path, not yet on their sets, and the slopes of its steps."""
    first, slopes = back(params, free, fixed, seeds, path, step_vjp)
    return first, [slopes, sums_gradient(params, fixed, [slopes[name] for name in SUMS])]
