"""The nudge of a network that does not descend in a metric."""

from __future__ import annotations

from energyc.code.targets.jax.parts.network import Fixed, Params, States, Targets, cost_vjp


def cost_force(params: Params, states: States, fixed: Fixed, targets: Targets) -> States:
    """dC/dz of each sample."""
    return cost_vjp(params, states, fixed, targets)[0]


#: What a nudge subtracts from the force.
nudge = cost_force
