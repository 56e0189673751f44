"""Nudged phases: one, and pairs of them at +beta and -beta, apart or with a correction, up to their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array, lax

from .equilibrium import Equilibrium
from .model import States
from .steps import length, less, select

#: The states move under a nudge.
Push: TypeAlias = Callable[[States], States]
#: Moves a pair of nudged phases by a step: ``advance(at, plus, minus, beta)``.
Advance: TypeAlias = Callable[[Equilibrium, States, States, Array | float], tuple[States, States]]


def nudged(at: Equilibrium, beta: Array | float, push: Push) -> States:
    """A nudged phase from the equilibrium, of ``nudge_steps`` steps."""
    return lax.fori_loop(0, at.settings.nudge_steps, lambda _, z: _nudged_step(at, z, beta, push), at.states)


def paired(at: Equilibrium, beta: Array | float, advance: Advance, count: int) -> tuple[States, States]:
    """Both nudged phases after some steps from the equilibrium."""
    return lax.fori_loop(0, count, lambda _, pair: advance(at, pair[0], pair[1], beta), (at.states, at.states))


def _nudged_step(at: Equilibrium, states: States, beta: Array | float, push: Push) -> States:
    """One step under the force less beta times a push."""
    if at.system.model.blocks:
        return at.system.nudged_sweep(states, beta, push, of_cost=push == at.cost_slope)
    return at.system.advanced(states, less(at.system.force(states), push(states), beta))


# ---------------------------------------------------------------------- steps of pairs


def apart(at: Equilibrium, plus: States, minus: States, beta: Array | float) -> tuple[States, States]:
    """A step of two phases at +beta and -beta, each by itself."""
    return _nudged_step(at, plus, beta, at.nudge), _nudged_step(at, minus, -beta, at.nudge)


def tracking(at: Equilibrium, plus: States, minus: States, beta: Array | float) -> tuple[States, States]:
    """The same, with -+ (J - J^T)(m) v: m is their midpoint, and v half of what separates them."""
    middle = jax.tree.map(lambda p, m: (p + m) / 2, plus, minus)
    half = jax.tree.map(lambda p, m: (p - m) / 2, plus, minus)
    turn = _antisymmetric(at, middle)(half)
    up = _corrected(at, plus, beta, turn)
    return up, _corrected(at, minus, -beta, jax.tree.map(lambda x: -x, turn))


def held(at: Equilibrium, plus: States, minus: States, beta: Array | float) -> tuple[States, States]:
    """The same, with -(J - J^T)(z*) (z - z*) for each phase."""
    turn = _antisymmetric(at, at.states)
    up, down = turn(less(plus, at.states)), turn(less(minus, at.states))
    return _corrected(at, plus, beta, up), _corrected(at, minus, -beta, down)


def _antisymmetric(at: Equilibrium, states: States) -> Callable[[States], States]:
    """The product with J - J^T at states; of a conservative force it is 0."""
    system, force = at.system, at.system.model.nonconservative
    if force is None:
        return lambda directions: at.none()
    _, push = jax.linearize(lambda z: force(system.params, z, system.fixed), states)
    pull = jax.linear_transpose(push, states)
    return lambda directions: less(push(directions), pull(directions)[0])


def _corrected(at: Equilibrium, states: States, beta: Array | float, turn: States) -> States:
    """One step under the force less beta dC/dz, less a correction."""
    pushed = less(at.system.force(states), at.cost_slope(states), beta)
    return at.system.advanced(states, less(pushed, turn))


# ---------------------------------------------------------------------- their end


def phases(at: Equilibrium, beta: Array | float, advance: Advance) -> tuple[States, States]:
    """Both nudged phases, at +beta and -beta: after their last step, or where their contrast was most settled."""
    settings = at.settings
    if settings.snapshots is None or settings.nudge_steps < 2 * settings.snapshots:
        return paired(at, beta, advance, settings.nudge_steps)
    return _most_settled(at, beta, advance, settings.snapshots)


def _most_settled(at: Equilibrium, beta: Array | float, advance: Advance, every: int) -> tuple[States, States]:
    """Both phases, of each sample where the steps between two snapshots changed their contrast least.

    While these change the contrast by more than a share of ``nudge_tolerance``, and by less and less, up to
    ``nudge_max_steps`` are made. A sample whose contrast changes ten times as fast at the end as at first diverges, and
    becomes NaN.
    """
    settings, free = at.settings, at.states
    tolerance = settings.nudge_tolerance or float("inf")

    def look(seen: Any) -> Any:
        number, pair, best, smallest, first, _, share, _ = seen
        after = lax.fori_loop(0, every, lambda _, pair: advance(at, pair[0], pair[1], beta), pair)
        contrast = less(*after)
        moved = less(contrast, less(*pair))
        turned = jnp.stack([length(c) for c in moved]).max(0)
        better = (turned < smallest) | (number == 1)
        first = jnp.where(number == 1, turned, first)
        best, smallest = select(better, after, best), jnp.where(better, turned, smallest)
        return number + 1, after, best, smallest, first, turned, _relative_change(moved, contrast), share

    def goes_on(seen: Any) -> Array:
        number, *_, share, before = seen
        further = (share > tolerance) & (share <= before) & (number < settings.nudge_max_steps // every)
        return (number < settings.nudge_steps // every) | further

    pair, none = paired(at, beta, advance, every), jnp.zeros(len(free[0]), free[0].dtype)
    seen = lax.while_loop(goes_on, look, (1, pair, pair, none, none, none, jnp.inf, jnp.inf))
    _, _, (plus, minus), _, first, last, *_ = seen
    return select(last <= 10 * first, plus, jax.tree.map(lambda x: x * jnp.nan, plus)), minus


def _relative_change(moved: States, contrast: States) -> Array:
    """The size of a change of the contrast relative to it, over the samples in which both are finite; 0 of nothing."""
    sizes = [jnp.stack([length(c) for c in part]) for part in (moved, contrast)]
    known = jnp.isfinite(sizes[0]).all(0) & jnp.isfinite(sizes[1]).all(0)
    change, size = (jnp.sqrt(jnp.sum(jnp.where(known, part, 0.0) ** 2)) for part in sizes)
    return jnp.where(size > 0, change / size, 0.0)
