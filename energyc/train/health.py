"""What must be finite, and which samples may take part in an update."""

from __future__ import annotations

import torch
from torch import Tensor

from energyc.train.feeds import Batch
from energyc.train.network import Gradients, Network, Tensors


class NotFinite(Exception):
    """``what`` is not finite, so that the update cannot be made."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def first_not_finite(net: Network, batch: Batch, gradients: Gradients) -> str | None:
    """What is not finite, the first cause that is known: a term, a state, the cost, a gradient."""
    values = {**gradients.states, **gradients.params}
    if bool(torch.isfinite(gradients.cost).all()) and _finite(values):
        return None
    return not_finite_state(net, batch, gradients.states, gradients.cost) or _first(gradients.params, "the gradient of")


def not_finite_state(net: Network, batch: Batch, states: Tensors, cost: Tensor) -> str | None:
    """What is not finite: an energy term where it is so from the start, a state that ran away, a term, the cost."""
    settled, cost_known = _finite(states), bool(torch.isfinite(cost).all())
    if settled and cost_known:
        return None
    before = states if settled else net.relax(batch.clamps, steps=0).states
    term = net.first_bad_term(before, batch.clamps)
    if term is not None:
        return f"energy term {term}"
    return "the cost" if settled else _first(states, "state")


def not_finite_param(params: Tensors) -> str | None:
    """The first param that is not finite."""
    return _first(params, "param")


def within_gate(residual: Tensor, gate: float) -> Tensor:
    """[batch], bool: the samples that settled; a residual that is not finite has not."""
    return residual <= gate


def vitals(seen: Gradients, used: Gradients | None) -> dict[str, float | int | None]:
    """What a row says of health: of all samples ``seen``, and of those whose contrast was ``used`` (None: of none).

    Counts: ``frozen`` by rounding, ``dropped`` because their nudged phases diverged. Means over the samples where they
    are finite, None where they nowhere are: ``penalty_value`` |J_nc w|^2 / dim, ``defence_value`` |step F|^2 / |z|^2,
    ``snapshot`` the nudged step that was taken, ``leakage`` of a circle of nudges.
    """
    values = {f"{key}_value": seen.health[key] for key in ("penalty", "defence") if key in seen.health}
    values |= {key: used.health[key] for key in ("snapshot", "leakage") if used is not None and key in used.health}
    counts = {
        "frozen": int(seen.health["frozen"].sum()),
        "dropped": 0 if used is None else int((~used.kept).sum()),
    }
    return {**counts, **{name: _mean(value.double()) for name, value in values.items()}}


def _mean(values: Tensor) -> float | None:
    known = values[torch.isfinite(values)]
    return float(known.mean()) if len(known) else None


def _finite(values: Tensors) -> bool:
    return all(bool(torch.isfinite(value).all()) for value in values.values())


def _first(values: Tensors, kind: str) -> str | None:
    return next((f"{kind} {name}" for name, value in values.items() if not _finite({name: value})), None)
