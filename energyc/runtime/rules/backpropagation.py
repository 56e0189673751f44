"""Backpropagation through the steps of the free phase."""

from __future__ import annotations

from torch import Tensor

from ..adjoints.backpropagation import backpropagate
from ..equations.by_autograd import start_vjp
from ..equations.equations import Equations, rule
from ..equations.records import Estimate, Fixed, RuleSettings, not_exploded, restricted
from ..relaxation.trajectory import run_recorded, select_samples
from ..tensors.states import Tensors, filled


@rule("tbptt", place=90, exact="any", needs=("trajectory",), settings=("steps",))
def tbptt(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """Backpropagation through the last steps alone, as many as a nudged phase has.

    With k steps from a settled state it is what ``centered-ep`` gives with k nudged steps as beta -> 0, on a
    conservative network (Ernoult et al. 2019).
    """
    return through_steps(net, start, fixed, targets, settings, settings.nudge.steps)[0]


@rule("bptt", place=100, exact="any", needs=("trajectory",))
def bptt(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """The exact gradient of what evaluation runs: all steps, the start included.

    lambda_k = (I + step J)^T P^T lambda_(k+1),    dC/dtheta = sum_k <step P^T lambda_(k+1), dF/dtheta(z_k)>
    """
    found, at, cotangents = through_steps(net, start, fixed, targets, settings)
    through, direct = found.slopes
    of_start = start_vjp(net, at, net._project_adjoint(net._start(at), cotangents))
    return found._replace(slopes=[through, of_start, direct])


def through_steps(
    net: Equations,
    start: list[Tensor],
    fixed: Fixed,
    targets: Tensors,
    settings: RuleSettings,
    last: int | None = None,
) -> tuple[Estimate, Fixed, list[Tensor]]:
    """Return the slopes through the ``last`` steps, by default all, and the direct ones.

    Also return what is fixed for the samples that are kept, and the cotangents on their states before these steps.
    """
    free, trajectory = run_recorded(net, start, fixed, settings.free, last)
    kept = not_exploded(free)
    at, (states, aims) = restricted(kept, fixed, free.states, targets)
    by_states, direct = net._cost_vjp(states, at, aims)
    seeds = filled(by_states, states)
    cotangents, through = backpropagate(net, select_samples(trajectory, kept), seeds, at, settings.free)
    return Estimate(free, [through, direct], kept), at, cotangents
