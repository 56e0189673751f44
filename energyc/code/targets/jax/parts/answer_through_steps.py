"""The answers of a network of layers, which ``jax.grad`` goes through by all steps."""

from __future__ import annotations

from functools import partial

from energyc.code.targets.jax.parts.layers import visit
from energyc.code.targets.jax.parts.network import Clamps, Layer, Params, Readouts, blocks, readouts


def answer(params: Params, clamps: Clamps) -> Readouts:
    """The readouts, which ``jax.grad`` goes through by all steps."""
    return readouts(params, blocks(params, clamps, partial(visit, Layer.by_bptt, None))[0], clamps)
