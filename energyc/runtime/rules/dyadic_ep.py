"""Equilibrium propagation with dyads: both nudged phases at once, and no free phase before them."""

from __future__ import annotations

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings
from ..equations.rule import rule
from ..nudging.contrast import contrast
from ..nudging.dyads import corrected_forces, dyad_start, relax_dyads, symmetric_steps
from ..tensors.states import Tensors


@rule(
    "dyadic-ep",
    place=140,
    exact="any",
    needs=("contrast", "correction", "dyads"),
    settings=("beta", "steps", "alpha"),
    order=2,
)
def dyadic_ep(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """Dyadic learning in a network of any connections (Hoier, Kalinin, Ernoult and Zach 2024).

    Each state is a dyad of s+ and s- with mean m and difference v = s+ - s-, which settle in one phase from the start:

        ds+/dt = F(s+) - alpha (beta dC/dz + (J_nc - J_nc^T)(m) v),
        ds-/dt = F(s-) + (1 - alpha) (beta dC/dz + (J_nc - J_nc^T)(m) v).

    v / beta tends to J^-T dC/dz. The bias is of O(beta^2) for alpha = 1/2, and of O(beta) otherwise. Where F is a
    gradient both halves are on their own: they are the phases of ``centered-ep`` at beta / 2.
    """
    with net._contrasting():
        at = dyad_start(net, start, fixed, targets, settings, net._cost_force)
        forces = corrected_forces(net, fixed, targets, at.beta)
        make_steps = symmetric_steps(net, fixed, targets, at.beta, at.step)
        dyads = relax_dyads(net, at, fixed, settings, forces, make_steps)
    return contrast(net, dyads.mean, dyads.plus, dyads.minus, fixed, targets, at.beta, at.beta)
