"""The adjoint equation of the states at rest, and the gradient by it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.custom_derivatives import linear_call
from jax.scipy.sparse.linalg import gmres

from energyc.code.targets.jax.parts.free_run import free_run
from energyc.code.targets.jax.parts.gradients import gradients, mean_cost_vjp
from energyc.code.targets.jax.parts.network import (
    Clamps,
    Fixed,
    Params,
    States,
    Targets,
    force,
    force_vjp,
)
from energyc.code.targets.jax.parts.records import Gradients
from energyc.code.targets.jax.parts.steps import advanced_vjp, along, length, moved


def implicit(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """The exact gradient at an equilibrium.

    lambda = dC/dz + (I + step J)^T P^T lambda,    dC/dtheta = <step P^T lambda, dF/dtheta> + direct
    """
    fixed, free = free_run(params, clamps)
    seeds, direct = mean_cost_vjp(params, free, fixed, targets)
    pushed = solved(params, free.states, fixed, seeds)
    return gradients(params, free, fixed, targets, [force_vjp(params, free.states, fixed, pushed)[1], direct])


def solved(params: Params, states: States, fixed: Fixed, seeds: States) -> States:
    """``step P^T lambda`` of the adjoint equation, by repeating the transposed step, then by GMRES.

    Both solve for P^T lambda, in which the entries that P holds are 0: J may be infinite there.

    NaN of all samples where neither comes to rest: there may be no isolated equilibrium.
    """
    goal = 1e-12 if states[0].dtype == jnp.float64 else 1e-5
    at = moved(fixed, states, force(params, states, fixed))
    seeds = advanced_vjp(params, at, fixed, seeds)
    size = norm(seeds)

    def back(a: States) -> States:
        """P^T (I + step J)^T a."""
        pushed = force_vjp(params, states, fixed, along(fixed, a))[0]
        return advanced_vjp(params, at, fixed, jax.tree.map(jnp.add, a, pushed))

    def rest(a: States) -> States:
        return jax.tree.map(jnp.subtract, a, back(a))

    def operator(a: States) -> States:
        """``rest`` for GMRES, which transposes it and uses nothing of that: tests for 0 in it have no transpose."""
        return linear_call(lambda _, v: rest(v), lambda _, v: jax.tree.map(lambda x: jnp.nan * x, v), (), a)

    def goes_on(run: tuple[States, Array, Array]) -> Array:
        _, left, count = run
        return (left > goal * size).any() & (count < 200)

    def further(run: tuple[States, Array, Array]) -> tuple[States, Array, Array]:
        a, _, count = run
        after = jax.tree.map(jnp.add, seeds, back(a))
        return after, norm(jax.tree.map(jnp.subtract, after, a)), count + 1

    a, left, _ = lax.while_loop(goes_on, further, (seeds, jnp.full_like(size, jnp.inf), jnp.asarray(0)))
    near = jnp.isfinite(left).all() & (left <= size).all()
    first = jax.tree.map(lambda x, s: jnp.where(near, x, s), a, seeds)

    def by_gmres(_: States) -> States:
        a = gmres(operator, seeds, first, tol=goal / 10, restart=60, maxiter=40)[0]
        wrong = norm(jax.tree.map(jnp.subtract, rest(a), seeds)) > 1e3 * goal * size
        return jax.tree.map(lambda x: jnp.where(wrong.any(), jnp.nan, x), a)

    a = lax.cond((left <= goal * size).all(), lambda x: x, by_gmres, first)
    return along(fixed, a)


def norm(states: States) -> Array:
    """The Euclidean norm of all states of a sample."""
    return jnp.sqrt(sum(length(x) ** 2 for x in states))
