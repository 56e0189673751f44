"""The learning rules of a network of layers: by each of them every layer is gone back through alone, the last first."""

from __future__ import annotations

from energyc.code.targets.jax.parts.layers import learned
from energyc.code.targets.jax.parts.network import Clamps, Layer, Params, Targets
from energyc.code.targets.jax.parts.records import Gradients


def bptt(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """Backpropagation through all steps of all layers, the starts included."""
    return learned(Layer.by_bptt, params, clamps, targets)


def implicit(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """The exact gradient with each layer at its equilibrium."""
    return learned(Layer.by_implicit, params, clamps, targets)


def adjoint(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """Of each layer the limit of ``tracking_aep`` as beta -> 0."""
    return learned(Layer.by_adjoint, params, clamps, targets)


def ep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Each layer by equilibrium propagation with one nudged phase (Scellier and Bengio 2017)."""
    return learned(Layer.by_ep, params, clamps, targets, beta)


def centered_ep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Each layer by centred equilibrium propagation (Laborieux et al. 2021)."""
    return learned(Layer.by_centered_ep, params, clamps, targets, beta)


def vf(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Each layer by the centred contrast under any force (Scellier et al. 2018): biased unless J = J^T."""
    return learned(Layer.by_centered_ep, params, clamps, targets, beta)


def aep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Each layer by centred equilibrium propagation with a correction frozen at its rest."""
    return learned(Layer.by_aep, params, clamps, targets, beta)


def tracking_aep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Each layer by centred equilibrium propagation with a correction that tracks its free phase."""
    return learned(Layer.by_tracking_aep, params, clamps, targets, beta)
