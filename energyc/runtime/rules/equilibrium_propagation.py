"""Equilibrium propagation: one nudged phase, or two whose forces may be corrected."""

from __future__ import annotations

from torch import Tensor

from ..equations.equations import Equations, rule
from ..equations.records import Estimate, Fixed, RuleSettings
from ..nudging.contrast import centered_contrast, contrast
from ..nudging.nudged_phases import HeldPair, TrackingPair, nudged
from ..nudging.strength import nudging_strength
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors


@rule(
    "ep",
    place=10,
    exact="gradient",
    needs=("contrast",),
    settings=("beta", "steps"),
    order=1,
    instead="tracking-aep",
)
def ep(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """Equilibrium propagation with one nudged phase (Scellier and Bengio 2017).

    The nudged phase starts at the equilibrium z* and follows F - beta dC/dz; then

        dC/dtheta = (dE/dtheta(z(+beta)) - dE/dtheta(z*)) / beta + O(beta).

    Where F is a gradient, J = J^T, so that the displacement dz/dbeta = J^-1 dC/dz is the adjoint state. What a free
    phase that has not ended still moves is read as displacement too.
    """
    with net._contrasting():
        free = run_free_phase(net, start, fixed, settings.free)
        beta = nudging_strength(net, free, fixed, targets, settings, order=1, one_sided=True, nudge=net._nudge)
        plus = nudged(net, free.states, fixed, targets, beta, settings.nudge._replace(step=free.step), net._nudge)
    return contrast(net, free, plus, free.states, fixed, targets, beta, beta, net.descends)


@rule(
    "centered-ep",
    place=20,
    exact="gradient",
    needs=("contrast",),
    settings=("beta", "steps", "snapshots", "tolerance", "max_steps"),
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
    free = run_free_phase(net, start, fixed, settings.free)
    return centered_contrast(net, free, fixed, targets, settings)


@rule(
    "vf",
    place=30,
    exact="gradient",
    needs=("contrast",),
    settings=("beta", "steps", "snapshots", "tolerance", "max_steps"),
    order=2,
    instead="tracking-aep",
)
def vf(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """The centred contrast under any force (Scellier et al. 2018).

        dC/dtheta ~ <(z(-beta) - z(+beta)) / (2 beta), dF/dtheta(z*)>

    The contrast tends to -J^-1 dC/dz where the gradient needs -J^-T dC/dz: biased unless J = J^T, whatever beta.
    """
    free = run_free_phase(net, start, fixed, settings.free)
    return centered_contrast(net, free, fixed, targets, settings)


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
