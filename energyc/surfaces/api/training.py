"""``energyc.train`` and ``energyc.resume``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from energyc.language.diagnostics import Misuse, Option, UserError, in_python, spoken
from energyc.language.diagnostics.near import listed
from energyc.pipeline import Choices, wrong_argument
from energyc.running.data import describe
from energyc.running.folder.layout import RunFolder, new_run
from energyc.running.loggers.chosen import continued
from energyc.running.loggers.chosen import given as given_loggers
from energyc.running.loggers.protocol import Logger
from energyc.running.ranks.group import ALONE, Group
from energyc.running.runs.locate import is_run, read_spec
from energyc.running.runs.prepare import Prepared, Request, prepare, reopen
from energyc.running.runs.saved import load_run
from energyc.running.runs.target import TARGETS, suited_threads, usual_target
from energyc.running.training.loop import Watch
from energyc.running.training.loop import train as train_session
from energyc.running.training.outcome import Diverged, Interrupted
from energyc.running.training.progress import Reporter
from energyc.running.training.seeds import read_summary, run_folders, train_each
from energyc.surfaces.api.common import Notify, given, reporter
from energyc.surfaces.api.run import Run, Runs
from energyc.surfaces.report.notes import floor_notes, idle_settings, rule_warnings, spec_warnings, stiffness_notes


@dataclass(frozen=True)
class Begun:
    """A run that is about to train: by which ranks, where its notes and progress go, and what was said of it before.

    ``pictures`` are drawn at the end.
    """

    prepared: Prepared
    group: Group
    notify: Notify
    reporter: Reporter
    pictures: bool
    watch: Watch | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def train(
    spec: str | PathLike[str],
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
    seeds: int | None = None,
    device: Any = "cpu",
    target: str | None = None,
    loggers: Logger | str | Iterable[Logger | str] = (),
    pictures: bool = True,
    quiet: bool = False,
    notify: Notify | None = None,
    progress: Reporter | None = None,
    group: Group = ALONE,
) -> Any:
    """Train the network of a spec (a path or text) into a run folder, and return the ``Run``.

    ``data`` take the place of what the spec binds: a dict of arrays or tensors ``[samples, ...]`` by the names of
    clamps and targets, or of the fields of the only binding; a torch ``Dataset`` whose samples are tuples in the order
    of clamps and targets, or dicts by their names; an adapter, a dataset of ``energyc.data``, a path, a function that
    returns one of these; or a dict of any of them by binding. ``test`` and ``validation`` are held-out samples, given
    alike; without ``test`` a fixed fifth is held out. ``map`` says what inputs are called among the data,
    ``{"x": "images"}``. ``out`` is the folder, ``runs/NAME-N`` by default. With ``seeds``, or with ``train.folds`` set,
    there is a run for each, and ``Runs`` are returned.

    ``callback`` is given the row of each update, a dict with ``step``, ``cost``, ``residual`` and more; where it
    returns False, the run ends there. What it raises is raised, after the run was saved. ``dims``, ``consts``,
    ``settings`` and ``preset`` are those of ``energyc.load``; ``target`` is ``auto`` or a target by name.
    ``loggers`` are told how the run goes (``energyc.loggers.Logger``), or ``"tensorboard"`` by name. ``pictures`` are
    drawn where matplotlib is installed. Notes and progress are shown on a terminal unless ``quiet``; ``notify`` and
    ``progress`` take them instead. ``group`` are the ranks that train a run together.

    Raises SpecError, UserError (data, options, the folder); Diverged, with the last good checkpoint kept;
    KeyboardInterrupt after Ctrl-C, when the run was saved.
    """
    if is_run(spec):
        raise UserError(f"{spec} is a run, or a folder", code="E0930", help="energyc.resume continues a run")
    _check(rule=rule, steps=steps, seed=seed, seeds=seeds, callback=callback, target=target, out=out, map=map)
    choices, feeding = Choices.of(preset, dims, consts, settings), given(data, test, validation, map)
    request = Request(rule, feeding, _whole(steps), str(device), _whole(seed), allow_biased, target or usual_target())
    made = given_loggers(loggers)  # before anything is compiled
    prepared = prepare(read_spec(spec if isinstance(spec, str) else Path(spec)), choices, request)
    folds = prepared.options.folds
    if folds is not None and seeds is not None:
        text = f"{{}} and train.folds = {folds} exclude each other"
        help_text = spoken("give {}", Option("settings", "train.folds=none"))
        raise Misuse(spoken(text, Option("seeds")), code="E0930", help=help_text)
    prepared = replace(prepared, loggers=made if group.is_first or folds is not None or seeds is not None else ())
    telling = (reporter(quiet), notify, progress, pictures, callback)
    with (
        _begun(prepared, group, *telling, _read(prepared)) as begun,
        run_folder(out, prepared.network.name, group) as folder,
    ):
        if folds is None and seeds is None:
            return _trained(begun, folder, resume=False)
        first = prepared.options.seed
        return _several(begun, None if seeds is None else range(first, first + int(seeds)), folder, resume=False)


def resume(
    run: str | PathLike[str] | Run,
    data: Any = None,
    *,
    test: Any = None,
    validation: Any = None,
    map: Mapping[str, str] | None = None,
    steps: int | None = None,
    callback: Callable[[dict[str, Any]], object] | None = None,
    device: Any = None,
    loggers: Logger | str | Iterable[Logger | str] = (),
    pictures: bool = True,
    quiet: bool = False,
    notify: Notify | None = None,
    progress: Reporter | None = None,
    group: Group = ALONE,
) -> Any:
    """Continue a run, or each of several seeds or folds, bit for bit, and return it as ``train`` does.

    Data that a program gave are given again, and are checked to be the same. ``steps`` is the new number of updates of
    the whole run, not below what is done. ``loggers`` are those of ``train``; without them the run logs to TensorBoard
    if it was started so. Raises as ``train``.
    """
    if not is_run(run):
        raise UserError(f"there is no folder {run}", code="E0511", help="give the folder of a run")
    _check(steps=steps, callback=callback, map=map)
    folder, feeding = Path(fspath(run)), given(data, test, validation, map)
    shown = reporter(quiet)
    summary = read_summary(folder) if RunFolder(folder).of_several else None
    first = folder if summary is None else _first_run(folder, summary)
    prepared = reopen(first, data=feeding, steps=_whole(steps), device=None if device is None else str(device))
    if group.is_first or summary is not None:
        recorded = load_run(first).info.get("loggers", [])
        prepared = replace(prepared, loggers=given_loggers(loggers) or continued(recorded, notify or shown.message))
    with _begun(prepared, group, shown, notify, progress, pictures, callback) as begun:
        if summary is None:
            return _trained(begun, folder, resume=True)
        return _several(begun, summary.get("seeds"), folder, resume=True)


def _first_run(folder: Path, summary: dict[str, Any]) -> Path:
    """Return the folder of the first seed or fold that has one."""
    paths = [*run_folders(folder, summary).values()]
    return next((path for path in paths if path.exists()), paths[0])


# ------------------------------------------------------------------ arguments


def _check(**arguments: Any) -> None:
    """Raise UserError for arguments of another kind than they are to be."""
    kinds: Mapping[str, tuple[Any, str]] = {
        "rule": (str, 'the name of a rule, as rule="centered-ep"'),
        "steps": (Integral, "a number of updates, as steps=1000"),
        "seed": (Integral, "a whole number, as seed=0"),
        "seeds": (Integral, "a number of seeds, as seeds=3"),
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
    for name, least in (("steps", 0), ("seeds", 1)):
        if arguments.get(name) is not None and arguments[name] < least:
            raise wrong_argument(name, arguments[name], f"{least} or more")
    if arguments.get("target") not in (None, *TARGETS):
        raise wrong_argument("target", arguments["target"], kinds["target"][1])


def _whole(number: int | None) -> int | None:
    """Return a whole number of NumPy's as one of Python's."""
    return None if number is None else int(number)


@contextmanager
def run_folder(out: str | Path | None, name: str, group: Group) -> Iterator[Path]:
    """Yield the folder of a new run, which the first rank makes if it is not given."""
    if out is not None:
        yield Path(out)
    elif group.is_first:
        with new_run(name) as folder:
            yield group.announced(folder)
    else:
        yield group.announced(Path())


# ------------------------------------------------------------------ what is told


@contextmanager
def _begun(
    prepared: Prepared,
    group: Group,
    shown: Reporter,
    notify: Notify | None,
    progress: Reporter | None,
    pictures: bool,
    watch: Watch | None,
    more: Iterable[str] = (),
) -> Iterator[Begun]:
    """Choose threads, tell the notes, ``more`` of them and the warnings, and yield the run that is about to train."""
    with suited_threads(prepared.network, prepared.options.batch) as threads:
        notes, warnings = (*_set_up(prepared, threads), *more), _warnings(prepared)
        begun = Begun(prepared, group, notify or shown.message, progress or shown, pictures, watch, notes, warnings)
        for text in (*notes, *(f"warning: {warning}" for warning in warnings)):
            begun.notify(text)
        yield begun


def _warnings(prepared: Prepared) -> tuple[str, ...]:
    """Return the warnings on the spec, on the rule that trains it, and on its steps."""
    network, trained_by = prepared.network, prepared.options.trained_by
    relaxing = [layer.network for layer in network.layers.values()] or [network]
    steps = (note for each in relaxing for note in stiffness_notes(each))
    rules = rule_warnings(network, prepared.compiled.classes, trained_by)
    return (*spec_warnings(network, trained_by), *rules, *steps)


def _set_up(prepared: Prepared, threads: str | None) -> Iterator[str]:
    """Yield the rule that trains a run, the target that computes its phases, and a choice of threads."""
    yield f"trained by {prepared.options.trained_by} ({prepared.options.why_trained_by})"
    yield from (note for note in (prepared.target_note, threads) if note is not None)


def _read(prepared: Prepared) -> Iterator[str]:
    """Yield settings that change nothing, floors of the energy, and how the data were read and divided."""
    classes = prepared.compiled.classes
    for note in (*idle_settings(prepared.network, classes), *floor_notes(classes)):
        yield f"note: {note}"
    for name, dataset in prepared.datasets.items():
        yield f"{name}: {describe(dataset)}"
        yield from (f"  {note}" for note in dataset.notes)
    yield from prepared.feeds(None if prepared.options.folds is None else 0).notes()


# ------------------------------------------------------------------ training


@contextmanager
def _ending(group: Group) -> Iterator[None]:
    """Raise what ends a run early in the words of a program; other ranks are told of it as it is."""
    try:
        yield
    except Interrupted as stop:
        if group is not ALONE:
            raise
        raise KeyboardInterrupt(f"{stop}; {in_python(stop.help)}") from stop
    except Diverged as stop:
        stop.add_note(f"  = help: {in_python(stop.help)}")
        raise


def _trained(begun: Begun, folder: Path, *, resume: bool) -> Run:
    prepared = begun.prepared.shared_by(begun.group)
    with _ending(prepared.group):
        outcome = train_session(
            prepared.session(folder),
            resume=resume,
            reporter=begun.reporter,
            watch=begun.watch,
            pictures=(lambda: draw_pictures(prepared, folder, begun.notify)) if begun.pictures else None,
        )
    reads_text = any(binding.adapter == "characters" for binding in prepared.network.bindings.values())
    options = prepared.options
    return Run(outcome, options.trained_by, options.why_trained_by, begun.notes, begun.warnings, reads_text)


def _several(begun: Begun, seeds: Sequence[int] | None, folder: Path, *, resume: bool) -> Runs:
    """Train a run for each seed, or for each fold if there are no seeds."""
    prepared, run_options = begun.prepared, begun.prepared.options
    options: dict[str, Any] = {"reporter": begun.reporter, "resume": resume, "group": begun.group}
    with _ending(begun.group):
        if seeds is not None:
            summary = train_each(lambda seed, out: prepared.session(out, seed), list(seeds), folder, **options)
        else:
            folds = range(run_options.folds or 0)
            options["kind"] = "fold"
            summary = train_each(lambda fold, out: prepared.session(out, fold=fold), folds, folder, **options)
    return Runs(folder, summary, run_options.trained_by, run_options.why_trained_by, begun.notes, begun.warnings)


def draw_pictures(prepared: Prepared, folder: Path, notify: Notify) -> list[Path]:
    """Draw the pictures of a finished run and return their paths; notify and return none without matplotlib."""
    from energyc.surfaces.report.plots import plot_run

    try:
        return plot_run(folder, prepared.session(folder), prepared.network).paths
    except UserError as error:
        notify(f"no pictures: {'; '.join(filter(None, (error.message, error.help)))}")
        return []
