"""The strength of a nudge where the spec does not set it: where rounding and bias balance."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import Array, lax

from energyc.code.targets.jax.parts.network import (
    NUDGE_STEPS,
    TOLERANCE,
    Fixed,
    Params,
    States,
    Targets,
)
from energyc.code.targets.jax.parts.nudged import Drive, less, nudged
from energyc.code.targets.jax.parts.records import Relaxed
from energyc.code.targets.jax.parts.steps import step_sizes


def strength(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    targets: Targets,
    drive: Drive,
    order: int = 2,
) -> Array:
    """The strength at which rounding / displacement is displacement ^ order, as a trial nudge tells.

    It is a power of two. A nudge so many times as strong as the trial that it lets go of states which that left
    held is the trial's. Order 1 is one nudge, which also reads what the free phase still moves.
    """
    states, eps = free.states, float(jnp.finfo(free.states[0].dtype).eps)
    known = jnp.isfinite(free.residual)
    median = jnp.sort(jnp.where(known, free.residual, jnp.inf))[jnp.maximum(known.sum() - 1, 0) // 2]
    rows = known & (free.residual <= jnp.maximum(TOLERANCE, 10 * median))

    def after(beta: Array | float) -> States:
        return nudged(params, states, fixed, targets, beta, drive)

    sizes = jnp.stack([rms(x, rows) for x in states])
    largest = jnp.where(sizes.max() > 0, sizes.max(), 1.0)
    push = jnp.stack([rms(x, rows) for x in drive(params, states, fixed, targets)]).max()
    longest = jnp.asarray(step_sizes(fixed), states[0].dtype).max()
    trial = eps ** (1 / 3) * largest / (push * longest * min(NUDGE_STEPS, 20))
    moved, drifted = after(trial), after(0.0)
    drifts = jnp.stack([rms(x, rows) for x in less(drifted, states)])
    scales = jnp.where(sizes > 16 * jnp.maximum(drifts, eps * sizes.max()), sizes, 0.0)
    scales = jnp.where(scales > 0, scales, jnp.where(scales.max() > 0, scales.max(), 1.0))
    moves = jnp.stack([rms(x, rows) for x in less(moved, drifted)])
    moves, drifts = jnp.where(moves > 4 * eps * scales, moves / (trial * scales), 0.0), drifts / scales
    useful = (moves > 0) & jnp.isfinite(moves) & jnp.isfinite(drifts)
    noise = jnp.maximum(eps, drifts) if order == 1 else jnp.full_like(drifts, eps)
    ratio = jnp.where(useful, jnp.log2(noise) - jnp.log2(moves), -jnp.inf).max()
    reach = jnp.log2(jnp.where(useful, moves, 0.0).max())
    most = math.log2(float(jnp.finfo(states[0].dtype).max)) / 2
    exponent = jnp.where(useful.any(), ((ratio - order * reach) / (order + 1)).clip(-most, most), 0.0)
    found = 2.0 ** jnp.round(exponent)

    def lets_go(beta: Array) -> Array:
        growth, there = 4 * jnp.abs(beta) / trial, after(beta)
        wide = [
            ~(jnp.abs(x - d) <= growth * (jnp.abs(m - d) + 4 * eps * s)).reshape(len(x), -1)
            for x, m, d, s in zip(there, moved, drifted, scales, strict=True)
        ]
        return (jnp.concatenate(wide, 1).any(1) & rows).any()

    signs = (1.0,) if order == 1 else (1.0, -1.0)
    far = found > 256 * trial
    gone = lax.cond(far, lambda: jnp.stack([lets_go(s * found) for s in signs]).any(), lambda: jnp.asarray(False))
    found = jnp.where(gone, 2.0 ** jnp.floor(jnp.log2(trial)), found)
    return jnp.where((push > 0) & jnp.isfinite(push), found, 1.0)


def rms(x: Array, rows: Array) -> Array:
    """The root mean square over some of the samples."""
    squares = jnp.where(rows, (x * x).reshape(len(x), -1).mean(1), 0.0)
    return jnp.sqrt(squares.sum() / jnp.maximum(rows.sum(), 1))
