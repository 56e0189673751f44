"""Holomorphic equilibrium propagation with the antisymmetric correction."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings
from ..equations.rule import rule
from ..nudging.holomorphic import holomorphic_contrast
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors


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
    free = run_free_phase(net, start, fixed, settings.free)
    held = net._hold(free.states, fixed)

    def correction(moved: Tensors) -> Sequence[Tensor | None]:
        return net._held_correction(held, fixed, moved)

    return holomorphic_contrast(net, free, fixed, targets, settings, correction)
