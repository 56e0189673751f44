"""Equilibrium propagation with a nudge to either side."""

from __future__ import annotations

from torch import Tensor

from energyc.runtime.contrast import centred
from energyc.runtime.equations import Equations
from energyc.runtime.phases import settle
from energyc.runtime.records import Fixed, Gradients, RuleSettings, Tensors
from energyc.runtime.rule import rule


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
) -> Gradients:
    """Centred equilibrium propagation (Laborieux et al. 2021).

        dC/dtheta = (dE/dtheta(z(+beta)) - dE/dtheta(z(-beta))) / (2 beta) + O(beta^2)

    As in ``ep`` F must be a gradient; the even orders of the bias cancel between both phases.
    """
    return centred(net, settle(net, start, fixed, settings.free), fixed, targets, settings)
