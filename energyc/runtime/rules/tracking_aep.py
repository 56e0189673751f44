"""Equilibrium propagation with the antisymmetric correction at the midpoint of both nudged phases."""

from __future__ import annotations

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings
from ..equations.rule import rule
from ..nudging.contrast import centered_contrast
from ..nudging.nudged_phases import TrackingPair
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors


@rule(
    "tracking-aep",
    place=50,
    exact="any",
    needs=("contrast", "correction"),
    settings=("beta", "steps", "snapshots", "tolerance", "max_steps"),
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
    free = run_free_phase(net, start, fixed, settings.free)
    return centered_contrast(net, free, fixed, targets, settings, TrackingPair)
