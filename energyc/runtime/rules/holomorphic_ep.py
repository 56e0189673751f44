"""Holomorphic equilibrium propagation."""

from __future__ import annotations

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings
from ..equations.rule import rule
from ..nudging.holomorphic import holomorphic_contrast
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors


@rule(
    "holomorphic-ep",
    place=70,
    exact="gradient",
    needs=("contrast", "holomorphic"),
    settings=("radius", "points", "steps"),
    order=0,
    instead="holomorphic-aep",
)
def holomorphic_ep(
    net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings
) -> Estimate:
    """Nudges on a circle of radius r in the complex plane (Laborieux and Zenke 2022).

        dC/dtheta = Re (1 / (N r)) sum_k exp(-2 pi i k / N) dE/dtheta(z(r exp(2 pi i k / N))) + O(r^N)

    A Cauchy sum for the derivative at beta = 0, which exists where the force is analytic; F must be a gradient, as in
    ``ep``.
    """
    free = run_free_phase(net, start, fixed, settings.free)
    return holomorphic_contrast(net, free, fixed, targets, settings)
