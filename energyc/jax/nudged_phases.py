"""Nudged phases: one, and pairs at +beta and -beta, apart or with a correction, up to their end; and their strength."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array, lax

from .equilibrium import Equilibrium
from .model import States
from .steps import length, less, norm, select

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


# ---------------------------------------------------------------------- the strength of a nudge that is not set


def strength(at: Equilibrium, push: Push, advance: Advance | None = None, order: int = 2) -> Array | float:
    """The strength of a nudge by ``push``: that of the settings, or where rounding and bias balance.

    The chosen one is the power of two at which rounding / displacement is displacement ^ order, as a trial nudge tells.
    A nudge so many times as strong as the trial that it lets go of states which that left held is the trial's. Of a
    pair of phases that ``advance`` moves, one to which the states do not respond in proportion is weakened. Order 1 is
    one nudge, which also reads what the free phase still moves.
    """
    settings, states = at.settings, at.states
    if settings.beta is not None:
        return settings.beta
    eps, rows = float(jnp.finfo(states[0].dtype).eps), at.settled()
    sizes = _rms(states, rows)
    largest = jnp.where(sizes.max() > 0, sizes.max(), 1.0)
    pushed = _rms(push(states), rows).max()
    longest = jnp.asarray(at.system.step_size, states[0].dtype).max()
    trial = eps ** (1 / 3) * largest / (pushed * longest * min(settings.nudge_steps, 20))
    moved, drifted = nudged(at, trial, push), nudged(at, 0.0, push)
    drifts = _rms(less(drifted, states), rows)
    scales = jnp.where(sizes > 16 * jnp.maximum(drifts, eps * sizes.max()), sizes, 0.0)
    scales = jnp.where(scales > 0, scales, jnp.where(scales.max() > 0, scales.max(), 1.0))
    moves = _rms(less(moved, drifted), rows)
    moves, drifts = jnp.where(moves > 4 * eps * scales, moves / (trial * scales), 0.0), drifts / scales
    found, noise = _balanced(moves, drifts, eps, order, float(jnp.finfo(states[0].dtype).max))
    gone = _lets_go(at, push, found, trial, (moved, drifted, scales, eps, rows), order)
    found = jnp.where(gone, 2.0 ** jnp.floor(jnp.log2(trial)), found)
    if advance is not None:
        count = settings.nudge_steps
        found = _proportionate(found, order, noise, lambda beta: less(*paired(at, beta, advance, count)), rows)
    return jnp.where((pushed > 0) & jnp.isfinite(pushed), found, 1.0)


def _balanced(moves: Array, drifts: Array, eps: float, order: int, largest: float) -> tuple[Array, Array]:
    """The strength at which rounding and bias balance, and the noise of a unit beta.

    ``moves`` are what a unit beta moves each state by, ``drifts`` what it still moves by itself, relative to its size.
    """
    useful = (moves > 0) & jnp.isfinite(moves) & jnp.isfinite(drifts)
    noise = jnp.maximum(eps, drifts) if order == 1 else jnp.full_like(drifts, eps)
    ratio = jnp.where(useful, jnp.log2(noise) - jnp.log2(moves), -jnp.inf).max()
    reach = jnp.log2(jnp.where(useful, moves, 0.0).max())
    most = math.log2(largest) / 2
    exponent = jnp.where(useful.any(), ((ratio - order * reach) / (order + 1)).clip(-most, most), 0.0)
    return 2.0 ** jnp.round(exponent), jnp.where(useful.any(), 2.0**ratio, jnp.inf)  # unknown: nothing is balanced


def _lets_go(at: Equilibrium, push: Push, found: Array, trial: Array, known: Any, order: int) -> Array:
    """Return whether a nudge that is far stronger than the trial moves states which that left held."""
    moved, drifted, scales, eps, rows = known

    def lets_go(beta: Array) -> Array:
        growth, there = 4 * jnp.abs(beta) / trial, nudged(at, beta, push)
        wide = [
            ~(jnp.abs(x - d) <= growth * (jnp.abs(m - d) + 4 * eps * s)).reshape(len(x), -1)
            for x, m, d, s in zip(there, moved, drifted, scales, strict=True)
        ]
        return (jnp.concatenate(wide, 1).any(1) & rows).any()

    signs = (1.0,) if order == 1 else (1.0, -1.0)
    return lax.cond(
        found > 256 * trial,
        lambda: jnp.stack([lets_go(sign * found) for sign in signs]).any(),
        lambda: jnp.asarray(False),
    )


def _proportionate(beta: Array, order: int, noise: Array, respond: Callable[[Array], States], rows: Array) -> Array:
    """The strength of a nudge, or a weaker one to which some samples respond in proportion, to a hundredth.

    The share that is out of proportion, of the worst sample, is the bias, which falls with beta ^ order; ``noise`` is
    that of a unit beta. Where a weaker nudge has the larger share, that is noise.
    """

    def out_of_proportion(beta: Array) -> Array:
        strong, weak = respond(beta), respond(beta / 4)
        size, apart = 4 * norm(weak), norm(less(strong, weak, 4.0))
        bias = jnp.where(size == 0, 0.0, apart / size)
        bias = jnp.where(jnp.isfinite(bias), jnp.minimum(bias, 1.0), 1.0)
        return jnp.where(rows, bias, 0.0).max()

    def weaken(looks: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        count, beta, bias, _ = looks
        balanced = 2.0 ** jnp.round(jnp.log2(noise * beta**order / bias) / (order + 1))
        weaker = jnp.where(bias >= 1 / 2, beta / 16, jnp.minimum(balanced, beta))
        left = out_of_proportion(weaker)
        better = (weaker < beta) & ((left < bias) | (bias >= 1))
        return count + 1, jnp.where(better, weaker, beta), jnp.where(better, left, bias), better

    def goes_on(looks: tuple[Array, Array, Array, Array]) -> Array:
        count, _, bias, better = looks
        return better & (bias > 0.01) & (count < 8)

    first = (jnp.asarray(0), beta, out_of_proportion(beta), jnp.asarray(True))
    return lax.while_loop(goes_on, weaken, first)[1]


def _rms(states: States, rows: Array) -> Array:
    """The root mean square of each state over some of the samples: [states]."""
    squares = jnp.stack([jnp.where(rows, (x * x).reshape(len(x), -1).mean(1), 0.0) for x in states])
    return jnp.sqrt(squares.sum(1) / jnp.maximum(rows.sum(), 1))
