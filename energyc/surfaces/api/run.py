"""``energyc.Run``: a finished run, from which everything else that can be done with one is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from energyc.running.folder.layout import RunFolder
from energyc.running.folder.logs import Row, read_rows
from energyc.running.training.numbers import format_numbers, shown
from energyc.running.training.outcome import CHOSEN_BY, Outcome
from energyc.running.training.seeds import run_folders
from energyc.surfaces.api.load import load
from energyc.surfaces.api.result import Result
from energyc.surfaces.html.cards import run_html, run_latex
from energyc.surfaces.report.held_out_text import summary_parts
from energyc.surfaces.tables.layouts import printed

if TYPE_CHECKING:
    from pandas import DataFrame

    from energyc.surfaces.api.evaluate import DeviceStudy, Evaluated, EvaluatedRuns
    from energyc.surfaces.api.export import Exported, Kind
    from energyc.surfaces.api.pages import Page, Pictures
    from energyc.surfaces.api.verify import HeldAgainstReference, Verified, VerifiedRuns


class OfFolder(Result):
    """Operations on the folder of a run, or of several. It is a path: ``open(run / "run.json")``."""

    folder: Path

    def evaluate(self, *data: Any, **options: Any) -> Evaluated | EvaluatedRuns | DeviceStudy:
        """Evaluate the best checkpoint: the arguments of ``energyc.evaluate``."""
        from energyc.surfaces.api.evaluate import evaluate

        return evaluate(self.folder, *data, **options)

    def verify(self, *data: Any, **options: Any) -> Verified | VerifiedRuns | HeldAgainstReference:
        """Measure the rule's gradient against the exact one: the arguments of ``energyc.verify``."""
        from energyc.surfaces.api.verify import verify

        return verify(self.folder, *data, **options)

    def plot(self, *kinds: str, **options: Any) -> Pictures:
        """Draw the pictures: the options of ``energyc.plot``."""
        from energyc.surfaces.api.pages import plot

        return plot(self.folder, kinds, **options)

    def __fspath__(self) -> str:
        return fspath(self.folder)

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


