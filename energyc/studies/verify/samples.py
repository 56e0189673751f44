"""Where the log of a run has free phases that ended above its limits, and the samples on which it is measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from energyc.language.diagnostics import UserError
from energyc.language.network import Network
from energyc.language.settings.train import EVAL_SAMPLES
from energyc.running.runs.data import feed_of
from energyc.running.runs.data_arguments import NO_DATA, Data, DataArguments
from energyc.running.runs.saved import SavedRun
from energyc.running.training.feeds import Batch, Feed
from energyc.running.training.order import evenly_spread

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

    probe: Batch | None
    description: str
    crowd: dict[str, Tensor] | None = None


def samples_of(saved: SavedRun, network: Network, configured: Any, log: Record, data: Data = NO_DATA) -> RunSamples:
    """Return test samples of a run, from its own data or those that are given, for which it raises UserError."""
    try:
        given = saved.data(data.read(saved.source))
        feed = feed_of(network, given, saved.options.seed, division=saved.division)
    except UserError as error:
        if data:
            raise
        return RunSamples(None, f"drawn inputs: the data of the run cannot be opened ({error.help or error.message})")
    limit = min((crossing.limit for crossing in log.crossings), default=math.inf)
    unsettled = _worst_unsettled(saved, feed, configured, limit) if log.loose else []
    chosen = np.array(unsettled) if unsettled else evenly_spread(len(feed), RUN_SAMPLES)
    probe = feed.batch(chosen)
    description = f"{len(chosen)} test sample{'s' * (len(chosen) > 1)}"
    description = f"{description} that did not settle" if unsettled else description
    return RunSamples(probe, description, feed.batch(evenly_spread(len(feed), CROWD)).clamps)


def given_samples(network: Network, given: DataArguments, count: int = RUN_SAMPLES) -> Batch:
    """Return test samples of data that are given for a spec, ``count`` or as many as there are. Raises UserError."""
    feed = feed_of(network, given, network.train.seed)
    return feed.batch(evenly_spread(len(feed), count))


def random_probe(net: Any, *, batch: int = 4, seed: int = 0) -> Batch:
    """Draw clamps and targets for a network: reals uniformly from [0, 1], integers uniformly from their dim."""
    random = torch.Generator().manual_seed(seed)

    def draw(shapes: Mapping[str, Any]) -> dict[str, Tensor]:
        return {
            name: torch.rand((batch, *shape), generator=random, dtype=torch.float64)
            if classes is None
            else torch.randint(classes, (batch, *shape), generator=random)
            for name, (shape, classes) in shapes.items()
        }

    return Batch(draw(net.clamp_shapes), draw(net.target_shapes))


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


# ------------------------------------------------------------------ the log of a run

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Above:
    """The rows of a log, ``count`` of ``rows``, whose largest residual is above a limit.

    Each of ``ranges`` holds the first and the last step of consecutive such rows. ``worst`` is the largest residual,
    infinite if any is not finite.
    """

    rows: int
    count: int
    ranges: tuple[tuple[int, int], ...]
    worst: float

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return {"rows": self.rows, "above": self.count, "steps": list(map(list, self.ranges)), "worst": self.worst}


@dataclass(frozen=True)
class Crossing:
    """The evaluations and the updates above a limit, ``tolerance`` or ``gate``."""

    name: str
    limit: float
    evaluations: Above
    updates: Above

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        both = {"evaluations": self.evaluations.to_json(), "updates": self.updates.to_json()}
        return {"name": self.name, "limit": self.limit, **both}


@dataclass(frozen=True)
class Record:
    """The crossings of a log, and the residual at the checkpoint of ``step``.

    ``residual`` is the largest of the evaluation at that step, or of the update that starts there; None if the log has
    neither. ``last`` is the newest step in the log.
    """

    step: int
    last: int
    residual: float | None
    crossings: tuple[Crossing, ...]

    @property
    def loose(self) -> bool:
        """Whether the free phase ends above a limit with the weights of ``step``."""
        return self.residual is not None and any(not self.residual <= crossing.limit for crossing in self.crossings)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        limits = [crossing.to_json() for crossing in self.crossings]
        return {"last": self.last, "residual": self.residual, "unsettled": self.loose, "limits": limits}


def record(rows: Sequence[Row], step: int, limits: Mapping[str, float | None]) -> Record:
    """Compare the rows of a ``metrics.jsonl`` with named limits, for the checkpoint of ``step``."""
    evaluations = [row for row in rows if row.get("kind") == "eval"]
    updates = [row for row in rows if row.get("kind") == "train"]
    crossings = tuple(
        Crossing(name, limit, _above(evaluations, limit), _above(updates, limit))
        for name, limit in limits.items()
        if limit is not None
    )
    last = max((int(row["step"]) for row in rows), default=0)
    return Record(step, last, _residual_at(evaluations, updates, step), crossings)


def _residual_at(evaluations: Sequence[Row], updates: Sequence[Row], step: int) -> float | None:
    """Return the residual with the weights of a step, with which the update of the next row starts."""
    candidates = [row for row in evaluations if row["step"] == step] + [
        row for row in updates if row["step"] == step + 1
    ]
    return _residual(candidates[0]) if candidates else None


def _above(rows: Sequence[Row], limit: float) -> Above:
    residuals = [(int(row["step"]), _residual(row)) for row in rows]
    excesses = [residual for _, residual in residuals if not residual <= limit]
    return Above(len(residuals), len(excesses), tuple(_ranges(residuals, limit)), max(excesses, default=0.0))


def _ranges(residuals: Sequence[tuple[int, float]], limit: float) -> Iterator[tuple[int, int]]:
    for exceeds, group in groupby(residuals, lambda pair: not pair[1] <= limit):
        steps = [step for step, _ in group]
        if exceeds:
            yield steps[0], steps[-1]


def _residual(row: Row) -> float:
    """Return the residual of the worst sample; a log writes null for one that is not finite."""
    value = row.get("residual_max", row.get("residual"))
    return math.inf if value is None else float(value)
