"""The implicit gradient at the equilibrium."""

from __future__ import annotations

from torch import Tensor

from energyc.runtime.adjoint import solve_adjoint
from energyc.runtime.equations import Equations
from energyc.runtime.gradients import averaged
from energyc.runtime.phases import settle
from energyc.runtime.records import Fixed, Gradients, RuleSettings, Tensors
from energyc.runtime.rule import rule
from energyc.runtime.states import filled


@rule("implicit", exact="any")
def implicit(net: Equations, start: list[Tensor], fixed: Fixed, targets: Tensors, settings: RuleSettings) -> Gradients:
    """The exact gradient at an equilibrium, which all other rules are judged by.

        lambda = dC/dz + (I + step J)^T P^T lambda,    dC/dtheta = <step P^T lambda, dF/dtheta> + direct

    Raises RuntimeError where the equilibrium is not isolated.
    """
    free = settle(net, start, fixed, settings.free)
    seeds = filled(net._cost_force(free.states, fixed, targets), free.states)
    pushed = solve_adjoint(net, free.states, fixed, seeds, settings.free.step)
    slopes = [net._force_pullback(free.states, fixed, pushed)[1], net._cost_gradient(free.states, fixed, targets)]
    return averaged(net, slopes, free, fixed, targets, settings)
