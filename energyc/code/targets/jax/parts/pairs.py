"""Two nudged phases to their last step."""

from __future__ import annotations

from jax import Array, lax

from energyc.code.targets.jax.parts.network import NUDGE_STEPS, Fixed, Params, States, Targets
from energyc.code.targets.jax.parts.nudged import Advance


def phases(
    params: Params, free: States, fixed: Fixed, targets: Targets, beta: Array | float, advance: Advance
) -> tuple[States, States]:
    """Both nudged phases after NUDGE_STEPS steps."""

    def both(_: Array, pair: tuple[States, States]) -> tuple[States, States]:
        return advance(params, *pair, free, fixed, targets, beta)

    return lax.fori_loop(0, NUDGE_STEPS, both, (free, free))
