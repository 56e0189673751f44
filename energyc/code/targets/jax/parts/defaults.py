"""Equations that a network has none of its own for."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from energyc.code.targets.jax.parts.network import Fixed, Params, Readouts, Slopes, States, Targets


def terms(params: Params, states: States, fixed: Fixed) -> dict[str, Array]:
    """The network has no energy."""
    return {}


def start_vjp(params: Params, fixed: Fixed, cotangents: States) -> Slopes:
    """The start depends on nothing."""
    return {}


def clamp_gradient(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """The force depends on no real clamp."""
    return {}


def readout_vjp(params: Params, states: States, fixed: Fixed, cotangents: Readouts) -> tuple[States, Slopes]:
    """The readouts depend on no state and no param."""
    return jax.tree.map(jnp.zeros_like, states), {}


def cost_vjp(params: Params, states: States, fixed: Fixed, targets: Targets) -> tuple[States, Slopes]:
    """The cost depends on no state and no param."""
    return jax.tree.map(jnp.zeros_like, states), {}


def at_step(fixed: Fixed, number: Array | int) -> Fixed:
    """What is fixed is so in all steps."""
    return fixed


def project(states: States) -> States:
    """The states are in no set."""
    return states


def project_vjp(at: States, cotangents: States) -> States:
    """The adjoint of nothing."""
    return cotangents
