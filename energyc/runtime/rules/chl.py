"""Contrastive Hebbian learning."""

from __future__ import annotations

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Estimate, Fixed, RuleSettings
from energyc.runtime.equations.rule import rule
from energyc.runtime.nudging.clamped import both_phases, kept_of
from energyc.runtime.nudging.contrast import energy_contrast
from energyc.runtime.tensors.states import Tensors


@rule(
    "chl",
    place=120,
    exact="gradient",
    needs=("clamped",),
    objective="E(clamped) - E(free)",
    instead="centered-ep",
)
def chl(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """Contrastive Hebbian learning (Movellan 1991), with z^c the equilibrium whose outputs are held at the targets.

        d/dtheta (E(z^c) - E(z*)) = dE/dtheta(z^c) - dE/dtheta(z*)

    Both phases rest where the energy is critical in what moves, so that their displacements have no share in it. It is
    not the gradient of the cost, but that of the error in the metric of the energy where the error is small.
    """
    free, clamped = both_phases(net, start, fixed, targets, settings.free)
    kept, at, states, held = kept_of(free, clamped, fixed)
    slopes = [energy_contrast(net, held, states, at)]
    return Estimate(free, slopes, kept, health={"clamped": clamped.residual})
