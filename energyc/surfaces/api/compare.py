"""``energyc.compare``: a table of any number of runs, with the settings in which they differ."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from energyc.language.diagnostics import UserError
from energyc.running.folder.layout import RunFolder
from energyc.running.runs.saved import SavedRun, load_run
from energyc.running.training.numbers import format_number
from energyc.running.training.outcome import best_by
from energyc.surfaces.api.common import runs_of
from energyc.surfaces.api.files import write_text
from energyc.surfaces.api.result import Tabular
from energyc.surfaces.tables import Table
from energyc.surfaces.tables.layouts import printed

#: Numbers of an evaluation that the table leaves out; the DataFrame and the CSV have them.
LEFT_OUT = ("residual_max", "relax_steps", "samples")


@dataclass(frozen=True)
class Row:
    """A run: its folder, what it was made with, its updates, and the numbers of its best checkpoint."""

    run: str
    settings: Mapping[str, Any]
    updates: int
    best_step: int | None
    best_by: str
    numbers: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """Runs, a row each, with a column for each setting in which they differ; and the CSV if it was written."""

    rows: tuple[Row, ...]
    file: Path | None = None

    @property
    def varied(self) -> tuple[str, ...]:
        """The settings in which the runs differ."""
        names = dict.fromkeys(name for row in self.rows for name in row.settings)
        return tuple(name for name in names if len({str(row.settings.get(name)) for row in self.rows}) > 1)

    @property
    def best(self) -> Row:
        """The row with the lowest cost."""
        return min(self.rows, key=lambda row: row.numbers.get("cost", float("inf")))

    def records(self) -> list[dict[str, Any]]:
        """Return a dict for each run: its settings that differ, and its numbers."""
        return [
            {
                "run": row.run,
                **{name: row.settings.get(name) for name in self.varied},
                "updates": row.updates,
                "best_step": row.best_step,
                **row.numbers,
            }
            for row in self.rows
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the rows, and the settings in which they differ."""
        written = {} if self.file is None else {"file": str(self.file)}
        return {"varied": list(self.varied), "runs": self.records(), **written}

    def to_csv(self) -> str:
        """Return the rows as CSV."""
        records, stream = self.records(), io.StringIO()
        columns = list(dict.fromkeys(key for record in records for key in record))
        writer = csv.DictWriter(stream, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return stream.getvalue()

    def to_text(self, *, color: bool = False) -> str:
        """Return the table, or the path of the CSV."""
        if self.file is not None:
            return f"{self.file}\n"
        names = dict.fromkeys(name for row in self.rows for name in row.numbers if name not in LEFT_OUT)
        header = ("run", *self.varied, "updates", "best at", *names)
        return printed([Table(header, tuple(self._cells(row, tuple(names)) for row in self.rows))], color=color)

    def _cells(self, row: Row, names: Sequence[str]) -> tuple[str, ...]:
        own = (str(row.settings.get(name, "")) for name in self.varied)
        step = "" if row.best_step is None else f"{row.best_step:,}"
        numbers = (format_number(name, row.numbers[name]) if name in row.numbers else "" for name in names)
        return (row.run, *own, f"{row.updates:,}", step, *numbers)


def compare(*runs: str | PathLike[str], out: str | Path | None = None) -> Comparison:
    """Compare runs by the held-out numbers of their best checkpoints; ``out`` is a file for the rows as CSV.

    A folder of several seeds or folds stands for its runs. A run may be in progress. Raises UserError for a folder that
    is not one of a run.
    """
    if not runs:
        raise UserError("there is no run to compare", code="E0930", help="give the folders of runs")
    found = Comparison(tuple(_row(load_run(place)) for run in runs for place in _places(run)))
    return found if out is None else Comparison(found.rows, write_text(Path(out), found.to_csv()))


def shortened(value: object) -> str:
    """Return a value as a table shows it: a number in decimals, also where it is written as a fraction."""
    try:
        return f"{float(Fraction(str(value))):.12g}"
    except (ValueError, ZeroDivisionError):
        return str(value)


def _places(place: str | PathLike[str]) -> list[Path]:
    """Return the folder of a run, or those of several seeds or folds that were begun."""
    _, runs = runs_of(place)
    return [folder for folder in runs.values() if RunFolder(folder).info.exists()] if runs else [Path(place)]


def _row(run: SavedRun) -> Row:
    best = _best(run)
    info = run.info
    settings = {"spec": info.get("spec"), "preset": info.get("preset"), "rule": run.rule, "seed": run.options.seed}
    settings |= {"fold": info.get("fold")} | {
        name: shortened(value) for name, value in info.get("overrides", {}).items()
    }
    updates = max((row["step"] for row in run.rows()), default=0)
    return Row(str(run.folder.path), settings, updates, best.get("step"), best_by(best), best.get("numbers") or {})


def _best(run: SavedRun) -> Mapping[str, Any]:
    """Return the best evaluation according to the newest checkpoint; empty where there is none yet."""
    try:
        return run.checkpoint("last").state.get("best") or {}
    except UserError:
        return {}
