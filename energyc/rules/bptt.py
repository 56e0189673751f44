"""Backpropagation through all steps of the free phase."""

from __future__ import annotations

from torch import Tensor

from energyc.runtime.equations import Equations
from energyc.runtime.gradients import averaged
from energyc.runtime.records import Fixed, Gradients, RuleSettings, Tensors
from energyc.runtime.rule import rule
from energyc.runtime.states import filled
from energyc.runtime.trajectory import backpropagate, settle_recorded


@rule("bptt", exact="any", needs=("trajectory",))
def bptt(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Gradients:
    """The exact gradient of what evaluation runs: all steps, the start included.

    lambda_k = (I + step J)^T P^T lambda_(k+1),    dC/dtheta = sum_k <step P^T lambda_(k+1), dF/dtheta(z_k)>
    """
    free, trajectory = settle_recorded(net, start, fixed, settings.free)
    seeds = filled(net._cost_force(free.states, fixed, targets), free.states)
    seeds, slopes = backpropagate(net, trajectory, seeds, fixed, settings.free)
    seeds = net._project_adjoint(net._start(fixed), seeds)
    slopes_of_start = net._start_pullback(fixed, seeds)
    direct = net._cost_gradient(free.states, fixed, targets)
    return averaged(net, [slopes, slopes_of_start, direct], free, fixed, targets, settings)
