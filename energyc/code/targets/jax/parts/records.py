"""What relaxations and learning rules give."""

from __future__ import annotations

from typing import NamedTuple

from jax import Array

from energyc.code.targets.jax.parts.network import Params, States

#: Slopes by the fields of params and clamps, those of params summed over the batch.
Slopes = dict[str, Array]


class Relaxed(NamedTuple):
    """Where a relaxation ended: states, and of each sample the residual, infinite if it exploded, and the steps."""

    states: States
    residual: Array
    steps: Array


class Gradients(NamedTuple):
    """The gradient of the mean cost, the cost of each sample, and the free phase that they belong to."""

    params: Params
    cost: Array
    free: Relaxed
