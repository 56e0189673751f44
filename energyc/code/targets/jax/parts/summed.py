"""Back through steps by slopes of which some are added up over all of them before they are multiplied out."""

from __future__ import annotations

from energyc.code.targets.jax.parts.network import SUMS, Fixed, Params, Slopes, step_vjp, sums_gradient
from energyc.code.targets.jax.parts.trajectories import Pull

#: The pull of a step.
step_pull: Pull = step_vjp


def of_all_steps(params: Params, fixed: Fixed, slopes: Slopes) -> list[Slopes]:
    """The slopes by params of all steps, by what ``step_pull`` gave, added up."""
    return [slopes, sums_gradient(params, fixed, [slopes[name] for name in SUMS])]
