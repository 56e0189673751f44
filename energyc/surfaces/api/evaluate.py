"""``energyc.evaluate``: held-out numbers of the best checkpoint of a run, of each of several runs, or on devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from energyc.language.diagnostics import Misuse, Option, spoken
from energyc.running.folder.layout import RunFolder
from energyc.running.runs.prepare import to_evaluate
from energyc.running.training.division import Part
from energyc.running.training.evaluation import evaluate as evaluate_session
from energyc.running.training.numbers import format_numbers, shown
from energyc.running.training.outcome import CHOSEN_BY, Numbers
from energyc.running.training.run_health import saturated_symptoms
from energyc.running.training.seeds import read_summary, run_folders, spread
from energyc.running.training.session import Session
from energyc.studies.hardware.study import DRAWS, Devices, Row, precisions, study
from energyc.surfaces.api.common import Notify, given, notes_to
from energyc.surfaces.api.result import Tabular
from energyc.surfaces.report.held_out_text import evaluation_parts, study_table
from energyc.surfaces.report.sweep_plots import draw_study
from energyc.surfaces.tables.layouts import printed


@dataclass(frozen=True, repr=False)
class Evaluated(Tabular):
    """The numbers of a run's best checkpoint on a split of ``size`` samples; ``numbers`` has how many were taken."""

    run: Path
    split: str
    size: int
    best_by: str
    numbers: Numbers
    warnings: tuple[str, ...]
    saturated: Mapping[str, Any] | None
    rests: bool

    def to_json(self) -> dict[str, Any]:
        """Return the numbers by name, and the run, the split and its size."""
        head = {"run": str(self.run), "split": self.split, "split_size": self.size, "best_by": self.best_by}
        units = {} if self.saturated is None else {"saturated": self.saturated}
        return {**head, **self.numbers, **units, "warnings": list(self.warnings)}

    def to_text(self, *, color: bool = False) -> str:
        """Return the numbers on a line, and a line for each warning."""
        text = format_numbers(shown(self.numbers, self.rests), self.split, self.size)
        lines = [f"best {CHOSEN_BY[self.best_by]}, {text}", *(f"  warning: {warning}" for warning in self.warnings)]
        return "\n".join(lines) + "\n"

    def records(self) -> list[dict[str, Any]]:
        """Return the numbers as a row."""
        return [{"run": str(self.run), "split": self.split, **self.numbers}]


@dataclass(frozen=True, repr=False)
class EvaluatedRuns(Tabular):
    """The numbers of each run of a folder of several seeds or folds, with mean and deviation."""

    folder: Path
    split: str
    runs: Mapping[str, Evaluated]
    summary: Mapping[str, Any]

    @property
    def numbers(self) -> dict[str, dict[str, Any]]:
        """Mean, sample deviation and values of every number."""
        return spread([run.numbers for run in self.runs.values()])

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all runs."""
        return tuple(f"{name}: {text}" for name, run in self.runs.items() for text in run.warnings)

    @property
    def _first(self) -> Evaluated:
        return next(iter(self.runs.values()))

    def to_json(self) -> dict[str, Any]:
        """Return mean, deviation and values of every number, and the health that training wrote down."""
        numbered = {kind: self.summary[kind] for kind in ("seeds", "folds") if kind in self.summary}
        head = {"run": str(self.folder), "split": self.split, "split_size": self._first.size, **numbered}
        return {**head, "numbers": self.numbers, "health": self.summary.get("health"), "warnings": list(self.warnings)}

    def to_text(self, *, color: bool = False) -> str:
        """Return a table of means and deviations, the health of each run, and the warnings."""
        taken, size = self._first.numbers["samples"], self._first.size
        part = f"{taken:,.0f} of {size:,} samples of the {self.split} split" if taken < size else f"{self.split} split"
        text = printed(evaluation_parts(part, self.numbers, self.summary), color=color)
        return text + "".join(f"  warning: {warning}\n" for warning in self.warnings)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each run."""
        return [row for run in self.runs.values() for row in run.records()]


