"""Choose the samples on which the checkpoint of a run is measured."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from energyc.language.diagnostics import UserError
from energyc.language.network import Network
from energyc.language.settings.train import EVAL_SAMPLES
from energyc.running.runs.data import feeds_of
from energyc.running.runs.data_arguments import NO_DATA, Data, DataArguments, opened
from energyc.running.runs.saved import SavedRun
from energyc.running.training.division import WHOLE, Division
from energyc.running.training.feeds import Feed
from energyc.running.training.order import evenly_spread
from energyc.studies.verify.probe import Probe
from energyc.studies.verify.record import Record

#: The number of samples of data, fewer than for a spec since a network has its full sizes on them.
RUN_SAMPLES = 2
#: The number of samples among which those that do not settle are looked for.
CROWD = 64
#: The number of unsettled samples among which the worst are chosen.
CANDIDATES = 16


class RunSamples(NamedTuple):
    """Test samples of a run to measure, unsettled ones if the free phase in its log is loose, and their description.

    ``crowd`` are the clamps of more samples, among which those that do not settle are looked for. Without the data of
    the run, both are None and ``description`` is the reason.
    """

    probe: Probe | None
    description: str
    crowd: dict[str, Tensor] | None = None


def samples_of(saved: SavedRun, network: Network, configured: Any, log: Record, data: Data = NO_DATA) -> RunSamples:
    """Return test samples of a run, from its own data or those that are given, for which it raises UserError."""
    division = Division(saved.options.validation, saved.options.folds, saved.info.get("fold"))
    try:
        given = saved.data(data.read(saved.source))
        feed = _test_feed(network, given, saved.options.seed, division)
    except UserError as error:
        if data:
            raise
        return RunSamples(None, f"drawn inputs: the data of the run cannot be opened ({error.help or error.message})")
    limit = min((crossing.limit for crossing in log.crossings), default=math.inf)
    unsettled = _worst_unsettled(saved, feed, configured, limit) if log.loose else []
    chosen = np.array(unsettled) if unsettled else evenly_spread(len(feed), RUN_SAMPLES)
    probe = _probe(feed, chosen)
    description = f"{len(chosen)} test sample{'s' * (len(chosen) > 1)}"
    description = f"{description} that did not settle" if unsettled else description
    return RunSamples(probe, description, feed.batch(evenly_spread(len(feed), CROWD)).clamps)


def given_samples(network: Network, given: DataArguments, count: int = RUN_SAMPLES) -> Probe:
    """Return test samples of data that are given for a spec, ``count`` or as many as there are. Raises UserError."""
    feed = _test_feed(network, given, network.train.seed, WHOLE)
    return _probe(feed, evenly_spread(len(feed), count))


def _test_feed(network: Network, given: DataArguments, seed: int, division: Division) -> Feed:
    datasets, direct = opened(network, given, seed)
    return Feed(feeds_of(network, datasets, division, direct), "test", "cpu", torch.float64)


def _probe(feed: Feed, chosen: np.ndarray) -> Probe:
    batch = feed.batch(chosen)
    return Probe(batch.clamps, batch.targets)


def _worst_unsettled(saved: SavedRun, feed: Feed, configured: Any, limit: float) -> list[int]:
    """Return the samples with the largest residuals among the first few of an evaluation that end above a limit."""
    candidates: list[tuple[float, int]] = []
    indices = evenly_spread(len(feed), saved.options.eval_samples or EVAL_SAMPLES)
    for start in range(0, len(indices), saved.options.batch):
        chosen = indices[start : start + saved.options.batch]
        residual = configured.relax(feed.batch(chosen).clamps).residual.nan_to_num(math.inf, math.inf)
        candidates += [
            (value, int(index)) for index, value in zip(chosen, residual.tolist(), strict=True) if value > limit
        ]
        if len(candidates) >= CANDIDATES:
            break
    return [index for _, index in sorted(candidates, key=lambda pair: -pair[0])[:RUN_SAMPLES]]
