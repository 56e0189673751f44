"""Equilibrium propagation with the antisymmetric correction at the equilibrium."""

from __future__ import annotations

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings
from ..equations.rule import rule
from ..nudging.contrast import centered_contrast
from ..nudging.nudged_phases import HeldPair
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors


@rule(
    "aep",
    place=40,
    exact="any",
    needs=("contrast", "correction", "held-correction"),
    settings=("beta", "steps", "snapshots", "tolerance", "max_steps"),
    order=2,
)
def aep(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """Centred equilibrium propagation for any force, by a correction frozen at z* (AEP).

    Both nudged phases follow

        F(z) - beta dC/dz - (J_nc - J_nc^T)(z*) (z - z*),

    whose Jacobian at z* is J^T, so that the contrast tends to -J^-T dC/dz with a bias of O(beta^2). It needs a free
    phase that is tight: from a state short of z* the correction pushes both phases along what is still missing.
    """
    free = run_free_phase(net, start, fixed, settings.free)
    return centered_contrast(net, free, fixed, targets, settings, HeldPair)
