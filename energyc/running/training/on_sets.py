"""Whether params are on their sets: those that a program assigned may be off them."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from energyc.running.training.network import Network, learnable, params_kept

#: A param is off its set if projecting it moves an entry by more than so many roundings of its largest.
ROUNDINGS = 100


@torch.no_grad()
def off_sets(net: Network) -> dict[str, float]:
    """Return the params that are off their sets, each with the largest change of an entry to its nearest point.

    The params stay as they are.
    """
    params = learnable(net)
    with params_kept(params) as before:
        net.project_params()
        moved = {name: float((param - before[name]).abs().max()) for name, param in params.items() if param.numel()}
    return {name: change for name, change in moved.items() if change > ROUNDINGS * _rounding(before[name])}


def start_on_sets(net: Network) -> None:
    """Put params that are off their sets on them, with a RuntimeWarning that names them."""
    off = off_sets(net)
    if off:
        named = ", ".join(f"{name} by {change:.2g}" for name, change in off.items())
        message = f"training starts at the nearest params on their sets, since these are off: {named}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        net.project_params()


def _rounding(value: Tensor) -> float:
    return torch.finfo(value.dtype).eps * max(1.0, float(value.abs().max()))
