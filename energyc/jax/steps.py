"""A model with params and with what no step changes: how its states move, and how far a step leads.

A step is ``S(z) = P(z + h F(z))``: P projects on the sets of the states, or is the proximal operator of kinks and sets.
In a sweep the states move block after block, each to its minimiser while the others are held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from .model import Fixed, Model, Params, States
from .sets import Kinks


@dataclass(frozen=True, eq=False)
class System:
    """The dynamics of a model's states."""

    model: Model
    params: Params
    fixed: Fixed

    def at_step(self, number: Array | int) -> System:
        """The same in the step of a number, which the force may read."""
        name = self.model.number
        return self if name is None else replace(self, fixed=self.fixed._replace(**{name: number}))

    def paced(self, pace: Array | float | None) -> System:
        """The same with step sizes multiplied by ``pace``, where a relaxation chooses them."""
        return self if pace is None else replace(self, fixed=self.fixed._replace(pace=pace))

    def force(self, states: States) -> States:
        """F, without kinks that move by proximal steps."""
        return self.model.force(self.params, states, self.fixed)

    def started(self) -> States:
        """The states before the first step, not yet on their sets."""
        return self.model.started(self.params, self.fixed)

    # ------------------------------------------------------------ steps

    @property
    def step_size(self) -> States:
        """h: the step size of each state."""
        own = self.model.step_size
        return jax.tree.map(lambda size: size * self.fixed.pace, own) if self.model.settings.automatic else own

    def along(self, slopes: States) -> States:
        """Each slope times the step size of its state."""
        return jax.tree.map(jnp.multiply, slopes, self.step_size)

    def moved(self, states: States, slopes: States) -> States:
        """Each state by its step size along a force."""
        return jax.tree.map(lambda z, f, h: z + h * f, states, slopes, self.step_size)

    def landed(self, states: States, sizes: States) -> States:
        """P for step sizes: the proximal points of corners, of the sets, of norms; without kinks the projection."""
        model = self.model
        if model.weights is None:
            return model.project(states)
        weights, landed = model.weights(self.params, self.fixed), list[Array]()
        for (name, own), x, size in zip(model.sets.items(), states, sizes, strict=True):
            kinks = model.kinks.get(name, Kinks())
            landed.append(kinks.shrunk(own.project(kinks.at_corners(x, size, weights)), size, weights))
        return model.records.states(*landed)

    def landed_vjp(self, at: States, cotangents: States) -> States:
        """``P^T cotangents`` at where a force led."""
        return jax.vjp(lambda states: self.landed(states, self.step_size), at)[1](cotangents)[0]

    def advanced(self, states: States, slopes: States) -> States:
        """Each state along a force, then where P leads."""
        return self.landed(self.moved(states, slopes), self.step_size)

    def simple_step(self, states: States) -> States:
        """S: one step of all states at once."""
        return self.advanced(states, self.force(states))

    def next_states(self, states: States) -> States:
        """One step of the free phase; a sweep where states move block after block."""
        if not self.model.blocks:
            return self.simple_step(states)
        for block in self.model.blocks:
            states = self._minimised(states, block(self.params, states, self.fixed))
        return states

    def nudged_sweep(
        self, states: States, beta: Array | float, push: Callable[[States], States], *, of_cost: bool
    ) -> States:
        """One sweep under the force less beta times ``push(states)``, from the last block to the first: outputs first.

        ``of_cost``: the push is the slope of the cost; that of a squared error bends by D. Another is held while its
        block moves.
        """
        bends = self.model.cost_slopes if of_cost else {}
        for block in reversed(self.model.blocks):
            pushed = push(states)
            forces = {
                name: (force - beta * getattr(pushed, name), _bent(slope, beta * bends.get(name, 0.0)))
                for name, (force, slope) in block(self.params, states, self.fixed).items()
            }
            states = self._minimised(states, forces)
        return states

    def _minimised(self, states: States, forces: Mapping[str, Any]) -> States:
        """A block where its energy is least: a state whose force is b - D z goes by 1 / D, another by its step."""
        own = self.model.step_size
        sizes = {name: getattr(own, name) if slope is None else 1 / slope for name, (_, slope) in forces.items()}
        led = {name: getattr(states, name) + sizes[name] * force for name, (force, _) in forces.items()}
        there = self.landed(states._replace(**led), own._replace(**sizes))
        return states._replace(**{name: getattr(there, name) for name in forces})

    # ------------------------------------------------------------ how far a step leads

    def residual(self, states: States) -> Array:
        """Return the length of the next joint step of all states: [batch]."""
        return self.change(states, self.simple_step(states))

    def change(self, before: States, after: States) -> Array:
        """Return the length of a step, in the norm of the settings: [batch], infinite if it is not finite."""
        model = self.model
        match model.settings.measure:
            case "energy":
                energies = [model.energy(self.params, states, self.fixed) for states in (after, before)]
                far = jnp.abs(energies[0] - energies[1])
            case "gradient":
                far = self._slope(before, after)
            case _:
                ratios = [length(a - b) / (length(b) + 1e-12) for a, b in zip(after, before, strict=True)]
                far = jnp.stack(ratios).max(0)
        return jnp.nan_to_num(far, nan=jnp.inf)

    def _slope(self, before: States, after: States) -> Array:
        """The length of the gradients that flows name, of other states that of the move by the step size."""
        model = self.model
        named = () if model.gradients is None else model.gradients(self.params, before, self.fixed)
        rows = zip(model.sets, before, after, model.step_size, strict=True)
        moves = [(b - a) / size for name, a, b, size in rows if name not in model.sloped and size > 0]
        return norm((*named, *moves))


def _bent(slope: Array | float | None, more: Array | float) -> Array | None:
    """D with the slope of a push; where that is not positive, D alone."""
    return None if slope is None else jnp.where(slope + more > 0, slope + more, slope)


# ---------------------------------------------------------------------- records of states


def length(x: Array) -> Array:
    """The Euclidean norm of each sample: [batch]."""
    return jnp.sqrt((x * x).reshape(len(x), -1).sum(1))


def norm(states: States) -> Array:
    """The Euclidean norm of all states of a sample: [batch]."""
    return jnp.sqrt(sum(length(x) ** 2 for x in states))


def per_sample(factor: Array, like: Array) -> Array:
    """Numbers [batch] with axes of size 1 behind, so that they broadcast to a state."""
    return factor.reshape(-1, *[1] * (like.ndim - 1))


def select(rows: Array, yes: States, no: States) -> States:
    """The states of ``yes`` in some samples, else those of ``no``."""
    return jax.tree.map(lambda y, n: jnp.where(per_sample(rows, y), y, n), yes, no)


def plus(states: States, other: States) -> States:
    """``states + other``."""
    return jax.tree.map(jnp.add, states, other)


def less(states: States, other: States, factor: Array | float = 1.0) -> States:
    """``states - factor * other``."""
    return jax.tree.map(lambda f, g: f - factor * g, states, other)
