"""Dual propagation: dyads in a network of predictions."""

from __future__ import annotations

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings, not_exploded, restricted
from ..equations.rule import rule
from ..nudging.dyads import dyad_start, predicting_forces, relax_dyads, weighted_differences
from ..tensors.states import Tensors, finite


@rule(
    "dual-propagation",
    place=150,
    exact="gradient",
    needs=("dyads", "predictions", "lifted"),
    settings=("beta", "steps", "alpha"),
    order=2,
    instead="dyadic-ep",
)
def dual_propagation(
    net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings
) -> Estimate:
    """Dual propagation (Hoier, Staudt and Zach 2023), its mean by the transposed weights (Hoier and Zach 2024).

    In a sum of squared prediction errors each state s_k, as a dyad, is predicted from the mean of those before it:

        L = alpha C(s+) + (1 - alpha) C(s-) + (1 / beta) sum_k (E_k(s_k+, m) - E_k(s_k-, m)).

    The mean m is the free equilibrium, up to a curvature of the cost; the differences s+ - s- are what backpropagation
    sends back, times beta. dL/dtheta is the gradient up to O(beta^2) for alpha = 1/2, and O(beta) otherwise.
    """
    with net._contrasting():
        at = dyad_start(net, start, fixed, targets, settings, net._cost_force)
        dyads = relax_dyads(net, at, fixed, settings, predicting_forces(net, fixed, targets, at.beta))
    kept = not_exploded(dyads.mean) & finite([*dyads.plus, *dyads.minus])
    mean = dyads.mean
    here, (states, plus, minus, aims) = restricted(kept, fixed, mean.states, dyads.plus, dyads.minus, targets)
    back = net._prediction_gradient(states, here, weighted_differences(net, plus, minus))
    slopes = [{name: slope.div_(-at.beta) for name, slope in back.items()}, net._cost_gradient(states, here, aims)]
    return Estimate(mean, slopes, kept, beta=at.beta)
