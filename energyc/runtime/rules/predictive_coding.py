"""Predictive coding with clamped outputs."""

from __future__ import annotations

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings
from ..equations.rule import rule
from ..nudging.clamped import common_samples, free_and_clamped_phases
from ..tensors.states import Tensors


@rule(
    "predictive-coding",
    place=130,
    exact="gradient",
    needs=("clamped", "slopes", "predictions"),
    objective="E(clamped)",
    instead="chl",
)
def predictive_coding(
    net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings
) -> Estimate:
    """Predictive coding (Whittington and Bogacz 2017), z^c the equilibrium whose outputs are held at the targets.

        d/dtheta E(z^c) = dE/dtheta(z^c)

    E is the sum of squared prediction errors, all of which vanish in a free phase. It is not the gradient of the cost,
    and tends to it where the outputs are predicted with little precision beside the other states.
    """
    free, clamped = free_and_clamped_phases(net, start, fixed, targets, settings.free)
    kept, at, _, held = common_samples(free, clamped, fixed)
    slopes = [net._descent_gradient(held, at)]
    return Estimate(free, slopes, kept, health={"clamped": clamped.residual})
