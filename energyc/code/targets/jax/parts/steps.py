"""One step of the states, and how far it leads."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from energyc.code.targets.jax.parts.network import (
    STEP,
    STEPS,
    Fixed,
    Params,
    States,
    force,
    project,
    project_vjp,
    terms,
)
from energyc.code.targets.jax.parts.records import Relaxed


def energy(params: Params, states: States, fixed: Fixed) -> Array:
    """The energy of each sample."""
    return sum(terms(params, states, fixed).values(), jnp.zeros(len(states[0]), states[0].dtype))


def step_sizes(fixed: Fixed) -> States:
    """The step size of each state."""
    return STEP


def moved(fixed: Fixed, states: States, slopes: States) -> States:
    """Each state by its step size along a force."""
    return jax.tree.map(lambda z, f, h: z + h * f, states, slopes, step_sizes(fixed))


def along(fixed: Fixed, slopes: States) -> States:
    """Each slope times the step size of its state."""
    return jax.tree.map(jnp.multiply, slopes, step_sizes(fixed))


def advanced(params: Params, states: States, fixed: Fixed, slopes: States) -> States:
    """Each state along a force, then onto its set."""
    return project(moved(fixed, states, slopes))


def advanced_vjp(params: Params, at: States, fixed: Fixed, cotangents: States) -> States:
    """P^T cotangents, P the derivative by which a step goes on from where its force led."""
    return project_vjp(at, cotangents)


def step(params: Params, states: States, fixed: Fixed) -> States:
    """One step: each state along its force, then onto its set."""
    return advanced(params, states, fixed, force(params, states, fixed))


def residual(params: Params, states: States, fixed: Fixed) -> Array:
    """How far the next step leads, of each sample."""
    return change(params, states, advanced(params, states, fixed, force(params, states, fixed)), fixed)


def rested(params: Params, states: States, fixed: Fixed) -> Relaxed:
    """The end of STEPS steps, settled or not."""
    left = residual(params, states, fixed)
    return Relaxed(states, left, jnp.full(left.shape, STEPS))


def change(params: Params, before: States, after: States, fixed: Fixed) -> Array:
    """The largest ``|after - before| / (|before| + 1e-12)`` of a state, infinite where it is not finite."""
    ratios = [length(a - b) / (length(b) + 1e-12) for a, b in zip(after, before, strict=True)]
    return jnp.nan_to_num(jnp.stack(ratios).max(0), nan=jnp.inf)


def length(x: Array) -> Array:
    """The Euclidean norm of each sample."""
    return jnp.sqrt((x * x).reshape(len(x), -1).sum(1))


def chosen(rows: Array, yes: States, no: States) -> States:
    """Of some samples one, of the others another."""
    return jax.tree.map(lambda y, n: jnp.where(rows.reshape(-1, *[1] * (y.ndim - 1)), y, n), yes, no)
