"""Step sizes by a bound on the curvature of the force.

Steps are half as long as what turns the steepest move back. Where the residual of a sample does not fall and its moves
turn back on themselves, the steps are halved and the sample goes back to the last look. Each further estimate of the
curvature takes back one halving.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .model import Relaxed, States
from .steps import System, less, norm, per_sample, plus, select

#: The secants that an estimate takes, beside the force at the states.
SECANTS = 6
#: A residual of more than so much of that at the last look does not fall.
FELL = 0.9
#: Steps from one estimate to the next, for each evaluation that it takes.
PAUSE = 4


class Controller(NamedTuple):
    """What chooses the step sizes of a relaxation.

    ``bound`` is the last estimate of the curvature, ``age`` the steps since, ``kept`` and ``last`` are the states and
    the residuals at the look before.
    """

    bound: Array
    halvings: Array
    age: Array
    kept: States
    last: Array

    @property
    def pace(self) -> Array:
        """The factor of the step sizes; a bound that says nothing is 1."""
        bound = jnp.where((self.bound > 0) & jnp.isfinite(self.bound), self.bound, 1)
        return 1 / bound / 2**self.halvings


def controller(system: System, states: States, residual: Array) -> Controller:
    """The controller at the start, after ``1 + SECANTS`` evaluations."""
    none = jnp.zeros((), int)
    return Controller(curvature(system, states, jnp.ones(len(residual), bool)), none, none, states, residual)


def controlled(system: System, own: Controller, free: Relaxed, on: Array) -> tuple[Controller, Relaxed, Array]:
    """Check the samples that are ``on``; return the controller, with some of them put back, and its evaluations."""
    now = system.paced(free.pace)
    rows = on & ~(free.residual <= (system.model.settings.tolerance or 0.0))
    stuck = rows & ~(jnp.isfinite(free.residual) & (free.residual <= FELL * own.last))
    doubted = stuck.any()
    large = stuck & lax.cond(doubted, lambda: _turned(now, free.states), lambda: stuck)
    halved = large.any()
    due = ~halved & rows.any() & (own.age >= PAUSE * (1 + SECANTS))
    states = select(large, own.kept, free.states)
    bound = lax.cond(due, lambda: curvature(system, free.states, rows), lambda: own.bound)
    halvings = own.halvings + jnp.where(halved, 1, jnp.where(due & (own.halvings > 0), -1, 0))
    own = Controller(bound, halvings, jnp.where(due, 0, own.age), states, own.last)
    changed = own.pace != free.pace
    residual = lax.cond(changed, lambda: system.paced(own.pace).residual(states), lambda: free.residual)
    residual = jnp.where(rows, residual, free.residual)
    spent = 2 * doubted + (1 + SECANTS) * due + changed
    free = Relaxed(states, residual, free.steps + jnp.where(on, spent, 0), own.pace)
    return own._replace(last=residual), free, spent


def _turned(system: System, states: States) -> Array:
    """Return the mask of samples whose next two moves are opposed or not finite."""
    first = system.next_states(states)
    second = system.next_states(first)
    pairs = zip(states, first, second, strict=True)
    return ~(sum(((b - a) * (c - b)).reshape(len(a), -1).sum(1) for a, b, c in pairs) >= 0)


def curvature(system: System, states: States, rows: Array) -> Array:
    """Estimate |J H| at the states of some samples, H the step sizes, by power iteration on secants of the force.

    It is at least what keeps a move from being longer than |z| + sqrt(entries).
    """
    whole = system.paced(1.0)

    def moves(at: States) -> States:
        return whole.along(whole.force(at))

    def by(factor: Array, at: States) -> States:
        return jax.tree.map(lambda x: per_sample(factor, x) * x, at)

    entries = sum(x[0].size for x in states)
    first, here = moves(states), norm(states)
    width = float(jnp.finfo(here.dtype).eps) ** (1 / 3) * (1 + here)
    tiny = float(jnp.finfo(here.dtype).tiny)

    def secant(_: Array, direction: States) -> States:
        unit = by(width / jnp.maximum(norm(direction), tiny), direction)
        return by(1 / width, less(moves(plus(states, unit)), first))

    found = norm(lax.fori_loop(0, SECANTS, secant, _waves(states)))
    found = jnp.maximum(found, norm(first) / (here + entries**0.5))
    return jnp.where(rows, jnp.nan_to_num(found, nan=jnp.inf), 0).max()


def _waves(like: States) -> States:
    """cos(k^2) for the k-th entry of all states of a sample: a direction that no force singles out."""
    first, parts = 1, list[Array]()
    for x in like:
        numbers = np.arange(first, first + x[0].size, dtype=np.float64).reshape(x.shape[1:])
        parts.append(jnp.broadcast_to(jnp.asarray(np.cos(numbers**2), x.dtype), x.shape))
        first += x[0].size
    return type(like)(*parts)
