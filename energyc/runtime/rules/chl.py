"""Contrastive Hebbian learning."""

from __future__ import annotations

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings
from ..equations.rule import rule
from ..nudging.clamped import common_samples, free_and_clamped_phases
from ..nudging.contrast import energy_contrast
from ..tensors.states import Tensors


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
    free, clamped = free_and_clamped_phases(net, start, fixed, targets, settings.free)
    kept, at, states, held = common_samples(free, clamped, fixed)
    slopes = [energy_contrast(net, held, states, at)]
    return Estimate(free, slopes, kept, health={"clamped": clamped.residual})
