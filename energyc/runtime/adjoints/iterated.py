"""The adjoint equation by repeating the transposed step, which settles as fast as the steps themselves do."""

from __future__ import annotations

import torch
from torch import Tensor

from energyc.runtime.adjoints.transposed import Transposed
from energyc.runtime.tensors.states import flatten, plain_norm

#: The most steps; where they would not do, a Krylov method takes fewer products.
MOST = 32
#: After so many steps it is told whether they will do.
TOLD_AFTER = 8


def iterate(system: Transposed, goal: float) -> tuple[Tensor, Tensor]:
    """a <- seeds + (I + step J)^T P^T a, until the last change of each sample is ``goal`` of its seeds.

    Returns a [batch, entries] and that change as a part of the seeds: [batch]. It ends before where that would take
    more than ``MOST`` steps.
    """
    net, a = system.net, [x.clone() for x in system.seeds]
    size = plain_norm(flatten(a))
    change = goal * size
    if net._adjoint_steps_(a, system.states, system.fixed, system.seeds, system.moved, system.step, change, MOST):
        return flatten(a), change / size.clamp_min(torch.finfo(size.dtype).tiny)
    return repeated(system, flatten(a), goal * size, size)


def repeated(system: Transposed, a: Tensor, goals: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
    """The same as torch operations."""
    seeds = a
    for k in range(1, MOST + 1):
        after = seeds + system.push(a)
        change, a = plain_norm(after - a), after
        if bool((change <= goals).all()) or (k == TOLD_AFTER and not ends_soon(change, goals, size)):
            break
    return a, change / size.clamp_min(torch.finfo(size.dtype).tiny)


def ends_soon(change: Tensor, goals: Tensor, size: Tensor) -> bool:
    """Whether ``MOST`` steps will do, if they go on as the first ``TOLD_AFTER``, which led from ``size`` to ``change``.

    In logarithms: the whole way is at most MOST / TOLD_AFTER times what is done.
    """
    done, whole = (size / change).log(), (size / goals).log()
    return bool(((change <= goals) | (whole * TOLD_AFTER <= done * MOST)).all())
