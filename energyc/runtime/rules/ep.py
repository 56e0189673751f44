"""One-sided equilibrium propagation."""

from __future__ import annotations

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings
from ..equations.rule import rule
from ..nudging.contrast import contrast, descent_contrast
from ..nudging.nudged_phases import nudged
from ..nudging.strength import nudging_strength
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors


@rule(
    "ep",
    place=10,
    exact="gradient",
    needs=("contrast",),
    settings=("beta", "steps"),
    order=1,
    instead="tracking-aep",
)
def ep(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """Equilibrium propagation with one nudged phase (Scellier and Bengio 2017).

    The nudged phase starts at the equilibrium z* and follows F - beta dC/dz; then

        dC/dtheta = (dE/dtheta(z(+beta)) - dE/dtheta(z*)) / beta + O(beta).

    Where F is a gradient, J = J^T, so that the displacement dz/dbeta = J^-1 dC/dz is the adjoint state. What a free
    phase that has not ended still moves is read as displacement too.
    """
    with net._contrasting():
        free = run_free_phase(net, start, fixed, settings.free)
        beta = nudging_strength(net, free, fixed, targets, settings, order=1, one_sided=True, nudge=net._nudge)
        plus = nudged(net, free.states, fixed, targets, beta, settings.nudge._replace(step=free.step), net._nudge)
    if net.descends:
        return descent_contrast(net, free, plus, free.states, fixed, targets, beta, beta)
    return contrast(net, free, plus, free.states, fixed, targets, beta, beta)
