"""Truncated backpropagation through the steps of the free phase."""

from __future__ import annotations

from torch import Tensor

from energyc.runtime.equations import Equations
from energyc.runtime.gradients import averaged
from energyc.runtime.records import Fixed, Gradients, RuleSettings, Tensors
from energyc.runtime.rule import rule
from energyc.runtime.states import filled
from energyc.runtime.trajectory import backpropagate, settle_recorded


@rule("tbptt", exact="any", needs=("trajectory",), settings=("steps",))
def tbptt(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Gradients:
    """Backpropagation through the last steps alone, as many as a nudged phase has.

    With k steps from a settled state it is what ``centered-ep`` gives with k nudged steps as beta -> 0, on a
    conservative network (Ernoult et al. 2019).
    """
    free, trajectory = settle_recorded(net, start, fixed, settings.free, last=settings.nudge.steps)
    seeds = filled(net._cost_force(free.states, fixed, targets), free.states)
    _, slopes = backpropagate(net, trajectory, seeds, fixed, settings.free)
    return averaged(net, [slopes, net._cost_gradient(free.states, fixed, targets)], free, fixed, targets, settings)
