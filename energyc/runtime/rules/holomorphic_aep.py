"""Holomorphic equilibrium propagation with the antisymmetric correction."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Estimate, Fixed, RuleSettings
from energyc.runtime.equations.rule import rule
from energyc.runtime.nudging.circle import circled
from energyc.runtime.relaxation.free_phase import settle
from energyc.runtime.tensors.states import Tensors


@rule(
    "holomorphic-aep",
    place=80,
    exact="any",
    needs=("contrast", "correction", "held-correction", "holomorphic"),
    settings=("radius", "points", "steps"),
    order=0,
)
def holomorphic_aep(
    net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings
) -> Estimate:
    """``holomorphic-ep`` for any force: nudges on a circle with the correction of ``aep`` at z*.

    The correction is a real linear map, so that it acts on real and imaginary parts apart.
    """
    free = settle(net, start, fixed, settings.free)
    held = net._hold(free.states, fixed)

    def correction(moved: Tensors) -> Sequence[Tensor | None]:
        return net._held_correction(held, fixed, moved)

    return circled(net, free, fixed, targets, settings, correction)
