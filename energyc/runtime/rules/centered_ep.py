"""Equilibrium propagation with a nudge to either side."""

from __future__ import annotations

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Estimate, Fixed, RuleSettings
from energyc.runtime.equations.rule import rule
from energyc.runtime.nudging.contrast import centred
from energyc.runtime.relaxation.free_phase import settle
from energyc.runtime.tensors.states import Tensors


@rule(
    "centered-ep",
    place=20,
    exact="gradient",
    needs=("contrast",),
    settings=("beta", "steps", "snapshots"),
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
    return centred(net, settle(net, start, fixed, settings.free), fixed, targets, settings)
