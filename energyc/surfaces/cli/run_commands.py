"""The commands that make or read runs: ``train``, ``eval``, ``compare``, ``view``, ``plot``, ``sample``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from energyc.code.targets import TARGETS
from energyc.extras import MATPLOTLIB, TENSORBOARD
from energyc.surfaces.cli import candidates
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import (
    SEED,
    DataCommand,
    Finite,
    data_options,
    device_option,
    is_run,
    needs,
    output_options,
    run_argument,
    spec_argument,
    spec_options,
    split_option,
    written_option,
)
from energyc.surfaces.report import KINDS

if TYPE_CHECKING:
    from energyc.surfaces.api.run import Run, Runs
    from energyc.surfaces.api.sweep import Sweep


@click.command("train", cls=DataCommand)
@needs(TENSORBOARD, lambda options: "tensorboard" in options["log"])
@spec_argument(required=False)
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
@device_option(help="The device: cpu, cuda, cuda:1.")
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
def train_command(
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


def _next(run: Run | Runs | Sweep) -> Iterator[Sequence[object]]:
    """Yield the commands that one may want next, each by its words."""
    from energyc.surfaces.api.run import Runs
    from energyc.surfaces.api.sweep import Sweep

    if isinstance(run, Sweep):
        yield "energyc", "compare", *(each.folder for each in run.runs)
    elif isinstance(run, Runs):
        yield "energyc", "plot", run.folder, "--kind", "curves"
        yield "energyc", "eval", run.folder
    else:
        yield "energyc", "view", run.folder
        yield "energyc", "sample" if run.reads_text else "verify", run.folder


#: The options that a resumed run cannot change, by the names of their values.
_FIXED = {
    "rule": "--rule",
    "out": "--out",
    "allow_biased": "--allow-biased",
    "target": "--target",
    "seed": "--seed",
    "seeds": "--seeds",
    "preset": "--preset",
    "settings": "--set",
    "over": "--sweep",
}


def _unchanged(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of ``resume``. Raises UsageError for those that a resumed run cannot change."""
    given = {name for name, value in options.items() if value is not False and value not in (None, "", (), {})}
    refused = [flag for name, flag in _FIXED.items() if name in given]
    if refused:
        raise click.UsageError(f"--resume cannot change {', '.join(refused)}: a run resumes as it was started")
    return {name: options[name] for name in ("data", "steps", "device")}


def _whole_numbers(ctx: click.Context, param: click.Parameter, text: str | None) -> tuple[int, ...]:
    """Read ``4,6,8``. Raises click.BadParameter."""
    parts = text.split(",") if text is not None else []
    if not all(part.strip().isascii() and part.strip().isdecimal() for part in parts):
        raise click.BadParameter(f"{text!r} is not a list of whole numbers: write 6 or 4,6,8.", ctx, param)
    return tuple(map(int, parts))


def _shares(ctx: click.Context, param: click.Parameter, text: str | None) -> tuple[float, ...]:
    """Read ``1%,5%`` or ``0.01,0.05``. Raises click.BadParameter."""
    try:
        parts = [part.strip() for part in text.split(",")] if text is not None else []
        return tuple(float(part.removesuffix("%")) / (100 if part.endswith("%") else 1) for part in parts)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of shares: write 1%, 0.01 or 1%,5%.", ctx, param) from None


@click.command("eval", cls=DataCommand)
@needs(MATPLOTLIB, lambda options: options["picture"] is not None)
@run_argument()
@data_options
@device_option(help="The device; that of the training run by default.")
@split_option(help="The split to evaluate.")
@click.option("--samples", metavar="N", type=click.IntRange(min=1), help="Number of samples; all by default.")
@click.option("--bits", metavar="B,..", callback=_whole_numbers, help="Round params to B bits: 6 or 4,6,8.")
@click.option(
    "--mismatch", metavar="S,..", callback=_shares, help="Multiply each param by 1 + S * normal: 1% or 1%,5%."
)
@click.option("--draws", metavar="N", type=click.IntRange(min=1), help="Devices drawn for mismatch; 10 by default.")
@click.option("--seed", metavar="N", type=SEED, help="The seed of the first device; 0 by default.")
@click.option(
    "--levels",
    type=click.Choice(["tensor", "box"]),
    help="What the levels of --bits span: the entries of each tensor (the default), or a param's bounds.",
)
@written_option("--picture", help="Draw --bits or --mismatch into FILE.")
@output_options
def eval_command(run: str, console: Console, **options: Any) -> None:
    """Metrics of the best checkpoint of RUN, or of each run of a folder of seeds or folds.

    With --bits or --mismatch also with params as a device would hold them.
    """
    from energyc.surfaces.api.evaluate import evaluate

    console.show(evaluate(run, notify=console.note, **options))


