"""The free phase: steps of the states from their start to where they rest, and step sizes by the curvature.

Where the curvature chooses them, steps are half as long as what turns the steepest move back. Where the residual of a
sample does not fall and its moves turn back on themselves, the steps are halved and the sample goes back to the last
look. Each further estimate of the curvature takes back one halving.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .model import Fixed, Model, Params, Relaxed, States
from .steps import System, less, norm, per_sample, plus, select

#: The secants that an estimate takes, beside the force at the states.
SECANTS = 6
#: A residual of more than so much of that at the last look does not fall.
FELL = 0.9
#: Steps from one estimate to the next, for each evaluation that it takes.
PAUSE = 4


def step(model: Model, params: Params, states: States, fixed: Fixed) -> States:
    """One step of the free phase; a sweep where states move block after block."""
    return System(model, params, fixed).next_states(states)


def residual(model: Model, params: Params, states: States, fixed: Fixed) -> Array:
    """Return the length of the next joint step of all states: [batch]."""
    return System(model, params, fixed).residual(states)


def free_phase(system: System) -> tuple[System, Relaxed]:
    """Relax from the start: the system, with the step sizes that were chosen, and the end."""
    model, states = system.model, system.model.project(system.started())
    if model.settings.inference:
        assert model.training is not None
        trained = getattr(system.fixed, model.training)
        free = lax.cond(trained, lambda: _in_so_many_steps(system, states), lambda: _until_settled(system, states))
    elif model.settings.automatic or model.settings.tolerance is not None:
        free = _until_settled(system, states)
    else:
        free = _in_so_many_steps(system, states)
    return system.paced(free.pace), checked(system.paced(free.pace), states, free)


def rested(system: System, states: States) -> Relaxed:
    """The end of a fixed number of steps, settled or not."""
    left = system.residual(states)
    return Relaxed(states, left, jnp.full(left.shape, system.model.settings.steps))


def _in_so_many_steps(system: System, states: States) -> Relaxed:
    count = system.model.settings.steps
    return rested(system, lax.fori_loop(0, count, lambda k, z: system.at_step(k).next_states(z), states))


class _Walk(NamedTuple):
    """A free phase under way.

    ``on`` are the samples that still move, ``small`` the looks in a row at which the residual of each was small;
    ``spent`` are the steps so far, and the evaluations of the ``controller``, if there is one.
    """

    free: Relaxed
    on: Array
    small: Array
    spent: Array
    controller: Controller | None


def _until_settled(system: System, states: States) -> Relaxed:
    """Steps of each sample until it has converged: by the step in inference, otherwise in chunks."""
    settings, count = system.model.settings, len(states[0])
    none, unknown = jnp.zeros(count, int), jnp.full(count, jnp.inf, states[0].dtype)
    least, most = (0, settings.steps) if settings.inference else (settings.steps, settings.longest)
    chunk = 1 if settings.inference else settings.chunk
    if settings.automatic:
        own, evaluations = controller(system, states, unknown), 1 + SECANTS
        first = min(chunk, max(0, most - evaluations))
    else:
        own, evaluations = None, 0
        first = 1 if settings.inference else least

    def goes_on(walk: _Walk) -> Array:
        return (walk.spent < most) & walk.on.any()

    def further(walk: _Walk) -> _Walk:
        until = jnp.where(walk.spent < least, least, most)
        return walked(walk, jnp.minimum(chunk, until - walk.spent))

    def walked(walk: _Walk, count: Array | int) -> _Walk:
        """Some steps of the samples that still move, and a look at where they are."""
        free, now = walk.free, system.paced(walk.free.pace)
        states = lax.fori_loop(0, count, lambda k, z: now.at_step(walk.spent + k).next_states(z), free.states)
        states = select(walk.on, states, free.states)
        left = now.change(free.states, states) if settings.inference else now.residual(states)
        left = jnp.where(walk.on, left, free.residual)
        free = Relaxed(states, left, free.steps + jnp.where(walk.on, count, 0), free.pace)
        own, spent = walk.controller, walk.spent + count
        if own is not None:
            own, free, evaluations = controlled(system, own._replace(age=own.age + count), free, walk.on)
            spent = spent + evaluations
        small = jnp.where(free.residual <= (settings.tolerance or 0.0), walk.small + 1, 0)
        unsettled = (free.steps < least) | ((small < settings.patience) & (free.steps < most))
        return _Walk(free, jnp.isfinite(free.residual) & unsettled, small, spent, own)

    free = Relaxed(states, unknown, none + evaluations, None if own is None else own.pace)
    start = _Walk(free, none == 0, none, jnp.asarray(evaluations), own)
    return lax.while_loop(goes_on, further, walked(start, first)).free


# ---------------------------------------------------------------------- explosions


def checked(system: System, before: States, free: Relaxed) -> Relaxed:
    """The end of a relaxation from ``before``, with an infinite residual of the samples that exploded.

    What exploded until rounding stopped it would read as settled.
    """
    growth, after = system.model.settings.explosion, free.states
    if growth is None:
        return free
    scale = jnp.maximum(1.0, jnp.stack([jnp.abs(x).max() for x in before]).max())
    largest = jnp.stack([jnp.abs(x).reshape(len(x), -1).max(1) for x in after]).max(0)
    suspect = (largest > growth * scale) & _immobile(system, after)
    exploded = suspect & _immobile(system, type(after)(*map(_shaken, after)))
    return free._replace(residual=jnp.where(exploded, jnp.inf, free.residual))


def _immobile(system: System, states: States) -> Array:
    """The samples most of whose coordinates a step moves by less than an ulp."""
    ulp = jnp.finfo(states[0].dtype).eps / 2
    moves = system.along(system.force(states))
    still = [(jnp.abs(move) < ulp * jnp.abs(x)).reshape(len(x), -1) for x, move in zip(states, moves, strict=True)]
    return jnp.concatenate(still, 1).mean(1) > 0.5


def _shaken(x: Array) -> Array:
    """The state with its coordinates a little larger and smaller in turn: at rest it would be pushed back."""
    width = float(jnp.finfo(x.dtype).eps) ** 0.25
    turns = jnp.arange(x[0].size).reshape(x.shape[1:]) % 2
    return x * (1 + width - 2 * width * turns)


# ---------------------------------------------------------------------- step sizes by the curvature


class Controller(NamedTuple):
    """Controller of the step sizes of a relaxation.

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
