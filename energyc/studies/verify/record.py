"""Find where the log of a run has free phases that ended above the tolerance, or above the gate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

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
