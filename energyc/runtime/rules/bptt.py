"""Backpropagation through all steps of the free phase."""

from __future__ import annotations

from torch import Tensor

from energyc.runtime.equations import Equations
from energyc.runtime.gradients import averaged, ended, narrowed
from energyc.runtime.records import Fixed, Gradients, RuleSettings, Tensors
from energyc.runtime.rule import rule
from energyc.runtime.states import filled
from energyc.runtime.trajectory import backpropagate, of_samples, settle_recorded


@rule("bptt", place=100, exact="any", needs=("trajectory",))
def bptt(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Gradients:
    """The exact gradient of what evaluation runs: all steps, the start included.

    lambda_k = (I + step J)^T P^T lambda_(k+1),    dC/dtheta = sum_k <step P^T lambda_(k+1), dF/dtheta(z_k)>
    """
    free, trajectory = settle_recorded(net, start, fixed, settings.free)
    kept = ended(free)
    at, (states, aims) = narrowed(kept, fixed, free.states, targets)
    seeds = filled(net._cost_force(states, at, aims), states)
    seeds, through = backpropagate(net, of_samples(trajectory, kept), seeds, at, settings.free)
    seeds = net._project_adjoint(net._start(at), seeds)
    slopes = [through, net._start_pullback(at, seeds), net._cost_gradient(states, at, aims)]
    return averaged(net, slopes, free, fixed, targets, settings, None, kept)
