"""The adjoint equation by repeating the transposed step, which settles as fast as the steps themselves do."""

from __future__ import annotations

import torch
from torch import Tensor

from energyc.runtime.adjoints.transposed import MOST, Transposed
from energyc.runtime.tensors.states import flatten, plain_norm, unflatten

#: After so many steps it is told whether they will do.
TOLD_AFTER = 8


def iterate(system: Transposed, goal: float) -> tuple[Tensor, Tensor]:
    """a <- seeds + P^T (I + step J)^T a, until the last change of each sample is ``goal`` of its seeds.

    Returns a [batch, entries] and that change as a part of the seeds: [batch]. It ends before where that would take
    more than ``MOST`` steps.
    """
    a, size = [x.clone() for x in system.start], plain_norm(flatten(system.seeds))
    flat, change = iterated_from(system, a, goal * size, size, system.most)
    return flat, change / size.clamp_min(torch.finfo(size.dtype).tiny)


def approach(system: Transposed, goal: float) -> None:
    """The same with products as the network has them, which leads to where it starts in full precision.

    Where it does not come to its goal it is slow, and goes on by no more than a step, which tells how far it came.
    """
    a, size = [x.clone() for x in system.start], plain_norm(flatten(system.seeds))
    flat, change = iterated_from(system, a, goal * size, size, MOST)
    system.start = unflatten(flat, a)
    system.most = MOST if bool((change <= goal * size).all()) else 1


def iterated_from(system: Transposed, a: list[Tensor], goals: Tensor, size: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """The iteration from a on, by a kernel or as torch operations, and how far the last step of each sample went."""
    net, change = system.net, goals.clone()
    if net._adjoint_steps_(a, system.states, system.fixed, system.seeds, system.moved, system.step, change, most):
        return flatten(a), change
    return repeated(system, flatten(a), goals, size, most)


def repeated(system: Transposed, a: Tensor, goals: Tensor, size: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """The same as torch operations."""
    seeds = flatten(system.seeds)
    for k in range(1, most + 1):
        after = seeds + system.push(a)
        change, a = plain_norm(after - a), after
        if bool((change <= goals).all()) or (k == TOLD_AFTER and not ends_soon(change, goals, size)):
            break
    return a, change


def ends_soon(change: Tensor, goals: Tensor, size: Tensor) -> bool:
    """Whether ``MOST`` steps will do, if they go on as the first ``TOLD_AFTER``, which led from ``size`` to ``change``.

    In logarithms: the whole way is at most MOST / TOLD_AFTER times what is done.
    """
    done, whole = (size / change).log(), (size / goals).log()
    return bool(((change <= goals) | (whole * TOLD_AFTER <= done * MOST)).all())
