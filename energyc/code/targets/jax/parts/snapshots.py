"""Two nudged phases to the step at which their contrast was most settled."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from energyc.code.targets.jax.parts.network import NUDGE_STEPS, SNAPSHOTS, Fixed, Params, States, Targets
from energyc.code.targets.jax.parts.nudged import Advance, less
from energyc.code.targets.jax.parts.steps import chosen, length


def phases(
    params: Params, free: States, fixed: Fixed, targets: Targets, beta: Array | float, advance: Advance
) -> tuple[States, States]:
    """Both nudged phases, of each sample where SNAPSHOTS steps changed their contrast least, of NUDGE_STEPS.

    A sample whose contrast changes ten times as fast at the end as at first diverges, and becomes NaN.
    """

    def both(_: Array, pair: tuple[States, States]) -> tuple[States, States]:
        return advance(params, *pair, free, fixed, targets, beta)

    def look(number: Array, seen: Any) -> Any:
        pair, best, smallest, first, _ = seen
        after = lax.fori_loop(0, SNAPSHOTS, both, pair)
        turned = jnp.stack([length(c) for c in less(less(*after), less(*pair))]).max(0)
        better = (turned < smallest) | (number == 1)
        first = jnp.where(number == 1, turned, first)
        return after, chosen(better, after, best), jnp.where(better, turned, smallest), first, turned

    pair, none = lax.fori_loop(0, SNAPSHOTS, both, (free, free)), jnp.zeros(len(free[0]), free[0].dtype)
    seen = lax.fori_loop(1, NUDGE_STEPS // SNAPSHOTS, look, (pair, pair, none, none, none))
    _, (plus, minus), _, first, last = seen
    return chosen(last <= 10 * first, plus, jax.tree.map(lambda x: x * jnp.nan, plus)), minus
