"""What the log of a run says of its free phases: where they ended above the tolerance, or above the gate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Above:
    """Of ``rows`` of a log those whose largest residual lay above a limit.

    They are ``count``, in ``ranges`` of steps, each the first and the last of rows that follow each other. ``worst`` is
    the largest residual of them, infinite where one was not finite.
    """

    rows: int
    count: int
    ranges: tuple[tuple[int, int], ...]
    worst: float

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"rows": self.rows, "above": self.count, "steps": list(map(list, self.ranges)), "worst": self.worst}


@dataclass(frozen=True)
class Crossing:
    """What lay above a limit, ``tolerance`` or ``gate``: of the evaluations, and of the updates."""

    name: str
    limit: float
    evaluations: Above
    updates: Above

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        both = {"evaluations": self.evaluations.to_json(), "updates": self.updates.to_json()}
        return {"name": self.name, "limit": self.limit, **both}


@dataclass(frozen=True)
class Record:
    """A log, seen from the checkpoint of ``step``.

    ``residual`` is the largest with the weights of that step, of its evaluation or of the update that began there; None
    where the log has neither. ``last`` is the newest step in the log.
    """

    step: int
    last: int
    residual: float | None
    crossings: tuple[Crossing, ...]

    @property
    def loose(self) -> bool:
        """Whether the free phase ended above a limit with the weights of ``step``."""
        return self.residual is not None and any(not self.residual <= found.limit for found in self.crossings)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        crossings = [found.to_json() for found in self.crossings]
        return {"last": self.last, "residual": self.residual, "unsettled": self.loose, "limits": crossings}


def record(rows: Sequence[Row], step: int, limits: Mapping[str, float | None]) -> Record:
    """Read the rows of a ``metrics.jsonl`` against limits by name, from the checkpoint of ``step``."""
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
    """An update is of the weights that it begins with, and its row is of the step that it makes."""
    same = [row for row in evaluations if row["step"] == step] + [row for row in updates if row["step"] == step + 1]
    return _residual(same[0]) if same else None


def _above(rows: Sequence[Row], limit: float) -> Above:
    found = [(int(row["step"]), _residual(row)) for row in rows]
    over = [residual for _, residual in found if not residual <= limit]
    return Above(len(found), len(over), tuple(_ranges(found, limit)), max(over, default=0.0))


def _ranges(found: Sequence[tuple[int, float]], limit: float) -> Iterator[tuple[int, int]]:
    for over, group in groupby(found, lambda pair: not pair[1] <= limit):
        steps = [step for step, _ in group]
        if over:
            yield steps[0], steps[-1]


def _residual(row: Row) -> float:
    """That of the worst sample; what is not finite is null in a log."""
    value = row.get("residual_max", row.get("residual"))
    return math.inf if value is None else float(value)
