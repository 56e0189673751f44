"""From the slopes of a rule to a gradient."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from energyc.code.targets.jax.parts.network import Fixed, Params, Slopes, Targets, cost
from energyc.code.targets.jax.parts.records import Gradients, Relaxed


def averaged(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    targets: Targets,
    slopes: Sequence[Slopes],
) -> Gradients:
    """Slopes added up, over the number of samples; NaN where a sample exploded, so that nobody learns from it."""
    share = jnp.where(jnp.isfinite(free.residual).all(), 1.0, jnp.nan) / len(free.residual)
    mean = {name: share * added(name, x, slopes) for name, x in params._asdict().items()}
    return Gradients(type(params)(**mean), cost(params, free.states, fixed, targets), free)


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
