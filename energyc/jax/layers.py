"""Relaxations as operations with a way back of their own, that of a learning rule; and networks of layers of them.

A layer is a :class:`Model`. Around the layers ``jax.grad`` differentiates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

from .equilibrium import Equilibrium, added, total_vjp
from .model import Clamps, Gradients, Model, Params, Readouts, Records, Relaxed, Targets
from .relaxation import free_phase
from .rules import Rule, bptt, implicit, mean
from .steps import System

#: Relaxes a layer with params and clamps of its own: ``visit(layer, params, clamps)``; its readouts, and its end.
Visit: TypeAlias = Callable[[Model, Params, Clamps], tuple[Readouts, Relaxed]]


@partial(jax.custom_vjp, nondiff_argnums=(0, 2))
def visit(rule: Rule, beta: Any, layer: Model, params: Params, clamps: Clamps) -> tuple[Readouts, Relaxed]:
    """The readouts of a layer at its rest, and its free phase, which nothing comes back to.

    ``beta`` is the strength of a nudge, None for the layer's own.
    """
    return _settled(layer, params, clamps)


def _settled(layer: Model, params: Params, clamps: Clamps) -> tuple[Readouts, Relaxed]:
    """The same, without a way back."""
    assert layer.readouts is not None
    system, free = free_phase(System(layer, params, layer.prepared(params, clamps)))
    return layer.readouts(params, free.states, system.fixed), free


def _forward(rule: Rule, beta: Any, layer: Model, params: Params, clamps: Clamps) -> tuple[Any, Any]:
    """The same, and what the way back needs."""
    values, free = _settled(layer, params, clamps)
    return (values, free), (params, clamps, free, beta)


def _backward(rule: Rule, layer: Model, kept: Any, cotangents: tuple[Readouts, Any]) -> tuple[Any, Params, Clamps]:
    """Cotangents of the nudging strength (zero), of params and of clamps."""
    params, clamps, free, beta = kept
    assert layer.readouts is not None
    system = System(layer, params, layer.prepared(params, clamps)).paced(free.pace)
    _, seeds, direct = total_vjp(system, layer.readouts, free.states, clamps, cotangents[0])
    at = Equilibrium(system, clamps, free, lambda states: seeds)
    slopes = added(rule.back(at, **({} if beta is None else {"beta": beta})), direct)
    return jax.tree.map(jnp.zeros_like, beta), slopes.params, slopes.clamps


visit.defvjp(_forward, _backward)


@dataclass(frozen=True, eq=False)
class LayeredModel:
    """The equations around layers. ``blocks(params, clamps, visit)`` gives what the answers read, and each layer's end.

    ``readouts(params, values, clamps)`` and ``cost(params, values, clamps, targets)`` are the answers.
    """

    records: Records
    blocks: Callable[[Params, Clamps, Visit], tuple[Any, list[Relaxed]]]
    init: Callable[..., Params] | None = None
    readouts: Callable[..., Any] | None = None
    cost: Callable[..., Array] | None = None

    def learned(self, rule: Rule, params: Params, clamps: Clamps, targets: Targets, beta: Any = None) -> Gradients:
        """The gradient of the mean cost by a rule's way back through each layer; NaN where a sample exploded."""

        def summed(params: Params) -> tuple[Array, tuple[Array, Relaxed]]:
            values, ends = self.blocks(params, clamps, partial(visit, rule, beta))
            assert self.cost is not None
            costs = self.cost(params, values, clamps, targets)
            return costs.sum(), (costs, _together(self, ends, clamps))

        slopes, (costs, free) = jax.grad(summed, has_aux=True)(params)
        return Gradients(mean(slopes, free.residual), costs, free)


def relax(model: Model | LayeredModel, params: Params, clamps: Clamps) -> Relaxed:
    """Let the states relax from their start, those of layers one layer after the other.

    Returns states [batch, ...], and of each sample the residual, infinite if it exploded, and the steps. A network that
    is another one in training relaxes as outside of it.
    """
    if isinstance(model, Model):
        return free_phase(System(model, params, model.prepare(params, clamps)))[1]
    return _together(model, model.blocks(params, clamps, _settled)[1], clamps)


def answer(model: Model | LayeredModel, params: Params, clamps: Clamps, rule: Rule = implicit) -> Readouts:
    """The readouts at rest, which ``jax.grad`` goes through by the way back of a rule in each layer.

    By default that is the implicit function theorem. They are differentiable in params and real clamps.
    """
    if isinstance(model, Model):
        return visit(rule, None, model, params, clamps)[0]
    assert model.readouts is not None
    return model.readouts(params, model.blocks(params, clamps, partial(visit, rule, None))[0], clamps)


def answer_through_steps(model: LayeredModel, params: Params, clamps: Clamps) -> Readouts:
    """The readouts, which ``jax.grad`` goes through by all steps of each layer."""
    return answer(model, params, clamps, bptt)


def copied(free: Relaxed) -> Relaxed:
    """The end of the copies of a layer: states [batch, copies, ...], the largest residual, the most steps."""
    states = jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), free.states)
    return Relaxed(states, free.residual.max(0), free.steps.max(0))


def by_copy(noise: Array | None) -> Array | None:
    """The noise of a layer, the copies first."""
    return None if noise is None else jnp.moveaxis(noise, 1, 0)


def _together(model: LayeredModel, ends: Sequence[Relaxed], clamps: Clamps) -> Relaxed:
    """The end of all layers; one that reads nothing of a sample has relaxed for one, which stands for all."""
    count = len(clamps[0]) if clamps else 1

    def whole(x: Array) -> Array:
        return jnp.broadcast_to(x, (count, *x.shape[1:]))

    states = model.records.states(*(whole(x) for free in ends for x in free.states))
    residual = jnp.stack([whole(free.residual) for free in ends]).max(0)
    return Relaxed(states, residual, jnp.stack([whole(free.steps) for free in ends]).max(0))
