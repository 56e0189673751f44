"""Equilibrium propagation for vector fields."""

from __future__ import annotations

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Estimate, Fixed, RuleSettings
from energyc.runtime.equations.rule import rule
from energyc.runtime.nudging.contrast import centred
from energyc.runtime.relaxation.free_phase import settle
from energyc.runtime.tensors.states import Tensors


@rule(
    "vf",
    place=30,
    exact="gradient",
    needs=("contrast",),
    settings=("beta", "steps", "snapshots"),
    order=2,
    instead="tracking-aep",
)
def vf(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """The centred contrast under any force (Scellier et al. 2018).

        dC/dtheta ~ <(z(-beta) - z(+beta)) / (2 beta), dF/dtheta(z*)>

    The contrast tends to -J^-1 dC/dz where the gradient needs -J^-T dC/dz: biased unless J = J^T, whatever beta.
    """
    return centred(net, settle(net, start, fixed, settings.free), fixed, targets, settings)