@click.command("compare")
@run_argument("runs", "RUN...", count=-1)
@written_option("-o", "out", help="Write the rows as CSV.")
@output_options
def compare_command(runs: tuple[str, ...], out: str | None, console: Console) -> None:
    """Compare runs: the settings in which they differ, and the held-out numbers of their best checkpoints."""
    from energyc.surfaces.api.compare import compare

    console.show(compare(*runs, out=out))


@click.command("view")
@run_argument("runs", "RUN [RUN2]", count=-1)
@written_option("-o", "out", help="A .html file; by default RUN/view.html.")
@output_options
def view_command(runs: tuple[str, ...], out: str | None, console: Console) -> None:
    """Write a page of RUN, or of two runs side by side: curves, health, relaxations, settings, pictures.

    The page is one file, which needs no network. A run may be in progress.
    """
    from energyc.surfaces.api.pages import view

    if len(runs) > 2:
        raise click.UsageError("give one run, or two to see them side by side")
    console.show(view(*runs, out=out, notify=console.note))


def _places(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Read places of tokens, ``5`` or ``2,3`` on a grid. Raises click.BadParameter."""
    for value in values:
        if not all(part.isascii() and part.isdecimal() for part in value.split(",")):
            raise click.BadParameter(f"{value!r} is not a place of a token: give numbers from 0, as 2,3.", ctx, param)
    return tuple(tuple(int(part) for part in value.split(",")) for value in values)


@click.command("plot", cls=DataCommand)
@needs(MATPLOTLIB)
@run_argument()
@data_options
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="What to draw; may be repeated.")
@click.option("--samples", metavar="N", type=click.IntRange(min=1), default=16, help="Number of test samples to draw.")
@click.option("--sample", metavar="N", type=click.IntRange(min=0), default=0, help="The test sample of attention.")
@click.option("--head", "heads", metavar="H", type=click.IntRange(min=0), multiple=True, help="A head of attention.")
@click.option(
    "--token", "tokens", metavar="I,J", callback=_places, multiple=True, help="A token whose attention is drawn."
)
@output_options
def plot_command(run: str, console: Console, **options: Any) -> None:
    """Draw the pictures of RUN into its folder, and print their paths."""
    from energyc.surfaces.api.pages import plot

    drawn = plot(run, notify=console.note, **options)
    console.show(drawn)
    if not console.is_json:
        for kind, reason in drawn.without.items():
            console.note(f"no {kind}: {reason}")
        console.next(("energyc", "view", run))


@click.command("sample")
@run_argument()
@click.option("--prompt", metavar="TEXT", default="", help="The beginning of the text.")
@click.option("--length", metavar="N", type=click.IntRange(min=1), default=400, help="Number of characters to draw.")
@click.option("--temperature", metavar="X", type=Finite(min=0), default=1.0, help="0 takes the most likely.")
@click.option("--seed", metavar="N", type=SEED, default=0, help="The random seed.")
@device_option(default="cpu", help="The device: cpu, cuda, cuda:1.")
@output_options
def sample_command(run: str, prompt: str, console: Console, **options: Any) -> None:
    """Draw text from the language model of RUN, at its best checkpoint."""
    from energyc.running.runs.sample import sample

    drawn = sample(Path(run), prompt, notify=console.note, **options)
    if console.is_json:
        console.write_json({"run": run, "step": drawn.step, "prompt": prompt, "text": "".join(drawn.characters)})
        return
    console.note(f"the best checkpoint, of step {drawn.step}")
    click.echo(prompt, nl=False)
    for character in drawn.characters:
        click.echo(character, nl=False)
    click.echo()
