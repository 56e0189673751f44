"""The strength of a nudge that the spec sets."""

from __future__ import annotations

from energyc.code.targets.jax.parts.network import BETA, Fixed, Params, Targets
from energyc.code.targets.jax.parts.nudged import Drive
from energyc.code.targets.jax.parts.records import Relaxed


def strength(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    targets: Targets,
    drive: Drive,
    order: int = 2,
) -> float:
    """That of the spec."""
    return BETA
