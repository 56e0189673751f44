"""Samples that exploded, and what that says of the others of their batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed
from energyc.runtime.tensors.states import Tensors, finite, largest_magnitude


def frozen(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float], scale: Tensor) -> Tensor:
    """Samples that exploded until rounding stopped them, which would read as converged: [batch].

    The states are ``relax_explosion`` times as large as at the start and most coordinates move by less than an ulp,
    even when they are displaced a little. At an equilibrium they would be pushed back: there the force is a small
    remainder of larger ones.
    """
    if net.relax_explosion is None:
        return torch.zeros(len(states[0]), dtype=torch.bool, device=net.device)
    stuck = largest_magnitude(states) > net.relax_explosion * scale
    if not bool(stuck.any()):
        return stuck
    stuck &= immobile(net, states, fixed, step)
    if bool(stuck.any()):
        stuck &= immobile(net, [displaced(x) for x in states], fixed, step)
    return stuck


def immobile(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """Samples most of whose coordinates a step moves by less than an ulp: [batch]."""
    force = net._force(states, fixed)
    ulp = torch.finfo(net.dtype).eps / 2
    still = [((h * f).abs() < ulp * x.abs()).reshape(len(x), -1) for x, f, h in zip(states, force, step)]
    return torch.cat(still, 1).to(net.dtype).mean(1) > 0.5


def displaced(x: Tensor) -> Tensor:
    """The state with its coordinates a little larger and smaller in turn."""
    width = torch.finfo(x.dtype).eps ** 0.25
    turns = torch.arange(x[0].numel(), device=x.device).view(x.shape[1:]) % 2
    return x * (1 + width - 2 * width * turns.to(x.dtype))


@part("batch", "coupled")
def shared_residual(states: Tensors, residual: Tensor) -> Tensor:
    """The residual of samples that depend on each other, infinite for all of them if one exploded: [batch]."""
    if bool(finite([residual, *(x.square() for x in states)]).all()):
        return residual
    return torch.full_like(residual, float("inf"))
