"""Truncated backpropagation through the steps of the free phase."""

from __future__ import annotations

from torch import Tensor

from ..adjoints.backpropagation import backpropagate
from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings, not_exploded, restricted
from ..equations.rule import rule
from ..relaxation.trajectory import run_recorded, select_samples
from ..tensors.states import Tensors, filled


@rule("tbptt", place=90, exact="any", needs=("trajectory",), settings=("steps",))
def tbptt(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """Backpropagation through the last steps alone, as many as a nudged phase has.

    With k steps from a settled state it is what ``centered-ep`` gives with k nudged steps as beta -> 0, on a
    conservative network (Ernoult et al. 2019).
    """
    free, trajectory = run_recorded(net, start, fixed, settings.free, last=settings.nudge.steps)
    kept = not_exploded(free)
    at, (states, aims) = restricted(kept, fixed, free.states, targets)
    by_states, direct = net._cost_vjp(states, at, aims)
    seeds = filled(by_states, states)
    _, through = backpropagate(net, select_samples(trajectory, kept), seeds, at, settings.free)
    slopes = [through, direct]
    return Estimate(free, slopes, kept)
