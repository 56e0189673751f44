"""Backpropagation through all steps of the free phase."""

from __future__ import annotations

from torch import Tensor

from ..adjoints.backpropagation import backpropagate
from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings, not_exploded, restricted
from ..equations.rule import rule
from ..relaxation.trajectory import run_recorded, select_samples
from ..tensors.states import Tensors, filled


@rule("bptt", place=100, exact="any", needs=("trajectory",))
def bptt(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """The exact gradient of what evaluation runs: all steps, the start included.

    lambda_k = (I + step J)^T P^T lambda_(k+1),    dC/dtheta = sum_k <step P^T lambda_(k+1), dF/dtheta(z_k)>
    """
    free, trajectory = run_recorded(net, start, fixed, settings.free)
    kept = not_exploded(free)
    at, (states, aims) = restricted(kept, fixed, free.states, targets)
    by_states, direct = net._cost_vjp(states, at, aims)
    seeds = filled(by_states, states)
    cotangents, through = backpropagate(net, select_samples(trajectory, kept), seeds, at, settings.free)
    cotangents = net._project_adjoint(net._start(at), cotangents)
    slopes = [through, net._start_vjp(at, cotangents), direct]
    return Estimate(free, slopes, kept)
