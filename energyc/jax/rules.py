"""The learning rules: each takes an :class:`Equilibrium` to the derivatives of the summed cost through its relaxation.

Called with a model, ``rule(model, params, clamps, targets)`` gives the gradient of the mean cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from .equilibrium import Equilibrium, Total, added, relaxed_adjoint, solved, through_steps, total_vjp
from .model import Clamps, Fixed, Gradients, Model, Params, Settings, States, Targets
from .nudged_phases import apart, held, nudged, phases, strength, tracking
from .relaxation import checked, free_phase, rested
from .steps import System


@dataclass(eq=False)
class Rule:
    """A learning rule: its way back through a relaxation, and how many last steps that goes through, if any."""

    back: Callable[..., Total]
    steps: Callable[[Settings], int | None] | None = None

    def __call__(self, model: Any, params: Params, clamps: Clamps, targets: Targets, **settings: Any) -> Gradients:
        """The gradient of the mean cost. ``settings`` are those of the rule: ``beta`` for nudged phases."""
        learn = partial(learned, model) if isinstance(model, Model) else model.learned
        return learn(self, params, clamps, targets, **settings)


def rule(steps: Callable[[Settings], int | None] | None = None) -> Callable[[Callable[..., Total]], Rule]:
    """Make a way back a rule; of steps None are all."""
    return lambda back: update_wrapper(Rule(back, steps), back)  # type: ignore[return-value]


def learned(model: Model, rule: Rule, params: Params, clamps: Clamps, targets: Targets, **settings: Any) -> Gradients:
    """The gradient of the mean cost by a rule; NaN where a sample exploded, so that nobody learns from it."""
    system = System(model, params, model.prepared(params, clamps))
    if rule.steps is not None and model.settings.exact:
        end, steps_vjp = through_steps(system, clamps, model.settings.steps, rule.steps(model.settings))
        free = checked(system, model.project(system.started()), rested(system, end))
    else:
        (system, free), steps_vjp = free_phase(system), None

    def cost(params: Params, states: States, fixed: Fixed) -> Array:
        assert model.cost is not None
        return model.cost(params, states, fixed, targets)

    def cost_slope(states: States) -> States:
        costs, back = jax.vjp(lambda z: cost(params, z, system.fixed), states)
        return back(jnp.ones_like(costs))[0]

    own = model.nudge
    nudge = None if own is None else lambda z: own(params, z, system.fixed, targets)
    costs, _, direct = total_vjp(system, cost, free.states, clamps)
    slopes = rule.back(Equilibrium(system, clamps, free, cost_slope, nudge, steps_vjp), **settings)
    return Gradients(mean(added(slopes.params, direct.params), free.residual), costs, free)


def mean(slopes: Params, residual: Array) -> Params:
    """Slopes of summed costs as those of the mean cost; NaN where a sample exploded, as its residual tells."""
    share = jnp.where(jnp.isfinite(residual).all(), 1.0, jnp.nan) / len(residual)
    return jax.tree.map(lambda x: share * x, slopes)


# ---------------------------------------------------------------------- by adjoints


@rule()
def implicit(at: Equilibrium) -> Total:
    """The exact gradient at an equilibrium, by the adjoint equation.

    lambda = dC/dz + (I + step J)^T P^T lambda,    dC/dtheta = <step P^T lambda, dF/dtheta> + direct
    """
    return at.by_adjoint(solved(at, at.cost_slope(at.states)))


@rule()
def adjoint(at: Equilibrium) -> Total:
    """The limit of ``tracking_aep`` as beta -> 0.

    a <- P^T (a + step (J^T a + dC/dz))  while the states go on,    dC/dtheta = <a, dF/dtheta>
    """
    return at.by_adjoint(relaxed_adjoint(at))


@rule(lambda settings: None)
def bptt(at: Equilibrium) -> Total:
    """The gradient of what was run: backpropagation through all steps, the start included.

    lambda_k = (I + step J)^T P^T lambda_(k+1),    dC/dtheta = sum_k <step P^T lambda_(k+1), dF/dtheta(z_k)>
    """
    return _through_steps(at, None)


@rule(lambda settings: settings.nudge_steps)
def tbptt(at: Equilibrium) -> Total:
    """Backpropagation through the last ``nudge_steps`` steps of each sample alone."""
    return _through_steps(at, at.settings.nudge_steps)


def _through_steps(at: Equilibrium, last: int | None) -> Total:
    """Backpropagation through the last steps, which are made again where the free phase did not keep them."""
    steps = at.settings.steps if at.settings.exact else at.free.steps
    back = at.steps_vjp or through_steps(at.system, at.clamps, steps, last)[1]
    return back(at.cost_slope(at.states))


# ---------------------------------------------------------------------- by nudged phases


@rule()
def ep(at: Equilibrium, beta: Array | float | None = None) -> Total:
    """Equilibrium propagation with one nudged phase (Scellier and Bengio 2017).

    dC/dtheta = (dE/dtheta(z(+beta)) - dE/dtheta(z*)) / beta + O(beta)
    """
    width = strength(at, at.nudge, order=1) if beta is None else beta
    return _contrast(at, nudged(at, width, at.nudge), at.states, width, at.metric_nudge)


@rule()
def centered_ep(at: Equilibrium, beta: Array | float | None = None) -> Total:
    """Centred equilibrium propagation (Laborieux et al. 2021).

    dC/dtheta = (dE/dtheta(z(+beta)) - dE/dtheta(z(-beta))) / (2 beta) + O(beta^2)
    """
    width = strength(at, at.nudge, apart) if beta is None else beta
    return _contrast(at, *phases(at, width, apart), 2 * width, at.metric_nudge)


@rule()
def vf(at: Equilibrium, beta: Array | float | None = None) -> Total:
    """The centred contrast under any force (Scellier et al. 2018): biased unless J = J^T.

    dC/dtheta ~ <(z(-beta) - z(+beta)) / (2 beta), dF/dtheta(z*)>
    """
    return centered_ep.back(at, beta)


@rule()
def aep(at: Equilibrium, beta: Array | float | None = None) -> Total:
    """Centred equilibrium propagation for any force, by a correction frozen at z*: exact for any force to O(beta^2).

    F(z) -+ beta dC/dz - (J - J^T)(z*) (z - z*)
    """
    width = strength(at, at.cost_slope, held) if beta is None else beta
    return _contrast(at, *phases(at, width, held), 2 * width)


@rule()
def tracking_aep(at: Equilibrium, beta: Array | float | None = None) -> Total:
    """Centred equilibrium propagation for any force, by a correction that tracks the free network.

    F(z) -+ beta dC/dz -+ (J - J^T)(m) v, m the midpoint of both phases and v half of what separates them
    """
    width = strength(at, at.cost_slope, tracking) if beta is None else beta
    return _contrast(at, *phases(at, width, tracking), 2 * width)


def _contrast(at: Equilibrium, plus: States, minus: States, width: Array | float, metric: Any = None) -> Total:
    """The derivatives by two phases whose nudges differ by ``width``.

    By params of energies (dE/dtheta at plus less that at minus) / width; by those of forces without an energy, and by
    clamps, ``<a, dF>`` at the free equilibrium, a = (minus - plus) / width. By nudges in a metric all params are those
    of energies.
    """
    model, params = at.system.model, at.system.params
    a = jax.tree.map(lambda p, m: (m - p) / width, plus, minus)
    by_adjoint = at.by_adjoint(a)
    if metric is not None:
        slopes = _of_energies(at, plus, minus, params._fields, None)
        return Total(params._replace(**{name: x / width for name, x in slopes.items()}), by_adjoint.clamps)
    slopes = {} if model.contrast is None else model.contrast(params, plus, minus, at.system.fixed)
    if model.energy_params:
        slopes = slopes | _of_energies(at, plus, minus, model.energy_params, model.energies)
    slopes = {name: x / width for name, x in slopes.items()}
    slopes |= {name: getattr(by_adjoint.params, name) for name in model.force_params}
    params = jax.tree.map(jnp.zeros_like, params)._replace(**slopes)
    if model.forces is not None:
        params = added(params, at.pulled(model.forces, a).params)
    return Total(params, by_adjoint.clamps)


def _of_energies(
    at: Equilibrium, plus: States, minus: States, params: Sequence[str], energies: Sequence[str] | None
) -> dict[str, Array]:
    """dE/dtheta at plus less that at minus, by differentiating the sum of some energies, by default of all."""
    system, model, terms = at.system, at.system.model, at.system.model.terms
    assert terms is not None

    def difference(own: dict[str, Array]) -> Array:
        params: Params = system.params._replace(**own)
        fixed = model.prepared(params, at.clamps)
        ends = [terms(params, states, fixed) for states in (plus, minus)]
        first, second = ([x for name, x in end.items() if energies is None or name in energies] for end in ends)
        return sum((x.sum() - y.sum() for x, y in zip(first, second, strict=True)), jnp.zeros(()))

    return jax.grad(difference)({name: getattr(system.params, name) for name in params})
