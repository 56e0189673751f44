"""What is around layers: each of them is one operation, with a way back of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

from energyc.code.targets.jax.parts.gradients import added, cotangent
from energyc.code.targets.jax.parts.network import Clamps, Layer, Params, States, Targets, blocks, cost
from energyc.code.targets.jax.parts.records import Gradients, Relaxed

#: A record of arrays of a layer: each has its own.
Record: TypeAlias = Any
#: Slopes of a layer by params and clamps: ``way(layer, params, free, fixed, cotangents, beta)``.
Way = Callable[..., list[dict[str, Array]]]
#: Relaxes a layer with params and clamps of its own: its readouts, and where it ended.
Visit = Callable[[Any, Any, Any], tuple[Any, Any]]


def relax(params: Params, clamps: Clamps) -> Relaxed:
    """Let the layers relax one after the other."""
    return together(blocks(params, clamps, settled)[1], clamps)


def learned(way: Way, params: Params, clamps: Clamps, targets: Targets, beta: Array | float | None = None) -> Gradients:
    """The gradient of the mean cost by a way through each layer; NaN where a sample exploded."""

    def total(params: Params) -> tuple[Array, tuple[Array, Relaxed]]:
        values, ends = blocks(params, clamps, partial(visit, way, beta))
        costs = cost(params, values, clamps, targets)
        return costs.sum(), (costs, together(ends, clamps))

    slopes, (costs, free) = jax.grad(total, has_aux=True)(params)
    share = jnp.where(jnp.isfinite(free.residual).all(), 1.0, jnp.nan) / len(costs)
    return Gradients(jax.tree.map(lambda x: share * x, slopes), costs, free)


@partial(jax.custom_vjp, nondiff_argnums=(0, 2))
def visit(way: Way, beta: Array | float | None, layer: Layer, params: Record, clamps: Record) -> tuple[Record, Relaxed]:
    """The readouts of a layer at its rest, and its free phase, which nothing comes back to."""
    return settled(layer, params, clamps)


def visited(way: Way, beta: Array | float | None, layer: Layer, params: Record, clamps: Record) -> tuple[Any, Any]:
    """The same, and what the way back needs."""
    values, free = settled(layer, params, clamps)
    return (values, free), (params, clamps, free, beta)


def settled(layer: Layer, params: Record, clamps: Record) -> tuple[Record, Relaxed]:
    """The same, without a way back."""
    fixed = layer.prepare(params, clamps)
    free = layer.free_phase(params, fixed)
    return layer.readouts(params, free.states, fixed), free


def gone_back(way: Way, layer: Layer, kept: Any, cotangents: tuple[Record, Relaxed]) -> tuple[Any, Record, Record]:
    """The cotangents of the strength of the nudge, which has none, of params and of clamps."""
    params, clamps, free, beta = kept
    fixed = layer.prepare(params, clamps)
    seeds, direct = layer.readout_vjp(params, free.states, fixed, cotangents[0])
    slopes = [direct, *way(layer, params, free, fixed, seeds, beta)]
    of_params = {name: added(name, x, slopes) for name, x in params._asdict().items()}
    of_clamps = {name: cotangent(name, x, slopes) for name, x in clamps._asdict().items()}
    return jax.tree.map(jnp.zeros_like, beta), type(params)(**of_params), type(clamps)(**of_clamps)


visit.defvjp(visited, gone_back)


def copied(free: Relaxed) -> Relaxed:
    """Where the copies of a layer ended: states [batch, copies, ...], the largest residual, the most steps."""
    states = jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), free.states)
    return Relaxed(states, free.residual.max(0), free.steps.max(0))


def by_copy(noise: Array | None) -> Array | None:
    """The noise of a layer, the copies first."""
    return None if noise is None else jnp.moveaxis(noise, 1, 0)


def together(ends: Sequence[Relaxed], clamps: Clamps) -> Relaxed:
    """Where all layers ended; one that reads nothing of a sample has relaxed for one, which stands for all."""
    count = len(clamps[0]) if clamps else 1

    def whole(x: Array) -> Array:
        return jnp.broadcast_to(x, (count, *x.shape[1:]))

    states = States(*(whole(x) for free in ends for x in free.states))
    residual = jnp.stack([whole(free.residual) for free in ends]).max(0)
    return Relaxed(states, residual, jnp.stack([whole(free.steps) for free in ends]).max(0))
