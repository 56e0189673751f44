"""Equilibrium propagation for vector fields."""

from __future__ import annotations

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings
from ..equations.rule import rule
from ..nudging.contrast import centered_contrast
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors


@rule(
    "vf",
    place=30,
    exact="gradient",
    needs=("contrast",),
    settings=("beta", "steps", "snapshots", "tolerance", "max_steps"),
    order=2,
    instead="tracking-aep",
)
def vf(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """The centred contrast under any force (Scellier et al. 2018).

        dC/dtheta ~ <(z(-beta) - z(+beta)) / (2 beta), dF/dtheta(z*)>

    The contrast tends to -J^-1 dC/dz where the gradient needs -J^-T dC/dz: biased unless J = J^T, whatever beta.
    """
    free = run_free_phase(net, start, fixed, settings.free)
    return centered_contrast(net, free, fixed, targets, settings)
