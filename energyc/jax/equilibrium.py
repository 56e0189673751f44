"""The input of a learning rule: a free phase, and the slope of the cost that pushes its states.

Derivatives are those of ``jax.vjp`` of one evaluation at a time, so that memory stays flat. They go through ``prepare``
to params and clamps at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from .model import Clamps, Equation, Params, Relaxed, Settings, States
from .steps import System


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
