"""From what a learning rule measured to the gradients that a user gets."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..tensors.states import Tensors
from .equations import Equations
from .penalties import contraction_penalty, jacobian_penalty, residual_defence
from .records import Estimate, Fixed, FreePhase, Gradients, RuleSettings, Slopes


def averaged(net: Equations, found: Estimate, fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Gradients:
    """A rule's slopes averaged over the samples that it kept, those of penalty and defence over all.

    The memory of the slopes is used up. A param that nothing reads gets zeros.
    """
    free, kept = found.free, found.kept
    regularization, measured = penalised(net, free, fixed, settings)
    owners = net._owners()
    count, params = max(1, int(kept.sum())), {}
    for name, owner in owners.items():
        means = [mean_slope(found.slopes, name, count), mean_slope(regularization, name, len(kept))]
        params[name] = added([mean for mean in means if mean is not None], owner)
    cost = net._cost(free.states, fixed, targets)[0]
    states, health = dict(zip(net.state_names, free.states)), {**measured, **found.health}
    return Gradients(params, cost, states, free.residual, free.steps, found.beta, kept, owners, health, free.step)


def mean_slope(slopes: Sequence[Slopes], name: str, count: int) -> Tensor | None:
    """The sum of all slopes of a param, divided by a number of samples; None where it has none."""
    parts = [part[name] for part in slopes if name in part]
    return sum(parts[1:], parts[0]).div_(count) if parts else None


def added(means: Sequence[Tensor], owner: Tensor) -> Tensor:
    """Fresh tensors added up, zeros where there is none."""
    if not means:
        return torch.zeros_like(owner, requires_grad=False)
    return means[0] if len(means) == 1 else means[0].add_(means[1])


def penalised(
    net: Equations, free: FreePhase, fixed: Fixed, settings: RuleSettings
) -> tuple[list[Slopes], dict[str, Tensor]]:
    """Slopes of what keeps training healthy, states held fixed, and what was measured: [batch] each."""
    found = [residual_defence(net, free, fixed, settings)] if settings.defence else []
    if settings.penalty:
        penalty = contraction_penalty if net.contraction_rate else jacobian_penalty
        found.append(penalty(net, free, fixed, settings))
    return [slope for _, _, slope in found], {"frozen": free.frozen, **{name: value for name, value, _ in found}}
