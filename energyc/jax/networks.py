"""Relaxations as operations with a way back of their own, that of a learning rule; networks of layers of them; objects.

A layer is a :class:`Model`. Around the layers ``jax.grad`` differentiates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
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


# ---------------------------------------------------------------------- a network with params of its own


class Network:
    """A network with params of its own; params, clamps and targets are arrays by the names of the spec.

    A module sets its ``model``, its ``rules``, and the ``names`` of the spec by kind where fields of records are called
    otherwise.

    Raises ValueError for float64 where JAX is not told to use it, for a rule that is not in the module, and for inputs
    that are missing or unknown.
    """

    model: ClassVar[Any]
    names: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    rules: ClassVar[Mapping[str, Callable[..., Gradients]]] = {}

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        records = cls.model.records._asdict().items()
        fields = {kind: () if record is None else record._fields for kind, record in records}
        optional = getattr(cls.model.records.clamps, "_field_defaults", {})
        fields["noises"] = tuple(name for name in fields["clamps"] if name in optional)
        fields["clamps"] = tuple(name for name in fields["clamps"] if name not in optional)
        cls.names = {**fields, **cls.names}

    def __init__(self, device: object = None, dtype: object = None, seed: int = 0) -> None:
        self.dtype = jnp.dtype(str(dtype or "float32").removeprefix("torch."))
        if self.dtype == jnp.float64 and not jax.config.jax_enable_x64:
            raise ValueError('JAX uses float64 only after jax.config.update("jax_enable_x64", True)')
        drawn = self.model.init(jax.random.key(seed), self.dtype)
        self.params = {name: np.array(x) for name, x in zip(self.names["params"], drawn, strict=True)}

    def relax(self, clamps: Mapping[str, Any]) -> Relaxed:
        """Let the states relax; they are arrays by their names."""
        free = jax.jit(partial(relax, self.model))(*self.given(clamps))
        return free._replace(states=dict(zip(self.names["states"], free.states, strict=True)))

    def gradients(
        self, clamps: Mapping[str, Any], targets: Mapping[str, Any], rule: str | None = None
    ) -> dict[str, Array]:
        """The gradient of the mean cost by a rule of the module, by default its first."""
        rule = rule or next(iter(self.rules), "")
        if rule not in self.rules:
            raise ValueError(f"there is no rule {rule} in this module, but {', '.join(self.rules) or 'none'}")
        aims = self.model.records.targets(**self.ordered("targets", targets))
        found = jax.jit(self.rules[rule])(*self.given(clamps), aims)
        return dict(zip(self.names["params"], found.params, strict=True))

    def given(self, clamps: Mapping[str, Any]) -> tuple[Params, Clamps]:
        """Params and clamps as the functions of the module take them."""
        records = self.model.records
        params = records.params(*map(jnp.asarray, self.params.values()))
        return params, records.clamps(**self.ordered("clamps", clamps))

    def ordered(self, kind: str, arrays: Mapping[str, Any]) -> dict[str, Array]:
        """Arrays by the fields of their record; real ones in the dtype of the params."""
        own = self.names[kind]
        known = (*own, *self.names["noises"]) if kind == "clamps" else own
        if not set(own) <= set(arrays) <= set(known):
            raise ValueError(f"the {kind} are {', '.join(known)}, not {', '.join(arrays)}")
        fields = zip(known, getattr(self.model.records, kind)._fields, strict=True)
        made = {field: jnp.asarray(np.asarray(arrays[name])) for name, field in fields if name in arrays}
        return {n: x.astype(self.dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x for n, x in made.items()}
