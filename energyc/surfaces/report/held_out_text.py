"""Held-out numbers as tables: of several seeds or folds, with the health of each, and at several precisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from energyc.running.training.numbers import format_spread, shown
from energyc.running.training.outcome import CHOSEN_BY
from energyc.running.training.run_health import RunHealth
from energyc.surfaces.tables import Table

if TYPE_CHECKING:
    from energyc.studies.hardware.study import Row


def summary_parts(summary: Mapping[str, Any]) -> list[RenderableType]:
    """Return the table of mean and deviation of each held-out number, and the health of each run."""
    return [summary_table(summary), "\n".join(health_lines(summary))]


def health_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each seed or fold whose health the summary has."""
    kind = _kind(summary)
    for number, health in zip(summary[f"{kind}s"], summary.get("health", ()), strict=False):
        if health is not None:
            yield f"  {kind} {number}: {RunHealth.from_json(health)}"


def summary_table(summary: Mapping[str, Any]) -> Table:
    """Return a table of mean and deviation of held-out numbers; ``summary`` is that of ``train_each``."""
    columns = {"at the end": summary["final"], f"at the best checkpoint{_chosen(summary)}": summary["best"]}
    columns |= {"its validation part": summary["validation"]} if "validation" in summary else {}
    rests = _rests(summary)
    return spread_table(f"held-out, {_count(summary)}", {name: shown(part, rests) for name, part in columns.items()})


def spread_table(title: str, columns: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a table of mean and deviation of numbers over the runs, a column for each heading."""
    rows = (
        (name, *(_mean(name, column[name]) if name in column else "" for column in columns.values()))
        for name in next(iter(columns.values()))
    )
    return Table(("", *columns), tuple(rows), title)


def evaluation_parts(samples: str, numbers: Mapping[str, Any], summary: Mapping[str, Any]) -> list[RenderableType]:
    """Return the table of numbers of each run's best checkpoint on some ``samples``, and the health of each run."""
    columns = {f"at the best checkpoint{_chosen(summary)}": shown(numbers, _rests(summary))}
    return [spread_table(f"{samples}, {_count(summary)}", columns), "\n".join(health_lines(summary))]


def _chosen(summary: Mapping[str, Any]) -> str:
    """Which samples chose the best checkpoints; summaries of older versions do not say."""
    return f" {CHOSEN_BY[summary['best_by']]}" if summary.get("best_by") in CHOSEN_BY else ""


def _rests(summary: Mapping[str, Any]) -> bool:
    """Whether the states of the runs are to rest; runs of older versions do not say."""
    return all(health is None or health.get("rests", True) for health in summary.get("health", ()))


def _kind(summary: Mapping[str, Any]) -> str:
    return "fold" if "folds" in summary else "seed"


def _count(summary: Mapping[str, Any]) -> str:
    kind = _kind(summary)
    count = len(summary[f"{kind}s"])
    return f"{count} {kind}{'s' if count != 1 else ''}"


def _mean(name: str, entry: Mapping[str, Any]) -> str:
    return format_spread(name, entry["mean"], entry["deviation"])


def study_table(title: str, rows: Sequence[Row]) -> Table:
    """Return a table with a line for each precision and a column for each number."""
    names = [name for name in rows[0].numbers if name != "residual"]
    lines = []
    for row in rows:
        bits = "as trained" if row.precision.bits is None else str(row.precision.bits)
        found = [format_spread(name, row.numbers[name]["mean"], row.numbers[name]["deviation"]) for name in names]
        lines.append((bits, row.precision.share, str(len(row.results)), *found))
    return Table(("bits", "mismatch", "devices", *names), tuple(lines), title, words=0)