@dataclass(frozen=True, repr=False)
class DeviceStudy(Tabular):
    """The numbers with params of few bits or with mismatch, a row for each precision; the first one is as trained."""

    run: Path
    split: str
    devices: Devices
    rows: tuple[Row, ...]
    picture: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the rows, and what levels span."""
        head = {"run": str(self.run), "split": self.split, "levels": self.devices.over, "seed": self.devices.seed}
        drawn = {} if self.picture is None else {"picture": str(self.picture)}
        return {**head, **drawn, "precisions": [row.to_json() for row in self.rows]}

    def to_text(self, *, color: bool = False) -> str:
        """Return a table with a line for each precision."""
        over = "the entries of each tensor" if self.devices.over == "tensor" else "the bounds of each param"
        text = printed([study_table(f"{self.split} split, levels over {over}", self.rows)], color=color)
        return text if self.picture is None else f"{text}{self.picture}\n"

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each device."""
        for row in self.rows:
            for numbers in row.results:
                yield {"bits": row.precision.bits, "mismatch": row.precision.mismatch, **numbers}

    def plot(self, path: str | Path) -> Path:
        """Draw the cost and each metric against bits or mismatch. Raises UserError E0530, E0513."""
        return draw_study(self.run.name, self.rows, Path(path))


def evaluate(
    run: str | PathLike[str],
    data: Any = None,
    *,
    test: Any = None,
    validation: Any = None,
    map: Mapping[str, str] | None = None,
    split: Part = "test",
    samples: int | None = None,
    bits: Sequence[int] = (),
    mismatch: Sequence[float] = (),
    draws: int | None = None,
    seed: int | None = None,
    levels: Literal["tensor", "box"] | None = None,
    picture: str | Path | None = None,
    device: str | None = None,
    notify: Notify | None = None,
) -> Evaluated | EvaluatedRuns | DeviceStudy:
    """Evaluate the best checkpoint of a run, or of each run of a folder of several seeds or folds.

    ``data``, ``test``, ``validation`` and ``map`` are those of ``energyc.train``, for a run whose data a program gave.
    ``samples`` limits the number of samples, spread evenly over the ``split``. ``bits`` rounds params to so many bits,
    with levels over the entries of each ``tensor`` or over a param's bounds (``box``); ``mismatch`` multiplies each
    entry by 1 + mismatch * normal, on ``draws`` devices from ``seed`` on. ``picture`` draws either into a file.

    Raises UserError (the folder, the data, an option without effect), SpecError.
    """
    _refuse_idle(bits, mismatch, draws, seed, levels, picture)
    folder, notify, feeding = Path(fspath(run)), notes_to(notify), given(data, test, validation, map)

    def opened(place: Path) -> Session:
        return to_evaluate(place, split, data=feeding, device=device)

    if bits or mismatch:
        devices = Devices(draws or DRAWS, seed or 0, levels or "tensor")
        rows = study(folder, precisions(bits, mismatch), opened, devices, split=split, samples=samples, notify=notify)
        drawn = None if picture is None else draw_study(folder.name, rows, Path(picture))
        return DeviceStudy(folder, split, devices, tuple(rows), drawn)

    def evaluated(place: Path) -> Evaluated:
        session = opened(place)
        found = evaluate_session(session, split=split, samples=samples, notify=notify)
        units = None if found.saturated is None else found.saturated.to_json()
        warnings = tuple(str(symptom) for symptom in saturated_symptoms(found.saturated, split))
        size = session.feeds.size(split)
        return Evaluated(place, split, size, found.best_by, found.numbers, warnings, units, session.rests)

    if not RunFolder(folder).of_several:
        return evaluated(folder)
    summary = read_summary(folder)
    runs = {place.name: evaluated(place) for place in run_folders(folder, summary).values()}
    return EvaluatedRuns(folder, split, runs, summary)


def _refuse_idle(
    bits: Sequence[int],
    mismatch: Sequence[float],
    draws: int | None,
    seed: int | None,
    levels: str | None,
    picture: str | Path | None,
) -> None:
    """Raise Misuse for an option that would change nothing."""
    if not mismatch and (draws is not None or seed is not None):
        text = "{} and {} draw devices for {}, which is not given"
        raise Misuse(spoken(text, Option("draws"), Option("seed"), Option("mismatch")), code="E0930")
    if not (bits or mismatch) and picture is not None:
        text = "{} draws what {} or {} measure, which are not given"
        raise Misuse(spoken(text, Option("picture"), Option("bits"), Option("mismatch")), code="E0930")
    if not bits and levels is not None:
        text = "{} says what the levels of {} span, which is not given"
        raise Misuse(spoken(text, Option("levels"), Option("bits")), code="E0930")
