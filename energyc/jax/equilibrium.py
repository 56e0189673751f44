"""The input of a learning rule: a free phase, the slope of the cost that pushes its states, and their adjoint.

Derivatives are those of ``jax.vjp`` of one evaluation at a time, so that memory stays flat. They go through ``prepare``
to params and clamps at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.custom_derivatives import linear_call
from jax.scipy.sparse.linalg import gmres

from .model import Clamps, Equation, Params, Relaxed, Settings, States
from .steps import System, less, norm, plus, select


class Total(NamedTuple):
    """Total derivatives, summed over the batch: by params, and by clamps (float0 for integers)."""

    params: Params
    clamps: Clamps


def total_vjp(
    system: System, function: Equation, states: States, clamps: Clamps, cotangents: Any = None
) -> tuple[Any, States, Total]:
    """The value of a function, and ``<cotangents, d function>`` by states, and by params and clamps.

    The cotangents are by default 1: the derivatives are those of a sum over samples.
    """

    def composed(params: Params, states: States, clamps: Clamps) -> Any:
        return function(params, states, system.model.prepared(params, clamps))

    value, back = jax.vjp(composed, system.params, states, clamps)
    given = jax.tree.map(jnp.ones_like, value) if cotangents is None else cotangents
    of_params, of_states, of_clamps = back(jax.tree.map(lambda x, c: jnp.asarray(c, x.dtype), value, given))
    return value, of_states, Total(of_params, of_clamps)


def added(first: Any, second: Any) -> Any:
    """The sum of two cotangents; those of integers have the dtype float0, and nothing is added to them."""
    return jax.tree.map(lambda x, y: x if x.dtype == jax.dtypes.float0 else x + y, first, second)


@dataclass(frozen=True)
class Equilibrium:
    """The end ``free`` of a relaxation of a system with clamps.

    ``cost_slope(states)`` is dC/dz of each sample, in a layer what came back to its states, whatever these are. In a
    descent in a metric ``metric_nudge(states)`` is what plain nudges subtract from the force instead. ``steps_vjp`` is
    the VJP of the steps of the free phase, where it was run for a rule that goes back through them.
    """

    system: System
    clamps: Clamps
    free: Relaxed
    cost_slope: Callable[[States], States]
    metric_nudge: Callable[[States], States] | None = None
    steps_vjp: Callable[[States], Total] | None = None

    @property
    def settings(self) -> Settings:
        """The settings of the model."""
        return self.system.model.settings

    @property
    def states(self) -> States:
        """The states at the end of the free phase."""
        return self.free.states

    @property
    def nudge(self) -> Callable[[States], States]:
        """Force of a plain nudge, divided by beta; it is subtracted."""
        return self.metric_nudge or self.cost_slope

    def pulled(self, function: Equation, cotangents: Any) -> Total:
        """``<cotangents, d function>`` at the states, by params and clamps."""
        return total_vjp(self.system, function, self.states, self.clamps, cotangents)[2]

    def by_adjoint(self, adjoint: States) -> Total:
        """``<adjoint, dF>`` at the states, by params and clamps."""
        return self.pulled(self.system.model.force_with_kinks, adjoint)

    def none(self) -> States:
        """Zeros in the shape of the states."""
        return jax.tree.map(jnp.zeros_like, self.states)

    def settled(self) -> Array:
        """The samples by which a strength is chosen: those that converged, or come near the median residual."""
        residual = self.free.residual
        known = jnp.isfinite(residual)
        median = jnp.sort(jnp.where(known, residual, jnp.inf))[jnp.maximum(known.sum() - 1, 0) // 2]
        return known & (residual <= jnp.maximum(self.settings.tolerance or 0.0, 10 * median))


# ---------------------------------------------------------------------- adjoints


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