@dataclass(frozen=True, repr=False)
class Run(OfFolder):
    """A finished run: its folder, the updates done, held-out numbers at the end and at the best checkpoint.

    ``final``, ``best`` and ``validation`` are numbers by name, of the test and of the validation part. ``notes`` say
    how it was set up and how the data were read, ``warnings`` what did not stop it, ``health`` how it settled and
    learned, ``sizes`` the numbers of samples of the splits, ``seconds`` its time.
    """

    outcome: Outcome = field(repr=False)
    rule: str
    why_this_rule: str
    notes: tuple[str, ...] = ()
    #: Warnings on the spec and the rule, which were there before the first update.
    warnings_before: tuple[str, ...] = field(default=(), repr=False)
    #: Whether it is a model of characters, from which ``energyc sample`` draws text.
    reads_text: bool = False

    @property
    def folder(self) -> Path:  # type: ignore[override]
        """The folder of the run."""
        return self.outcome.out

    def __getattr__(self, name: str) -> Any:
        """The fields of the outcome: steps, final, best, best_step, best_by, validation, seconds, health, sizes."""
        if name.startswith("_") or name == "outcome":
            raise AttributeError(name)
        return getattr(self.outcome, name)

    @property
    def warnings(self) -> tuple[str, ...]:
        """All warnings: on the spec and the rule, and of the run."""
        return (*self.warnings_before, *self.outcome.warnings)

    @cached_property
    def network(self) -> Any:
        """The network with the weights of the best checkpoint, a ``torch.nn.Module`` on the CPU."""
        return self.load()

    def load(self, **options: Any) -> Any:
        """Load the same on another device or in another dtype: the options of ``energyc.load``."""
        return load(self.folder, **options)

    def params(self, target: str = "torch") -> dict[str, Any]:
        """Return the weights of the best checkpoint by name: tensors, or arrays of a target that does not learn."""
        return dict(self.load(target=target).params)

    def view(self, other: Any = None, **options: Any) -> Page:
        """Write the page of the run, or of this one beside another: the options of ``energyc.view``."""
        from energyc.surfaces.api.pages import view

        return view(self.folder, other, **options)

    def export(self, to: Kind, out: str | Path | None = None, **options: Any) -> Exported:
        """Write a netlist, an Ising problem or formulas: the options of ``energyc.export``."""
        from energyc.surfaces.api.export import export

        return export(self.folder, to, out, **options)

    @property
    def rows(self) -> list[Row]:
        """The rows of ``metrics.jsonl``: updates (``kind`` ``train``) and evaluations (``eval``, ``validation``)."""
        return read_rows(RunFolder(self.folder).metrics)

    @property
    def metrics(self) -> DataFrame:
        """The same rows as a DataFrame. Raises ImportError without pandas."""
        from pandas import DataFrame

        return DataFrame(self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``train --format json``."""
        outcome = self.outcome
        keys = ("steps", "final", "best", "best_step", "best_by", "seconds")
        numbers = {key: getattr(outcome, key) for key in keys} | {"seconds_since_step": outcome.first}
        numbers |= {"validation": outcome.validation} if outcome.validation else {}
        numbers["health"] = outcome.health.to_json() if outcome.health else None
        head = {"run": str(self.folder), "rule": self.rule, "why_this_rule": self.why_this_rule}
        return {**head, **numbers, "warnings": list(self.warnings)}

    def to_text(self, *, color: bool = False) -> str:
        """Return the held-out numbers, the health and the warnings of the run, a line each."""
        return "\n".join([f"{self.folder}: {self._duration}", *self._lines()]) + "\n"

    @property
    def _duration(self) -> str:
        """The steps, and the time of those since the run began or was resumed."""
        outcome = self.outcome
        if outcome.first == 0:
            return f"{outcome.steps} steps in {outcome.seconds:.0f} s"
        since = outcome.steps - outcome.first
        return f"{outcome.steps} steps, the {since} since resuming at step {outcome.first} in {outcome.seconds:.0f} s"

    def _lines(self) -> Iterator[str]:
        outcome = self.outcome
        rests = outcome.health is None or outcome.health.rests
        for said, split, measured in (
            ("at the end", "test", outcome.final),
            (f"best {CHOSEN_BY[outcome.best_by]}, step {outcome.best_step}", "test", outcome.best),
            ("its validation part", "validation", outcome.validation),
        ):
            if measured:
                yield f"  {said}: {format_numbers(shown(measured, rests), split, outcome.sizes.get(split))}"
        if outcome.health:
            yield f"  health: {outcome.health}"
        yield from (f"  warning: {warning}" for warning in outcome.warnings)

    def _repr_html_(self) -> str:
        """Return the learning curves and the last numbers, for a notebook."""
        info = RunFolder(self.folder).read_info()
        title = f"{info.get('network', '')}, {info.get('rule', '')}: {self.folder}"
        health = [str(self.outcome.health)] if self.outcome.health else []
        notes = [*health, *(f"warning: {warning}" for warning in self.warnings)]
        total = info.get("steps", self.outcome.steps)
        return run_html(title, self.rows, total=total, best=self.outcome.best_step, notes=notes)

    def _repr_latex_(self) -> str:
        """Return the numbers of the last evaluation, for a document."""
        return run_latex(self.rows)


@dataclass(frozen=True, repr=False)
class Runs(OfFolder):
    """Finished runs of several seeds or folds: the ``summary`` has mean, deviation and values of held-out numbers."""

    folder: Path
    summary: Mapping[str, Any]
    rule: str
    why_this_rule: str
    notes: tuple[str, ...] = ()
    warnings_before: tuple[str, ...] = field(default=(), repr=False)

    @property
    def folders(self) -> dict[int, Path]:
        """The folder of each seed or fold by its number."""
        return run_folders(self.folder, dict(self.summary))

    @property
    def warnings(self) -> tuple[str, ...]:
        """All warnings: on the spec and the rule, and of each run."""
        return (*self.warnings_before, *self.summary["warnings"])

    @property
    def metrics(self) -> DataFrame:
        """The rows of ``metrics.jsonl`` of all runs, with their numbers, as a DataFrame. Raises ImportError."""
        from pandas import DataFrame, concat

        kind = "fold" if "folds" in self.summary else "seed"
        frames = {number: DataFrame(read_rows(RunFolder(path).metrics)) for number, path in self.folders.items()}
        return concat(frames, names=[kind])

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``train --seeds K --format json``."""
        head = {"run": str(self.folder), "rule": self.rule, "why_this_rule": self.why_this_rule}
        return {**head, **self.summary, "warnings": list(self.warnings)}

    def to_text(self, *, color: bool = False) -> str:
        """Return a table of held-out numbers, the health of each run, and the warnings."""
        text = printed(summary_parts(self.summary), color=color)
        return text + "".join(f"  warning: {warning}\n" for warning in self.summary["warnings"])
