"""The implicit gradient at the equilibrium."""

from __future__ import annotations

from torch import Tensor

from ..adjoints.implicit import solve_adjoint
from ..equations.equations import Equations
from ..equations.records import Estimate, Fixed, RuleSettings, not_exploded, restricted
from ..equations.rule import rule
from ..relaxation.solver import run_free_phase
from ..tensors.states import Tensors, filled


@rule("implicit", place=110, exact="any")
def implicit(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Estimate:
    """The exact gradient at an equilibrium, which all other rules are judged by.

        lambda = dC/dz + (I + step J)^T P^T lambda,    dC/dtheta = <step P^T lambda, dF/dtheta> + direct

    Samples whose free phase exploded take no part. Raises RuntimeError where the equilibrium is not isolated.
    """
    free = run_free_phase(net, start, fixed, settings.free)
    kept = not_exploded(free)
    if not bool(kept.any()):
        return Estimate(free, [], kept)
    at, (states, aims) = restricted(kept, fixed, free.states, targets)
    by_states, direct = net._cost_vjp(states, at, aims)
    pushed = solve_adjoint(net, states, at, filled(by_states, states), free.step)
    slopes = [net._force_vjp(states, at, pushed)[1], direct]
    if net.kinked:
        slopes.insert(1, net._kink_gradient(states, at, pushed))
    return Estimate(free, slopes, kept, pushed)
