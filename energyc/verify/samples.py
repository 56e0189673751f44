"""The samples of a run that its checkpoint is measured on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from energyc.diagnostics import UserError
from energyc.resolve import Network
from energyc.runs.data import feeds_of, open_data
from energyc.runs.saved import SavedRun
from energyc.train.feeds import Feed
from energyc.train.order import evenly_spread
from energyc.verify.probe import Probe
from energyc.verify.record import Record

#: A run is measured at its own sizes, on fewer samples.
RUN_SAMPLES = 2
#: The worst are chosen among so many that do not settle.
CANDIDATES = 16


def samples_of(saved: SavedRun, network: Network, configured: Any, log: Record) -> tuple[Probe | None, str]:
    """Test samples of a run, those that do not settle where its log has such, and a description of them.

    None, and why, where the data of the run cannot be opened.
    """
    try:
        datasets = open_data(network, saved.data_paths(), saved.options.seed)
        feed = Feed(feeds_of(network, datasets), "test", "cpu", torch.float64)
    except UserError:
        return None, "drawn inputs: the data of the run cannot be opened"
    limit = min((found.limit for found in log.crossings), default=math.inf)
    unsettled = _unsettled(saved, feed, configured, limit) if log.loose else []
    chosen = np.array(unsettled) if unsettled else evenly_spread(len(feed), RUN_SAMPLES)
    batch = feed.batch(chosen)
    words = f"{len(chosen)} test sample{'s' * (len(chosen) > 1)}"
    return Probe(batch.clamps, batch.targets), f"{words} that did not settle" if unsettled else words


def _unsettled(saved: SavedRun, feed: Feed, configured: Any, limit: float) -> list[int]:
    """The samples of an evaluation whose free phase ends furthest above a limit, of the first few that do."""
    found: list[tuple[float, int]] = []
    indices = evenly_spread(len(feed), saved.options.eval_samples)
    for first in range(0, len(indices), saved.options.batch):
        rows = indices[first : first + saved.options.batch]
        residual = configured.relax(feed.batch(rows).clamps).residual.nan_to_num(math.inf, math.inf)
        found += [(value, int(k)) for k, value in zip(rows, residual.tolist(), strict=True) if value > limit]
        if len(found) >= CANDIDATES:
            break
    return [k for _, k in sorted(found, key=lambda pair: -pair[0])[:RUN_SAMPLES]]
