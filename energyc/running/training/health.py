"""Find numbers that are not finite, and the samples that may take part in an update."""

from __future__ import annotations

import torch
from torch import Tensor

from energyc.running.training.feeds import Batch
from energyc.running.training.network import Network, Tensors
from energyc.runtime import Gradients


class NotFinite(Exception):
    """``what`` is not finite, so the update cannot be made."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def first_not_finite(net: Network, batch: Batch, gradients: Gradients) -> str | None:
    """Return the first cause that is not finite: a term, a state, the cost, a gradient."""
    values = {**gradients.states, **gradients.params}
    if bool(torch.isfinite(gradients.cost).all()) and _finite(values):
        return None
    return not_finite_state(net, batch, gradients.states, gradients.cost) or _first(gradients.params, "the gradient of")


def states_finite(gradients: Gradients) -> Tensor:
    """Return whether the states of each sample are finite, [batch] bool."""
    found = torch.ones_like(gradients.cost, dtype=torch.bool)
    for state in gradients.states.values():
        found &= torch.isfinite(state).reshape(len(state), -1).all(1)
    return found


def not_finite_state(net: Network, batch: Batch, states: Tensors, cost: Tensor) -> str | None:
    """Return what is not finite: an energy term at the start or at the end, a state, or the cost."""
    states_finite, cost_finite = _finite(states), bool(torch.isfinite(cost).all())
    if states_finite and cost_finite:
        return None
    finite_states = states if states_finite else net.relax(batch.clamps, steps=0).states
    term = net.first_bad_term(finite_states, batch.clamps)
    if term is not None:
        return f"energy term {term}"
    return "the cost" if states_finite else _first(states, "state")


def not_finite_param(params: Tensors) -> str | None:
    """Return the first param that is not finite."""
    return _first(params, "param")


def _finite(values: Tensors) -> bool:
    return all(bool(torch.isfinite(value).all()) for value in values.values())


def _first(values: Tensors, kind: str) -> str | None:
    return next((f"{kind} {name}" for name, value in values.items() if not _finite({name: value})), None)
