"""``energyc.verify``: each rule's gradient beside the exact one, of a spec, a run, or each of several runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from energyc.language.diagnostics import Misuse, Option, UserError, spoken
from energyc.pipeline import Choices
from energyc.running.runs.locate import is_run
from energyc.running.runs.saved import Which
from energyc.studies.verify import Verification
from energyc.studies.verify import verify as measure
from energyc.studies.verify.guarantees import WITHIN
from energyc.studies.verify.reference import HeldAgainst, hold
from energyc.studies.verify.work import EVALUATIONS, Progress, silent
from energyc.surfaces.api.common import Notify, given, notes_to, runs_of
from energyc.surfaces.api.result import Result, Tabular
from energyc.surfaces.report.sweep_plots import draw_sweep
from energyc.surfaces.report.verify_text import reference_parts, report
from energyc.surfaces.tables.layouts import printed

if TYPE_CHECKING:
    from pandas import DataFrame

SweepKind = Literal["residual", "beta"]


@dataclass(frozen=True, repr=False)
class Verified(Tabular):
    """The fidelity of each rule, with the picture of a ``sweep`` if one was drawn."""

    verification: Verification
    sweep: SweepKind | None = None
    picture: Path | None = None

    @property
    def passed(self) -> bool:
        """Return whether every rule that should be faithful is."""
        return self.verification.fidelity.passed

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``verify --format json``."""
        return self.verification.to_json() | ({} if self.picture is None else {"picture": str(self.picture)})

    def to_text(self, *, color: bool = False) -> str:
        """Return the report."""
        text = printed(report(self.verification, sweep=self.sweep == "beta"), color=color)
        return text if self.picture is None else f"{text}\n{self.picture}\n"

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each rule and column of the report."""
        for name, rule in self.verification.fidelity.rules.items():
            for column, found in (("limit", rule.limit), ("configured", rule.configured)):
                if found is not None:
                    yield {"rule": name, "verdict": rule.verdict, "column": column, **found.to_json()}


@dataclass(frozen=True, repr=False)
class VerifiedRuns(Result):
    """The same of each seed or fold of a folder, by its number; ``kind`` is ``seed`` or ``fold``."""

    kind: str
    runs: Mapping[int, Verified]

    @property
    def passed(self) -> bool:
        """Return whether all passed."""
        return all(run.passed for run in self.runs.values())

    def to_json(self) -> dict[str, Any]:
        """Return the reports by number."""
        reports = {str(number): run.to_json() for number, run in self.runs.items()}
        return {f"{self.kind}s": reports, "passed": self.passed}

    def to_text(self, *, color: bool = False) -> str:
        """Return the reports, each after its number."""
        return "".join(f"{self.kind} {number}\n{run.to_text(color=color)}" for number, run in self.runs.items())

    def to_frame(self) -> DataFrame:
        """Return one DataFrame of all runs, with their numbers. Raises ImportError without pandas."""
        from pandas import concat

        return concat({number: run.to_frame() for number, run in self.runs.items()}, names=[self.kind])


@dataclass(frozen=True, repr=False)
class HeldAgainstReference(Result):
    """A network beside results on file."""

    held: HeldAgainst

    @property
    def passed(self) -> bool:
        """Return whether every quantity agrees."""
        return self.held.passed

    def to_json(self) -> dict[str, Any]:
        """Return the largest difference of each quantity."""
        return self.held.to_json()

    def to_text(self, *, color: bool = False) -> str:
        """Return a table of the largest differences."""
        return printed(reference_parts(self.held), color=color)


#: Shows the progress of a measurement with a title, while it is entered.
Shown = Callable[[str], AbstractContextManager[Progress]]


def verify(
    spec_or_run: str | PathLike[str],
    data: Any = None,
    *,
    test: Any = None,
    map: Mapping[str, str] | None = None,
    rules: Sequence[str] | str | None = None,
    gain: float = 1.0,
    sweep: SweepKind | None = None,
    checkpoint: Which | None = None,
    within: float = WITHIN,
    budget: int = EVALUATIONS,
    reference: str | PathLike[str] | None = None,
    preset: str | None = None,
    dims: Mapping[str, int] | None = None,
    consts: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    notify: Notify | None = None,
    progress: Shown = lambda title: nullcontext(silent),
) -> Verified | VerifiedRuns | HeldAgainstReference:
    """Measure each rule's gradient on a spec or a run against the exact one, in the limit and as configured.

    Of a folder of seeds or folds every run is measured. With ``data``, given as to ``energyc.train``, a spec has its
    full sizes and inputs are test samples; otherwise it has those of its preset ``verify``, and inputs are drawn.
    ``gain`` multiplies the weights. ``sweep`` draws the error against ``residual`` or ``beta`` into a picture. The
    ``checkpoint`` of a run is the ``last`` one by default. Where the error of centered-ep has a bound, the largest beta
    is given at which that is ``within`` a number. Each measurement may take ``budget`` evaluations of the force.
    ``reference`` compares a spec with the results in a folder instead, ``"shipped"`` with those of energyc.

    Raises SpecError; UserError for the run, the data, a rule, or options that exclude each other.
    """
    choices, feeding = Choices.of(preset, dims, consts, settings), given(data, test, map=map)
    _refuse_excluded(spec_or_run, checkpoint, reference, bool(feeding))
    if reference is not None:
        return HeldAgainstReference(hold(Path(spec_or_run), str(reference), choices))
    notify = notes_to(notify)

    def measured(place: str | PathLike[str], title: str = "verify") -> Verified:
        with progress(title) as show:
            found = measure(
                place if isinstance(place, str) else Path(place),
                choices,
                rules=[rules] if isinstance(rules, str) else rules,
                gain=gain,
                sweep_residual=sweep == "residual",
                checkpoint=checkpoint or "last",
                evaluations=budget,
                data=feeding,
                within=within,
                notify=notify,
                progress=show,
            )
        return Verified(found, sweep, None if sweep is None else _draw(found, place, sweep, notify))

    kind, runs = runs_of(spec_or_run)
    if not runs:
        return measured(spec_or_run)
    return VerifiedRuns(kind, {number: measured(place, f"verify {kind} {number}") for number, place in runs.items()})


def _refuse_excluded(
    spec_or_run: str | PathLike[str], checkpoint: str | None, reference: object, has_data: bool
) -> None:
    """Raise Misuse for options that have no meaning here, or exclude each other."""
    if checkpoint is not None and not is_run(spec_or_run):
        raise Misuse(spoken("{} needs a run: a spec has no checkpoints", Option("checkpoint")), code="E0930")
    if reference is None:
        return
    if is_run(spec_or_run):
        text = "{} needs a spec: references have weights of their own"
        raise Misuse(spoken(text, Option("reference")), code="E0930")
    if has_data:
        text = "{} and {} exclude each other: references have inputs of their own"
        raise Misuse(spoken(text, Option("reference"), Option("data")), code="E0930")


def _draw(found: Verification, place: str | PathLike[str], sweep: SweepKind, notify: Notify) -> Path | None:
    """Draw a sweep into the run's folder or the current one; notify why not, and return None."""
    name = f"{sweep}.png"
    path = Path(place) / "pictures" / f"verify-{name}" if is_run(place) else Path(f"{found.network}-{name}")
    try:
        return draw_sweep(found.network, found.fidelity, sweep, path)
    except UserError as error:
        notify(f"no picture: {'; '.join(filter(None, (error.message, error.help)))}")
        return None
