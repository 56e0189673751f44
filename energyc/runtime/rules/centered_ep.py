"""Equilibrium propagation with a nudge to either side."""

from __future__ import annotations

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings
from ..equations.rule import rule
from ..nudging.contrast import centered_contrast
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors


@rule(
    "centered-ep",
    place=20,
    exact="gradient",
    needs=("contrast",),
    settings=("beta", "steps", "snapshots", "tolerance", "max_steps"),
    order=2,
    instead="tracking-aep",
)
def centered_ep(
    net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings
) -> Estimate:
    """Centred equilibrium propagation (Laborieux et al. 2021).

        dC/dtheta = (dE/dtheta(z(+beta)) - dE/dtheta(z(-beta))) / (2 beta) + O(beta^2)

    As in ``ep`` F must be a gradient; the even orders of the bias cancel between both phases.
    """
    free = run_free_phase(net, start, fixed, settings.free)
    return centered_contrast(net, free, fixed, targets, settings)
