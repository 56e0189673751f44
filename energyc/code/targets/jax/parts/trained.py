"""What rules learn from, of a network that is another one in training."""

from __future__ import annotations

from energyc.code.targets.jax.parts.network import Clamps, Fixed, Params, prepare


def prepared(params: Params, clamps: Clamps) -> Fixed:
    """What no step of a free phase in training changes."""
    return prepare(params, clamps, training=True)
