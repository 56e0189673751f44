"""One measurement of gradients by all ranks, each on its share of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from energyc.running.ranks.group import ALONE, Group
from energyc.running.training.feeds import Batch
from energyc.running.training.health import first_not_finite, states_finite
from energyc.running.training.network import Network, Tensors
from energyc.runtime import Gradients


@dataclass(frozen=True)
class Measured:
    """The gradients of samples that the ranks have shared; all but ``batch`` and ``own`` is the same at all.

    ``params`` are averages over the samples ``kept``. ``cost``, ``residual``, ``steps``, ``kept``, ``finite`` (whether
    the states are) and ``health`` are of each sample, [samples]. ``batch`` and ``own`` are of this rank's share.
    """

    group: Group
    batch: Batch
    own: Gradients
    params: Tensors
    cost: Tensor
    residual: Tensor
    steps: Tensor
    kept: Tensor
    finite: Tensor
    health: Tensors

    def culprit(self, net: Network) -> str | None:
        """Return the first cause that is not finite; None if all is finite."""
        values = [self.cost, *self.params.values()]
        if bool(self.finite.all()) and all(bool(torch.isfinite(value).all()) for value in values):
            return None
        return self.group.first_of(first_not_finite(net, self.batch, self.own))


#: What penalty and defence measure, as ``health`` names it.
REGULARIZATION = ("penalty", "contraction", "defence")


class Regularization(NamedTuple):
    """Averages of the gradients of penalty and defence, and the value of each at each finite sample, [samples]."""

    params: Tensors
    values: Tensors


def sharing(group: Group, count: int) -> Group:
    """Return the group that shares ``count`` samples; fewer than there are ranks are measured by each of them."""
    return group if count >= group.size else ALONE


def merged(group: Group, batch: Batch, own: Gradients, counts: Sequence[int]) -> Measured:
    """Average over the samples of all ranks, of which each has its number in ``counts``, and gather what is of each."""
    vectors = {"cost": own.cost, "residual": own.residual, "steps": own.steps, "kept": own.kept}
    vectors |= {"finite": states_finite(own), **own.health}
    if group.size > 1:
        rows = torch.stack([vector.double() for vector in vectors.values()], dim=1)
        columns = group.gathered(rows, counts).unbind(1)
        pairs = zip(vectors.items(), columns, strict=True)
        vectors = {name: column.to(vector.dtype) for (name, vector), column in pairs}
        average(group, own.params, int(own.kept.sum()), int(vectors["kept"].sum()))
    health = {name: vectors.pop(name) for name in own.health}
    return Measured(group=group, batch=batch, own=own, params=own.params, health=health, **vectors)


def averaged_regularization(
    group: Group, like: Tensors, own: Gradients | None, counts: Sequence[int]
) -> Regularization:
    """Average gradients of penalty and defence over the samples of all ranks; ``own`` is None at one without any.

    ``like`` has the shapes of the params.
    """
    params = {name: torch.zeros_like(value) for name, value in like.items()} if own is None else own.params
    values: Tensors = {} if own is None else {name: own.health[name] for name in REGULARIZATION if name in own.health}
    if group.size > 1:
        names = group.first_of(list(values) or None) or []
        first = next(iter(params.values()))
        rows = torch.stack([values[name] for name in names], dim=1) if values else first.new_zeros(0, len(names))
        values = dict(zip(names, group.gathered(rows, counts).unbind(1), strict=True))
        average(group, params, counts[group.rank], sum(counts))
    return Regularization(params, values)


def average(group: Group, means: Tensors, count: int, total: int) -> None:
    """Replace each mean over ``count`` samples of this rank by that over the ``total`` of all."""
    shares = [mean * (max(1, count) / max(1, total)) for mean in means.values()]
    means.update(zip(means, group.summed(shares), strict=True))


def vitals(seen: Measured, used: Measured | None, regularization: Tensors) -> dict[str, float | int | None]:
    """Return the health of a row, from all samples ``seen`` and those whose contrast was ``used`` (None for none).

    ``regularization`` has what penalty and defence measured of each sample.
    Counts: ``frozen`` by rounding, ``dropped`` because their nudged phases diverged. Means over the samples with finite
    values, None without any: ``penalty_value`` |J_nc w|^2 / dim, ``contraction_value`` the factor of a step along the
    slowest mode, ``defence_value`` |step F|^2 / |z|^2, ``snapshot`` the nudged step taken, ``leakage`` of a circle of
    nudges, ``clamped`` the residual of a clamped phase.
    """
    values = {f"{key}_value": value for key, value in regularization.items()}
    values |= {
        key: used.health[key] for key in ("snapshot", "leakage", "clamped") if used is not None and key in used.health
    }
    counts = {
        "frozen": int(seen.health["frozen"].sum()),
        "dropped": 0 if used is None else int((~used.kept).sum()),
    }
    return {**counts, **{name: _mean(value.double()) for name, value in values.items()}}


def _mean(values: Tensor) -> float | None:
    known = values[torch.isfinite(values)]
    return float(known.mean()) if len(known) else None
