"""Equilibrium propagation with the antisymmetric correction at the equilibrium."""

from __future__ import annotations

from torch import Tensor

from energyc.runtime.contrast import Corrections, centred
from energyc.runtime.equations import Equations
from energyc.runtime.phases import settle
from energyc.runtime.records import Fixed, Gradients, RuleSettings, Tensors
from energyc.runtime.rule import rule


@rule(
    "aep",
    place=40,
    exact="any",
    needs=("contrast", "correction", "held-correction"),
    settings=("beta", "steps", "snapshots"),
    order=2,
)
def aep(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Gradients:
    """Centred equilibrium propagation for any force, by a correction frozen at z* (AEP).

    Both nudged phases follow

        F(z) - beta dC/dz - (J_nc - J_nc^T)(z*) (z - z*),

    whose Jacobian at z* is J^T, so that the contrast tends to -J^-T dC/dz with a bias of O(beta^2). It needs a free
    phase that is tight: from a state short of z* the correction pushes both phases along what is still missing.
    """
    free = settle(net, start, fixed, settings.free)
    held = net._hold(free.states, fixed)

    def correction(plus: Tensors, minus: Tensors) -> Corrections:
        left = net._held_correction(held, fixed, [p - x for p, x in zip(plus, free.states)])
        right = net._held_correction(held, fixed, [m - x for m, x in zip(minus, free.states)])
        return left, right

    return centred(net, free, fixed, targets, settings, correction)
