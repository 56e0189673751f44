"""From the slopes of a rule to a gradient."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from energyc.code.targets.jax.parts.network import Fixed, Params, Slopes, States, Targets, cost, cost_vjp
from energyc.code.targets.jax.parts.records import Gradients, Relaxed


def share(free: Relaxed) -> Array:
    """That of a sample in the mean cost; NaN where one exploded, so that nobody learns from it."""
    return jnp.where(jnp.isfinite(free.residual).all(), 1.0, jnp.nan) / len(free.residual)


def mean_cost_vjp(params: Params, free: Relaxed, fixed: Fixed, targets: Targets) -> tuple[States, Slopes]:
    """dC/dz at rest, and the direct slopes by params, of the mean cost: what comes of them is no more scaled."""
    factor, slopes = share(free), cost_vjp(params, free.states, fixed, targets)
    return jax.tree.map(lambda x: factor * x, slopes)


def gradients(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    targets: Targets,
    slopes: Sequence[Slopes],
) -> Gradients:
    """The slopes of the mean cost added up, with the cost of each sample."""
    total = {name: added(name, x, slopes) for name, x in params._asdict().items()}
    return Gradients(type(params)(**total), cost(params, free.states, fixed, targets), free)


def added(name: str, like: Array, slopes: Sequence[Slopes]) -> Array:
    """The slopes by one name, added up; zeros where there are none."""
    return sum((part[name] for part in slopes if name in part), jnp.zeros_like(like))


def cotangent(name: str, clamp: Array | None, slopes: Sequence[Slopes]) -> Array | np.ndarray | None:
    """That of a clamp: integers, and noise that is not given, have none."""
    if clamp is None:
        return None
    if jnp.issubdtype(clamp.dtype, jnp.floating):
        return added(name, clamp, slopes)
    return np.zeros(clamp.shape, jax.dtypes.float0)
