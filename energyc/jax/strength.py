"""The strength of a nudge where the spec does not set it: where rounding and bias balance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from .equilibrium import Equilibrium
from .model import States
from .nudged_phases import Advance, Push, nudged, paired
from .steps import less, norm


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
    """Whether a nudge that is far stronger than the trial moves states which that left held."""
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
