"""Equilibrium propagation with the antisymmetric correction at the midpoint of both nudged phases."""

from __future__ import annotations

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Estimate, Fixed, RuleSettings
from energyc.runtime.equations.rule import rule
from energyc.runtime.nudging.contrast import centred
from energyc.runtime.nudging.pairs import TrackingPair
from energyc.runtime.relaxation.free_phase import settle
from energyc.runtime.tensors.states import Tensors


@rule(
    "tracking-aep",
    place=50,
    exact="any",
    needs=("contrast", "correction"),
    settings=("beta", "steps", "snapshots"),
    order=2,
)
def tracking_aep(
    net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings
) -> Estimate:
    """Centred equilibrium propagation for any force, by a correction that tracks the free network.

    With the midpoint m and half the difference v of both phases, they follow

        F(z) -+ beta dC/dz -+ (J_nc - J_nc^T)(m) v.

    m moves as a free network does and goes on settling; v moves by J^T(m) v - beta dC/dz(m) + O(v^3). So the contrast
    tends to -J^-T dC/dz with a bias of O(beta^2), and no tight free phase is needed. One product serves both phases.
    """
    return centred(net, settle(net, start, fixed, settings.free), fixed, targets, settings, TrackingPair)
