"""From what a learning rule measured to the gradients that a user gets."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from energyc.runtime.equations import Equations
from energyc.runtime.records import Fixed, FreePhase, Gradients, RuleSettings, Tensors
from energyc.runtime.states import finite, norm, per_sample, plain_norm, take

#: Slopes by param, summed over the batch.
Slopes = dict[str, Tensor]


def averaged(
    net: Equations,
    slopes: Sequence[Slopes],
    free: FreePhase,
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    beta: float | None = None,
    kept: Tensor | None = None,
    health: dict[str, Tensor] | None = None,
) -> Gradients:
    """A rule's slopes averaged over the samples ``kept``, those of penalty and defence over all.

    The memory of the slopes is used up. A param that nothing reads gets zeros.
    """
    kept = torch.ones_like(free.frozen) if kept is None else kept
    steadying, measured = penalised(net, free, fixed, settings)
    owners = net._owners()
    count, params = max(1, int(kept.sum())), {}
    for name, owner in owners.items():
        means = [mean_slope(slopes, name, count), mean_slope(steadying, name, len(kept))]
        params[name] = added([mean for mean in means if mean is not None], owner)
    cost = net._cost(free.states, fixed, targets)[0]
    states = dict(zip(net.state_names, free.states))
    return Gradients(
        params, cost, states, free.residual, free.steps, beta, kept, owners, {**measured, **(health or {})}, free.step
    )


def mean_slope(slopes: Sequence[Slopes], name: str, count: int) -> Tensor | None:
    """What slopes say of a param together, divided by a number of samples; None where none speaks of it."""
    parts = [part[name] for part in slopes if name in part]
    return sum(parts[1:], parts[0]).div_(count) if parts else None


def added(means: Sequence[Tensor], owner: Tensor) -> Tensor:
    """Fresh tensors added up, zeros where there is none."""
    if not means:
        return torch.zeros_like(owner, requires_grad=False)
    return means[0] if len(means) == 1 else means[0].add_(means[1])


def ended(free: FreePhase) -> Tensor:
    """Samples whose free phase ended, at states whose squares are numbers; an explosion did not: [batch]."""
    known = finite([free.residual, *map(plain_norm, free.states)])
    return known if bool(known.all()) else finite([free.residual, *(x.square() for x in free.states)])


def narrowed(kept: Tensor, fixed: Fixed, *groups: Tensors) -> tuple[Fixed, list[list[Tensor]]]:
    """What is fixed, and groups of tensors, for the samples that are kept."""
    if bool(kept.all()):
        return fixed, list(map(list, groups))
    rows = kept.nonzero()[:, 0]
    return fixed.rows(rows), [take(group, rows) for group in groups]


def penalised(
    net: Equations, free: FreePhase, fixed: Fixed, settings: RuleSettings
) -> tuple[list[Slopes], dict[str, Tensor]]:
    """Slopes of the residual defence and of the Jacobian penalty, states held fixed, and both: [batch] each."""
    slopes, measured = [], {"frozen": free.frozen}
    if settings.defence:
        measured["defence"], slope = residual_defence(net, free, fixed, settings)
        slopes.append(slope)
    if settings.penalty:
        along = settings.directions or [torch.randn_like(x) for x in free.states]
        measured["penalty"], slope = jacobian_penalty(net, free.states, fixed, along, settings.penalty)
        slopes.append(slope)
    return slopes, measured


def residual_defence(net: Equations, free: FreePhase, fixed: Fixed, settings: RuleSettings) -> tuple[Tensor, Slopes]:
    """|step F|^2 / |z|^2 of each sample, and the slope of ``settings.defence`` times it."""
    force, step = net._force(free.states, fixed), free.step
    sizes = [norm(x).square() + 1e-12 for x in free.states]
    value = sum((h * norm(f)).square() / s for f, h, s in zip(force, step, sizes))
    seeds = [2 * settings.defence * h * h * f / per_sample(s, f) for f, h, s in zip(force, step, sizes)]
    return torch.as_tensor(value), net._force_pullback(free.states, fixed, seeds)[1]


def jacobian_penalty(
    net: Equations, states: Tensors, fixed: Fixed, directions: Tensors, weight: float
) -> tuple[Tensor, Slopes]:
    """|J_nc w|^2 / dim for one random w a sample (Hutchinson 1989), and the slope of ``weight`` times it."""
    size = sum(x[0].numel() for x in states)
    (square,), slopes = net._penalty(states, fixed, directions)
    return square / size, {name: weight / size * slope for name, slope in slopes.items()}
