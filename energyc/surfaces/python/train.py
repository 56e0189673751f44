"""``energyc.train`` and ``energyc.resume``: training from Python, on data that a program has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from energyc.language.diagnostics import UserError, in_python
from energyc.language.diagnostics.near import listed
from energyc.pipeline import Choices, wrong_argument
from energyc.running.data import describe
from energyc.running.loggers.chosen import continued, given
from energyc.running.loggers.protocol import Logger
from energyc.running.ranks.group import ALONE
from energyc.running.runs.data_arguments import of_program
from energyc.running.runs.data_flags import NO_DATA
from energyc.running.runs.locate import is_run, read_spec
from energyc.running.runs.prepare import Prepared, Request, prepare, reopen
from energyc.running.runs.saved import load_run
from energyc.running.runs.target import TARGETS, usual_target
from energyc.running.training.folder import RunFolder, new_run
from energyc.running.training.loop import Watch
from energyc.running.training.loop import train as train_session
from energyc.running.training.metrics_log import Row, read_rows
from energyc.running.training.numbers import format_numbers, shown
from energyc.running.training.outcome import CHOSEN_BY, Diverged, Interrupted, Numbers, Outcome
from energyc.running.training.run_health import RunHealth
from energyc.surfaces.html.run_card import run_html, run_latex
from energyc.surfaces.python.load import load, reporter


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, the updates done, held-out numbers at the end and at the best checkpoint.

    It is a path: ``energyc.load(run)``, ``open(run / "run.json")``. ``notes`` say how the data were read, ``warnings``
    what did not stop the run, ``health`` how it settled and learned, ``sizes`` the numbers of samples of the splits.
    """

    folder: Path
    steps: int
    final: Numbers
    best: Numbers
    best_step: int | None
    validation: Numbers
    seconds: float
    warnings: tuple[str, ...]
    health: RunHealth | None = field(repr=False)
    notes: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def best_by(self) -> str:
        """Which samples chose the best checkpoint: ``validation`` or ``test``."""
        return "validation" if self.validation else "test"

    @cached_property
    def network(self) -> Any:
        """The network with the weights of the best checkpoint, a ``torch.nn.Module`` on the CPU."""
        return self.load()

    def load(self, **options: Any) -> Any:
        """The same on another device or in another dtype: the options of ``energyc.load``."""
        return load(self.folder, **options)

    def params(self, target: str = "torch") -> dict[str, Any]:
        """The weights of the best checkpoint by name: tensors, or the arrays of a target that does not learn."""
        return dict(self.load(target=target).params)

    @property
    def rows(self) -> list[Row]:
        """The rows of ``metrics.jsonl``: updates (``kind`` ``train``) and evaluations (``eval``, ``validation``)."""
        return read_rows(RunFolder(self.folder).metrics)

    def _repr_html_(self) -> str:
        """The learning curves and the last numbers, for a notebook."""
        info = RunFolder(self.folder).read_info()
        title = f"{info.get('network', '')}, {info.get('rule', '')}: {self.folder}"
        warnings = [f"warning: {warning}" for warning in self.warnings]
        notes = [*([str(self.health)] if self.health else []), *warnings]
        return run_html(title, self.rows, total=info.get("steps", self.steps), best=self.best_step, notes=notes)

    def _repr_latex_(self) -> str:
        """The numbers of the last evaluation, for a document."""
        return run_latex(self.rows)

    def __fspath__(self) -> str:
        return fspath(self.folder)

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def __repr__(self) -> str:
        rests = self.health is None or self.health.rests
        lines = [f"Run({self.folder}: {self.steps} steps in {self.seconds:.1f} s"]
        for said, split, numbers in (
            (f"best {CHOSEN_BY[self.best_by]}, step {self.best_step}", "test", self.best),
            ("its validation part", "validation", self.validation),
        ):
            shown_numbers = format_numbers(shown(numbers, rests), split, self.sizes.get(split))
            lines += [f"  {said}: {shown_numbers}"] if numbers else []
        lines += [f"  health: {self.health}"] if self.health else []
        lines += [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join(lines) + ")"


def train(
    spec: str | Path,
    data: Any = None,
    *,
    test: Any = None,
    validation: Any = None,
    map: Mapping[str, str] | None = None,
    rule: str | None = None,
    allow_biased: bool = False,
    steps: int | None = None,
    out: str | Path | None = None,
    callback: Callable[[dict[str, Any]], object] | None = None,
    preset: str | None = None,
    dims: Mapping[str, int] | None = None,
    consts: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
    device: Any = "cpu",
    target: str | None = None,
    loggers: Logger | str | Iterable[Logger | str] = (),
    quiet: bool = False,
) -> Run:
    """Train the network of a spec (a path or text) into a run folder, as ``energyc train`` does, and return the run.

    ``data`` take the place of what the spec binds: a dict of arrays or tensors ``[samples, ...]`` by the names of
    clamps and targets, or of the fields of the only binding; a torch ``Dataset`` whose samples are tuples in the order
    of clamps and targets, or dicts by their names; an adapter, a dataset of ``energyc.data``, a path, a function that
    returns one of these; or a dict of any of them by binding. ``test`` and ``validation`` are held-out samples, given
    alike; without ``test`` a fixed fifth is held out. ``map`` says what inputs are called among the data,
    ``{"x": "images"}``. ``out`` is the folder, ``runs/NAME-N`` by default.

    ``callback`` is given the row of each update, a dict with ``step``, ``cost``, ``residual`` and more; where it
    returns False, the run ends there. What it raises is raised, after the run was saved. ``dims``, ``consts``,
    ``settings`` and ``preset`` are those of ``energyc.load``; ``target`` is ``auto`` or a target by name.
    ``loggers`` are told how the run goes (``energyc.loggers.Logger``), or ``"tensorboard"`` by name. Progress is shown
    on a terminal unless ``quiet``.

    Raises SpecError, UserError (data, options, the folder); Diverged, with the last good checkpoint kept;
    KeyboardInterrupt after Ctrl-C, when the run was saved.
    """
    if is_run(spec):
        raise UserError(f"{spec} is a run, or a folder", code="E0930", help="energyc.resume continues a run")
    _check(rule=rule, steps=steps, seed=seed, callback=callback, target=target, out=out, map=map)
    choices = Choices.of(preset, dims, consts, settings)
    request = Request(rule, NO_DATA, _whole(steps), str(device), _whole(seed), allow_biased, target or usual_target())
    source = read_spec(spec)
    told = given(loggers)
    prepared = prepare(source, choices, request, of_program(source, data, test, validation, map or {}))
    prepared = replace(prepared, loggers=told)
    prepared.feeds()
    with _folder(out, prepared.network.name) as folder:
        return _trained(prepared, folder, callback, quiet, resume=False)


def resume(
    run: str | Path | Run,
    data: Any = None,
    *,
    test: Any = None,
    validation: Any = None,
    map: Mapping[str, str] | None = None,
    steps: int | None = None,
    callback: Callable[[dict[str, Any]], object] | None = None,
    device: Any = None,
    loggers: Logger | str | Iterable[Logger | str] = (),
    quiet: bool = False,
) -> Run:
    """Continue a run, bit for bit, as ``energyc train --resume`` does, and return it.

    Data that a program gave are given again, and are checked to be the same. ``steps`` is the new number of updates of
    the whole run, not below what is done. ``loggers`` are those of ``train``; without them the run logs to TensorBoard
    if it was started so. Raises as ``train``.
    """
    if not is_run(run):
        raise UserError(f"there is no folder {run}", code="E0511", help="give the folder of a run")
    _check(steps=steps, callback=callback, map=map)
    folder = Path(fspath(run))
    saved = load_run(folder)
    samples = of_program(saved.source, data, test, validation, map or {})
    prepared = reopen(folder, steps=_whole(steps), device=None if device is None else str(device), given=samples)
    told = given(loggers) or continued(saved.info.get("loggers", []), reporter(quiet).message)
    prepared = replace(prepared, loggers=told)
    return _trained(prepared, folder, callback, quiet, resume=True)


def _check(**arguments: Any) -> None:
    """Raise UserError for arguments of another kind than they are to be."""
    kinds: Mapping[str, tuple[Any, str]] = {
        "rule": (str, 'the name of a rule, as rule="centered-ep"'),
        "steps": (Integral, "a number of updates, as steps=1000"),
        "seed": (Integral, "a whole number, as seed=0"),
        "map": (Mapping, 'a dict of names, as map={"x": "images"}'),
        "target": (str, listed([f'"{name}"' for name in TARGETS], "or")),
        "out": ((str, PathLike), "the path of a folder that is not there yet"),
    }
    for name, value in arguments.items():
        if name == "callback":
            if value is not None and not callable(value):
                raise wrong_argument(name, value, "a function of one row, a dict")
        elif value is not None and (not isinstance(value, kinds[name][0]) or isinstance(value, bool)):
            raise wrong_argument(name, value, kinds[name][1])
    if arguments.get("steps") is not None and arguments["steps"] < 0:
        raise wrong_argument("steps", arguments["steps"], "0 or more")
    if arguments.get("target") not in (None, *TARGETS):
        raise wrong_argument("target", arguments["target"], kinds["target"][1])


def _whole(number: int | None) -> int | None:
    """A whole number of NumPy's as one of Python's."""
    return None if number is None else int(number)


@contextmanager
def _folder(out: str | Path | None, name: str) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
    else:
        with new_run(name) as folder:
            yield folder


def _trained(prepared: Prepared, folder: Path, callback: Watch | None, quiet: bool, *, resume: bool) -> Run:
    progress, notes = reporter(quiet), tuple(_notes(prepared))
    for note in notes:
        progress.message(note)
    session = prepared.shared_by(ALONE).session(folder)
    try:
        outcome = train_session(session, resume=resume, reporter=progress, watch=callback)
    except Interrupted as stop:
        raise KeyboardInterrupt(f"{stop}; {in_python(stop.help)}") from None
    except Diverged as stop:
        stop.add_note(f"  = help: {in_python(stop.help)}")
        raise
    return _run(outcome, notes)


def _run(outcome: Outcome, notes: tuple[str, ...]) -> Run:
    return Run(
        outcome.out,
        outcome.steps,
        outcome.final,
        outcome.best,
        outcome.best_step,
        outcome.validation,
        outcome.seconds,
        outcome.warnings,
        outcome.health,
        notes,
        outcome.sizes,
    )


def _notes(prepared: Prepared) -> Iterator[str]:
    """How phases are computed, and how data were read."""
    if prepared.target_note is not None:
        yield prepared.target_note
    for name, dataset in prepared.datasets.items():
        yield f"{name}: {describe(dataset)}"
        yield from (f"  {note}" for note in dataset.notes)
    yield from prepared.feeds().notes()
