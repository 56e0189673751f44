"""The params of a compiled network: those that an optimiser moves, copies of them, and their sets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import torch
from torch import Tensor

from energyc.runtime import EnergyNetwork, LayeredNetwork

Tensors = dict[str, Tensor]
#: What is trained: a network, or one of layers.
Network: TypeAlias = EnergyNetwork | LayeredNetwork


def learnable(net: Network) -> Tensors:
    """Return the params that an optimiser moves, by the spec's names: only leaves, so that no tie is moved twice."""
    params: Tensors = {}
    seen: set[int] = set()
    for name, tensor in net.params.items():
        if tensor.is_leaf and tensor.requires_grad and id(tensor) not in seen:
            params[name] = tensor
            seen.add(id(tensor))
    return params


@torch.no_grad()
def assign(params: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    """Copy values into params of the same names."""
    for name, param in params.items():
        param.copy_(values[name])


@contextmanager
def params_kept(params: Mapping[str, Tensor]) -> Iterator[Tensors]:
    """Give back their values to params at the end of this context, which has copies of them."""
    kept = copied(params)
    try:
        yield kept
    finally:
        assign(params, kept)


def copied(params: Mapping[str, Tensor]) -> Tensors:
    """Copies of params or states, by their names."""
    return {name: param.detach().clone() for name, param in params.items()}


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
