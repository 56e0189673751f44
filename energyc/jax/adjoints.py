"""The adjoint equation of the states at rest, solved; the same equation relaxed; and the adjoint of a free phase."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.custom_derivatives import linear_call
from jax.scipy.sparse.linalg import gmres

from .equilibrium import Equilibrium, Total
from .model import Clamps, Params, States
from .steps import System, less, norm, plus, select


def solved(at: Equilibrium, seeds: States) -> States:
    """``h P^T lambda`` of ``lambda = seeds + (I + h J)^T P^T lambda``, by repeating the transposed step, then by GMRES.

    Both solve for P^T lambda, in which the entries that P holds are 0: J may be infinite there. NaN of all samples
    where neither converges: there may be no isolated equilibrium.
    """
    system, states = at.system, at.states
    goal = 1e-12 if states[0].dtype == jnp.float64 else 1e-5
    _, pull = jax.vjp(system.force, states)
    led = system.moved(states, system.force(states))
    seeds = system.landed_vjp(led, seeds)
    size = norm(seeds)

    def back(a: States) -> States:
        """``P^T (I + h J)^T a``."""
        return system.landed_vjp(led, plus(a, pull(system.along(a))[0]))

    def rest(a: States) -> States:
        return less(a, back(a))

    def operator(a: States) -> States:
        """``rest`` for GMRES, which transposes it and uses nothing of that: tests for 0 in it have no transpose."""
        return linear_call(lambda _, v: rest(v), lambda _, v: jax.tree.map(lambda x: jnp.nan * x, v), (), a)

    def goes_on(run: tuple[States, Array, Array]) -> Array:
        _, left, count = run
        return (left > goal * size).any() & (count < 200)

    def further(run: tuple[States, Array, Array]) -> tuple[States, Array, Array]:
        a, _, count = run
        after = plus(seeds, back(a))
        return after, norm(less(after, a)), count + 1

    a, left, _ = lax.while_loop(goes_on, further, (seeds, jnp.full_like(size, jnp.inf), jnp.asarray(0)))
    near = jnp.isfinite(left).all() & (left <= size).all()
    first = jax.tree.map(lambda x, s: jnp.where(near, x, s), a, seeds)

    def by_gmres(_: States) -> States:
        a = gmres(operator, seeds, first, tol=goal / 10, restart=60, maxiter=40)[0]
        wrong = norm(less(rest(a), seeds)) > 1e3 * goal * size
        return jax.tree.map(lambda x: jnp.where(wrong.any(), jnp.nan, x), a)

    a = lax.cond((left <= goal * size).all(), lambda x: x, by_gmres, first)
    return system.along(a)


def relaxed_adjoint(at: Equilibrium) -> States:
    """The adjoint a after ``nudge_steps`` of ``a <- P^T (a + h (J^T a + dC/dz))`` beside steps of the states."""
    system = at.system

    def both(_: Array, pair: tuple[States, States]) -> tuple[States, States]:
        states, a = pair
        force, pull = jax.vjp(system.force, states)
        after = plus(a, system.along(plus(pull(a)[0], at.cost_slope(states))))
        return system.advanced(states, force), system.landed_vjp(system.moved(states, force), after)

    return lax.fori_loop(0, at.settings.nudge_steps, both, (at.states, at.none()))[1]


def through_steps(
    system: System, clamps: Clamps, steps: Array | int, last: int | None
) -> tuple[States, Callable[[States], Total]]:
    """The states after ``steps`` steps, [batch] or of all samples, and the VJP of the ``last`` steps of each sample.

    None are all of them, from the start on. Each step is evaluated again on the way back, from where it began.

    lambda_k = (I + h J)^T P^T lambda_(k+1),    slopes = sum_k <h P^T lambda_(k+1), dF(z_k)>
    """
    model, by_sample = system.model, not isinstance(steps, int)
    most = model.settings.longest if by_sample else steps
    count = most if last is None else min(last, most)
    before = steps - count

    def moved(own: System, place: States, k: Array) -> States:
        """One step from a place that is not yet on the sets, to another one."""
        states = own.landed(place, own.step_size)
        if model.kinks:  # which the start is not led to, and whose weights the first of the steps does not reach
            begun = system.landed(place, system.step_size)
            states = select(k > 0, select(k > before, states, begun), model.project(place))
        return own.moved(states, own.at_step(k).force(states))

    def walked(params: Params, clamps: Clamps) -> States:
        own = System(model, params, model.prepared(params, clamps))

        def further(place: States, number: Array) -> tuple[States, None]:
            k = before + number
            if not by_sample:
                return moved(own, place, k), None
            begun = k >= 0
            return lax.cond(begun.any(), lambda z: select(begun, moved(own, z, k), z), lambda z: z, place), None

        first = own.started() if last is None else skipped
        end, _ = lax.scan(jax.checkpoint(further, prevent_cse=False), first, jnp.arange(count))
        return own.landed(end, own.step_size)

    if last is not None:
        skipped = lax.fori_loop(
            0, jnp.max(before), lambda k, z: select(k < before, moved(system, z, k), z), system.started()
        )
    end, back = jax.vjp(walked, system.params, clamps)
    return end, lambda cotangents: Total(*back(cotangents))
