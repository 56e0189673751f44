"""``relaxations.jsonl``: how a few test samples relax at each evaluation, so that a run can be looked at later.

A row has the update (``step``), the steps ``at`` which it was looked, and a list for each sample of its ``energies``
(where there are any) and its ``residuals`` there, rounded, null where they are not finite. It is the free phase of the
spec, outside of training.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from energyc.running.training.feeds import Feed
from energyc.running.training.network import Network
from energyc.running.training.order import evenly_spread

#: How many samples are followed, and at how many steps they are looked at.
SAMPLES, PLACES = 4, 32
_PLURAL = MappingProxyType({"energy": "energies", "residual": "residuals"})


@torch.no_grad()
def relaxation_row(net: Network, feed: Feed, step: int, *, energies: bool, seed: int) -> dict[str, Any]:
    """Return the row of an update: some samples of a part, spread evenly over it, relaxed outside of training."""
    net.train(False)
    batch = feed.batch(evenly_spread(len(feed), SAMPLES), seed=seed)
    record = ("energy", "residual") if energies else ("residual",)
    trace = net.relax(batch.clamps, record=record).trace
    at = _places(len(trace["residual"]) - 1)
    return {"step": step, "at": at, **{_PLURAL[name]: _rounded(trace[name][at]) for name in record}}


def _places(last: int) -> list[int]:
    """Return steps from 0 to ``last``, all of them if they are few, else denser at the beginning."""
    if last < PLACES:
        return list(range(last + 1))
    return [0, *(int(k) for k in np.unique(np.geomspace(1, last, PLACES - 1).round()))]


def _rounded(values: Tensor) -> list[list[float | None]]:
    """Return [places, samples] as a list for each sample."""
    return [[_six_digits(float(value)) for value in sample] for sample in values.double().cpu().T]


def _six_digits(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
