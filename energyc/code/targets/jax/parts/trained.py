"""The free phase that rules go back through, of a network that is another one in training."""

from __future__ import annotations

from energyc.code.targets.jax.parts.bounded import free_phase
from energyc.code.targets.jax.parts.network import Clamps, Fixed, Params, prepare
from energyc.code.targets.jax.parts.records import Relaxed


def free_run(params: Params, clamps: Clamps) -> tuple[Fixed, Relaxed]:
    """A free phase as in training, and what none of its steps changes."""
    fixed = prepare(params, clamps, training=True)
    return fixed, free_phase(params, fixed)
