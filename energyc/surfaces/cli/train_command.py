"""``energyc train``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
    from energyc.surfaces.api.run import Run, Runs
    from energyc.surfaces.api.sweep import Sweep


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
@click.option(
    "--sweep",
    "over",
    metavar="K=V,V..",
    multiple=True,
    help="Train for each of these values; several are combined. Runs that are there are continued.",
    shell_complete=candidates.settings,
)
@spec_options
@output_options
def command(
    spec: str | None,
    resume: str | None,
    log: tuple[str, ...],
    time_limit: float | None,
    over: tuple[str, ...],
    console: Console,
    **options: Any,
) -> None:
    """Train the network of SPEC into a run folder, or resume a run (--resume RUN)."""
    if (spec is None) == (resume is None):
        raise click.UsageError("give a SPEC to train, or --resume RUN")
    from energyc.running.loggers.chosen import chosen
    from energyc.running.ranks.launch import joined, own_device
    from energyc.running.training.progress import make_reporter
    from energyc.surfaces.api import training
    from energyc.surfaces.api.sweep import sweep
    from energyc.surfaces.cli.values import read_values

    options["device"] = options["device"] and own_device(options["device"])
    with joined(options["device"] or "cpu", time_limit) as group:
        if not group.is_first:
            console = replace(console, form="text", quiet=True)
        telling: dict[str, Any] = {
            "notify": console.note,
            "progress": make_reporter(quiet=console.quiet or console.is_json),
        }
        if resume is not None:
            kept = _unchanged({**options, "over": over})
            run = training.resume(resume, loggers=chosen(log), group=group, **telling, **kept)
        else:
            options["device"] = options["device"] or "cpu"
            given = {"loggers": chosen(log), "group": group, **telling, **options}
            run = sweep(str(spec), read_values(over), **given) if over else training.train(str(spec), **given)
        if group.is_first:
            console.show(run)
            console.next(*_next(run))


def _unchanged(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of ``resume``. Raises UsageError for those that a resumed run cannot change."""
    flags = {"rule": "--rule", "out": "--out", "allow_biased": "--allow-biased", "target": "--target"}
    refused = [flag for name, flag in flags.items() if options[name]]
    refused += [f"--{name}" for name in ("seed", "seeds") if options[name] is not None]
    refused += [
        flag for name, flag in (("preset", "--preset"), ("settings", "--set"), ("over", "--sweep")) if options[name]
    ]
    if refused:
        raise click.UsageError(f"--resume cannot change {', '.join(refused)}: a run resumes as it was started")
    return {name: options[name] for name in ("data", "steps", "device")}


def _next(run: Run | Runs | Sweep) -> Iterator[Sequence[object]]:
    """Yield what one may want to do next."""
    from energyc.surfaces.api.run import Runs
    from energyc.surfaces.api.sweep import Sweep

    if isinstance(run, Sweep):
        yield "energyc", "compare", *(each.folder for each in run.runs)
        return
    if isinstance(run, Runs):
        yield "energyc", "plot", run.folder, "--kind", "curves"
        yield "energyc", "eval", run.folder
        return
    yield "energyc", "view", run.folder
    yield "energyc", "sample" if run.reads_text else "verify", run.folder
