"""``energyc train``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from energyc.code.targets import TARGETS
from energyc.extras import TENSORBOARD
from energyc.surfaces.cli import candidates
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import (
    SEED,
    DataCommand,
    data_options,
    is_run,
    is_spec,
    needs,
    output_options,
    spec_options,
)

if TYPE_CHECKING:
    from energyc.pipeline import Choices
    from energyc.running.loggers.protocol import Logger
    from energyc.running.ranks.group import Group
    from energyc.running.runs.data_flags import DataFlags
    from energyc.running.runs.prepare import Prepared
    from energyc.running.training.outcome import Outcome


@click.command("train", cls=DataCommand)
@needs(TENSORBOARD, lambda options: "tensorboard" in options["log"])
@click.argument(
    "spec",
    metavar="SPEC",
    type=click.Path(allow_dash=True),
    required=False,
    callback=is_spec,
    shell_complete=candidates.specs,
)
@click.option(
    "--resume", metavar="RUN", type=click.Path(), callback=is_run, help="Resume a run.", shell_complete=candidates.runs
)
@click.option("--rule", metavar="R", help="The learning rule.", shell_complete=candidates.rules)
@click.option("--allow-biased", is_flag=True, help="Allow a rule that is biased on this network.")
@data_options
@click.option(
    "--log",
    "log",
    metavar="L",
    multiple=True,
    help="A logger: tensorboard, or MODULE:FACTORY of your own.",
    shell_complete=candidates.loggers,
)
@click.option("--steps", metavar="N", type=click.IntRange(min=0), help="Updates; replaces the spec's steps or epochs.")
@click.option("--out", metavar="RUN", type=click.Path(), help="The run folder; runs/NAME-N by default.")
@click.option("--device", metavar="D", help="The device: cpu, cuda, cuda:1.", shell_complete=candidates.devices)
@click.option(
    "--target",
    type=click.Choice(["auto", *TARGETS]),
    help="What the phases run as: torch operations, kernels in C++ or Triton (CUDA), or C++ where it builds (auto).",
)
@click.option(
    "--time-limit",
    metavar="S",
    type=click.FloatRange(min=1),
    help="Under torchrun: seconds that a rank waits for another (300).",
)
@click.option("--seed", metavar="N", type=SEED, help="The seed of weights, order of data and noise.")
@click.option("--seeds", metavar="K", type=click.IntRange(min=1), help="Train K seeds; report mean and deviation.")
@spec_options
@output_options
def command(spec: str | None, resume: str | None, choices: Choices, console: Console, **flags: Any) -> None:
    """Train the network of SPEC into a run folder, or resume a run (--resume RUN)."""
    if (spec is None) == (resume is None):
        raise click.UsageError("give a SPEC to train, or --resume RUN")
    from energyc.running.ranks.launch import joined, own_device

    seeds, limit = flags.pop("seeds"), flags.pop("time_limit")
    device = flags["device"] = flags["device"] and own_device(flags["device"])
    with joined(device or "cpu", limit, console.user_error) as group:
        if not group.is_first:
            console = replace(console, form="text", quiet=True)
        if resume is not None:
            _refuse_changes(choices, seeds, **flags)
            _resume(Path(resume), console, group, **flags)
        else:
            _begin(str(spec), seeds, choices, console, group, **flags)


def _refuse_changes(choices: Choices, seeds: int | None, **flags: Any) -> None:
    """Raise UsageError for options that a resumed run cannot change."""
    refused = [f"--{name.replace('_', '-')}" for name in ("rule", "out", "allow_biased", "target") if flags[name]]
    refused += ["--seed"] if flags["seed"] is not None else []
    refused += ["--seeds"] if seeds is not None else []
    refused += ["--preset"] if choices.preset else []
    refused += ["--set"] if choices.overrides else []
    if refused:
        raise click.UsageError(f"--resume cannot change {', '.join(refused)}: a run resumes as it was started")


def _begin(
    spec: str,
    seeds: int | None,
    choices: Choices,
    console: Console,
    group: Group,
    *,
    out: str | None,
    log: tuple[str, ...],
    **flags: Any,
) -> None:
    from energyc.pipeline import read
    from energyc.running.runs.prepare import Request, prepare
    from energyc.running.runs.target import usual_target

    request = Request(**{**flags, "device": flags["device"] or "cpu", "target": flags["target"] or usual_target()})
    loggers = _chosen(log) if group.is_first else ()  # before anything is compiled
    prepared = replace(prepare(read(Path(spec)), choices, request), loggers=loggers)
    folds = prepared.options.folds
    if folds is not None and seeds is not None:
        raise click.UsageError(f"--seeds and train.folds = {folds} exclude each other: give --set train.folds=none")
    if not group.is_first and (folds is not None or seeds is not None):
        prepared = replace(prepared, loggers=_chosen(log))
    _note_run(prepared, console)
    with _folder(out, prepared.network.name, group) as folder:
        if folds is not None:
            _train_several(prepared, group, None, folder, console, resume=False)
        elif seeds is None:
            _train_one_seed(prepared.shared_by(group), folder, console, resume=False)
        else:
            first = prepared.options.seed
            _train_several(prepared, group, range(first, first + seeds), folder, console, resume=False)


@contextmanager
def _folder(out: str | None, name: str, group: Group) -> Iterator[Path]:
    """The folder of a new run, which the first rank makes if it is not given."""
    from energyc.running.training.folder import new_run

    if out is not None:
        yield Path(out)
    elif group.is_first:
        with new_run(name) as folder:
            yield group.announced(folder)
    else:
        yield group.announced(Path())


def _chosen(names: tuple[str, ...]) -> tuple[Logger, ...]:
    from energyc.running.loggers.chosen import chosen

    return chosen(names)


def _logged_as_before(prepared: Prepared, run: Path, names: tuple[str, ...], console: Console) -> Prepared:
    """With the loggers of ``--log``, or else with those that the run was started with."""
    from energyc.running.loggers.chosen import continued
    from energyc.running.runs.saved import load_run

    if names:
        return replace(prepared, loggers=_chosen(names))
    return replace(prepared, loggers=continued(load_run(run).info.get("loggers", []), console.note))


def _resume(
    run: Path,
    console: Console,
    group: Group,
    *,
    log: tuple[str, ...],
    steps: int | None,
    data: DataFlags,
    device: str | None,
    **_: Any,
) -> None:
    from energyc.running.runs.prepare import reopen
    from energyc.running.training.folder import RunFolder
    from energyc.running.training.seeds import read_summary

    folder = RunFolder(run)
    if folder.of_several:
        summary = read_summary(run)
        kind = "fold" if "folds" in summary else "seed"
        paths = [folder.run(number, kind) for number in summary[f"{kind}s"]]
        first = next((path for path in paths if path.exists()), paths[0])
        prepared = _logged_as_before(reopen(first, steps=steps, data=data, device=device), first, log, console)
        _note_rule(prepared, console)
        _suit_threads(prepared, console)
        _note_warnings(prepared, console)
        if kind == "fold":
            _train_several(prepared, group, None, run, console, resume=True)
        else:
            _train_several(prepared, group, summary["seeds"], run, console, resume=True)
    else:
        prepared = reopen(run, steps=steps, data=data, device=device)
        if group.is_first:
            prepared = _logged_as_before(prepared, run, log, console)
        _note_rule(prepared, console)
        _suit_threads(prepared, console)
        _note_warnings(prepared, console)
        _train_one_seed(prepared.shared_by(group), run, console, resume=True)


def _warnings_before(prepared: Prepared) -> list[str]:
    from energyc.surfaces.report.notes import rule_warnings, spec_warnings, stiffness_notes

    network, trained_by = prepared.network, prepared.options.trained_by
    relaxing = [layer.network for layer in network.layers.values()] or [network]
    steps = (note for each in relaxing for note in stiffness_notes(each))
    rules = rule_warnings(network, prepared.compiled.classes, trained_by)
    return [*spec_warnings(network, trained_by), *rules, *steps]


def _note_rule(prepared: Prepared, console: Console) -> None:
    """The rule that trains a run, and the target that computes its phases."""
    console.note(f"trained by {prepared.options.trained_by} ({prepared.options.why_trained_by})")
    if prepared.target_note is not None:
        console.note(prepared.target_note)


def _suit_threads(prepared: Prepared, console: Console) -> None:
    from energyc.running.runs.threads import suit_threads

    if (note := suit_threads(prepared.network, prepared.options.batch)) is not None:
        console.note(note)


def _rule(prepared: Prepared) -> dict[str, str]:
    return {"rule": prepared.options.trained_by, "why_this_rule": prepared.options.why_trained_by}


def _note_warnings(prepared: Prepared, console: Console) -> None:
    for warning in _warnings_before(prepared):
        console.note(f"warning: {warning}")


def _note_run(prepared: Prepared, console: Console) -> None:
    from energyc.running.data import describe
    from energyc.surfaces.report.notes import floor_notes, idle_settings

    _note_rule(prepared, console)
    _suit_threads(prepared, console)
    _note_warnings(prepared, console)
    classes = prepared.compiled.classes
    for note in (*idle_settings(prepared.network, classes), *floor_notes(classes)):
        console.note(f"note: {note}")
    for name, dataset in prepared.datasets.items():
        console.note(f"{name}: {describe(dataset)}")
        for note in dataset.notes:
            console.note(f"  {note}")
    for note in prepared.feeds(None if prepared.options.folds is None else 0).notes():
        console.note(note)


def _train_one_seed(prepared: Prepared, folder: Path, console: Console, *, resume: bool) -> None:
    from energyc.running.training.loop import train
    from energyc.running.training.numbers import format_numbers, shown
    from energyc.running.training.outcome import CHOSEN_BY
    from energyc.running.training.progress import make_reporter

    outcome = train(
        prepared.session(folder),
        resume=resume,
        reporter=make_reporter(quiet=console.quiet or console.is_json),
        pictures=lambda: _draw_pictures(prepared, folder, console),
    )
    if not prepared.group.is_first:
        return
    if console.is_json:
        keys = ("steps", "final", "best", "best_step", "best_by", "seconds")
        numbers = {key: getattr(outcome, key) for key in keys} | {"seconds_since_step": outcome.first}
        numbers |= {"validation": outcome.validation} if outcome.validation else {}
        numbers["health"] = outcome.health.to_json() if outcome.health else None
        warnings = [*_warnings_before(prepared), *outcome.warnings]
        console.write_json({"run": str(outcome.out), **_rule(prepared), **numbers, "warnings": warnings})
        return
    rests = outcome.health is None or outcome.health.rests
    console.write(f"{outcome.out}: {_duration(outcome)}")
    for said, split, measured in (
        ("at the end", "test", outcome.final),
        (f"best {CHOSEN_BY[outcome.best_by]}, step {outcome.best_step}", "test", outcome.best),
        ("its validation part", "validation", outcome.validation),
    ):
        if measured:
            console.write(f"  {said}: {format_numbers(shown(measured, rests), split, outcome.sizes.get(split))}")
    if outcome.health:
        console.write(f"  health: {outcome.health}")
    _write_warnings(outcome.warnings, console)
    reads_text = any(binding.adapter == "characters" for binding in prepared.network.bindings.values())
    console.next(("energyc", "view", outcome.out), ("energyc", "sample" if reads_text else "verify", outcome.out))


def _duration(outcome: Outcome) -> str:
    """Describe the steps, and the time of those since the run began or was resumed."""
    if outcome.first == 0:
        return f"{outcome.steps} steps in {outcome.seconds:.0f} s"
    since = outcome.steps - outcome.first
    return f"{outcome.steps} steps, the {since} since resuming at step {outcome.first} in {outcome.seconds:.0f} s"


def _train_several(
    prepared: Prepared, group: Group, seeds: Sequence[int] | None, folder: Path, console: Console, *, resume: bool
) -> None:
    """Train a run for each seed, or for each fold if there are no seeds, and write their summary."""
    from energyc.running.training.progress import make_reporter
    from energyc.running.training.seeds import train_folds, train_seeds

    options: dict[str, Any] = {"reporter": make_reporter(quiet=console.quiet or console.is_json), "resume": resume}
    if seeds is not None:
        summary = train_seeds(
            lambda seed, out: prepared.session(out, seed), list(seeds), folder, group=group, **options
        )
    else:
        assert prepared.options.folds is not None
        summary = train_folds(
            lambda fold, out: prepared.session(out, fold=fold), prepared.options.folds, folder, group=group, **options
        )
    if group.is_first:
        _write_summary(prepared, summary, folder, console)


def _write_summary(prepared: Prepared, summary: dict[str, Any], folder: Path, console: Console) -> None:
    from energyc.surfaces.report.seeds_text import print_summary

    if console.is_json:
        warnings = [*_warnings_before(prepared), *summary["warnings"]]
        console.write_json({"run": str(folder), **_rule(prepared), **summary, "warnings": warnings})
        return
    print_summary(summary, color=console.colors(sys.stdout))
    _write_warnings(summary["warnings"], console)
    console.next(("energyc", "plot", folder, "--kind", "curves"), ("energyc", "eval", folder))


def _write_warnings(warnings: Sequence[str], console: Console) -> None:
    for warning in warnings:
        console.write(f"  warning: {warning}")


def _draw_pictures(prepared: Prepared, folder: Path, console: Console) -> list[Path]:
    """Draw the pictures of a finished run and return their paths, or write a note without matplotlib."""
    from energyc.language.diagnostics import UserError
    from energyc.surfaces.report.plots import plot_run

    try:
        return plot_run(folder, prepared.session(folder), prepared.network).paths
    except UserError as error:
        console.without("no pictures", error)
        return []
