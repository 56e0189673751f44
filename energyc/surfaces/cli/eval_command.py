"""``energyc eval``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from energyc.extras import MATPLOTLIB
from energyc.surfaces.cli import candidates
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import (
    SEED,
    DataCommand,
    data_options,
    is_writable,
    needs,
    output_options,
    run_argument,
)

if TYPE_CHECKING:
    from energyc.running.runs.data_flags import DataFlags
    from energyc.running.training.division import Part
    from energyc.running.training.evaluation import Evaluation
    from energyc.running.training.session import Session
    from energyc.studies.hardware.study import Devices, Row


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
@run_argument
@data_options
@click.option(
    "--device",
    metavar="D",
    help="The device; that of the training run by default.",
    shell_complete=candidates.devices,
)
@click.option(
    "--split", type=click.Choice(["test", "validation", "train"]), default="test", help="The split to evaluate."
)
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
@click.option(
    "--picture",
    metavar="FILE",
    callback=is_writable,
    type=click.Path(dir_okay=False),
    help="Draw --bits or --mismatch into FILE.",
)
@output_options
def command(
    run: str,
    data: DataFlags,
    device: str | None,
    split: Literal["train", "validation", "test"],
    samples: int | None,
    bits: tuple[int, ...],
    mismatch: tuple[float, ...],
    draws: int | None,
    seed: int | None,
    levels: Literal["tensor", "box"] | None,
    picture: str | None,
    console: Console,
) -> None:
    """Metrics of the best checkpoint of RUN, or of each run of a folder of seeds or folds.

    With --bits or --mismatch also with params as a device would hold them.
    """
    from energyc.running.runs.prepare import to_evaluate
    from energyc.running.training.evaluation import evaluate
    from energyc.running.training.folder import RunFolder
    from energyc.running.training.numbers import format_numbers, shown
    from energyc.running.training.outcome import CHOSEN_BY

    _refuse_idle(bits, mismatch, draws, seed, levels, picture)
    if bits or mismatch:
        from energyc.studies.hardware.study import DRAWS, Devices, precisions, study

        devices = Devices(draws or DRAWS, seed or 0, levels or "tensor")
        found = precisions(bits, mismatch)
        rows = study(run, found, devices, split=split, samples=samples, data=data, device=device, notify=console.note)
        _report_study(run, split, devices, rows, picture, console)
        return

    def evaluated(folder: Path) -> tuple[Evaluation, Session]:
        session = to_evaluate(folder, split, data=data, device=device)
        return evaluate(session, split=split, samples=samples, notify=console.note), session

    if RunFolder(Path(run)).of_several:
        _evaluate_several(Path(run), split, evaluated, console)
        return
    evaluation, session = evaluated(Path(run))
    numbers, warnings, size = evaluation.numbers, _warnings(evaluation, split), session.feeds.size(split)
    text = format_numbers(shown(numbers, session.rests), split, size)
    lines = [f"best {CHOSEN_BY[evaluation.best_by]}, {text}", *(f"  warning: {warning}" for warning in warnings)]
    units = {} if evaluation.saturated is None else {"saturated": evaluation.saturated.to_json()}
    head = {"run": run, "split": split, "split_size": size, "best_by": evaluation.best_by}
    console.result({**head, **numbers, **units, "warnings": warnings}, "\n".join(lines))


def _warnings(found: Evaluation, split: str) -> list[str]:
    """What is wrong with the states of an evaluation."""
    from energyc.running.training.run_health import saturated_symptoms

    return [str(symptom) for symptom in saturated_symptoms(found.saturated, split)]


def _report_study(
    run: str, split: str, devices: Devices, rows: Sequence[Row], picture: str | None, console: Console
) -> None:
    """Write the numbers at each precision, and draw them."""
    from energyc.surfaces.report.devices_plot import draw_study
    from energyc.surfaces.report.devices_text import print_study

    drawn = {} if picture is None else {"picture": str(draw_study(Path(run).name, rows, Path(picture)))}
    if console.is_json:
        head = {"run": run, "split": split, "levels": devices.over, "seed": devices.seed, **drawn}
        console.write_json({**head, "precisions": [row.to_json() for row in rows]})
    else:
        over = "the entries of each tensor" if devices.over == "tensor" else "the bounds of each param"
        print_study(f"{split} split, levels over {over}", rows, color=console.colors(sys.stdout))
        for path in drawn.values():
            console.write(path)


def _refuse_idle(
    bits: tuple[int, ...],
    mismatch: tuple[float, ...],
    draws: int | None,
    seed: int | None,
    levels: str | None,
    picture: str | None,
) -> None:
    """Raise click.UsageError for an option that would change nothing."""
    if not mismatch and (draws is not None or seed is not None):
        raise click.UsageError("--draws and --seed draw devices for --mismatch, which is not given")
    if not (bits or mismatch) and picture is not None:
        raise click.UsageError("--picture draws what --bits or --mismatch measure, which are not given")
    if not bits and levels is not None:
        raise click.UsageError("--levels says what the levels of --bits span, which is not given")


def _evaluate_several(
    folder: Path, split: Part, evaluated: Callable[[Path], tuple[Evaluation, Session]], console: Console
) -> None:
    """Evaluate every seed or fold; write mean and deviation, and the health that training wrote down."""
    from energyc.running.training.seeds import read_summary, run_folders, spread
    from energyc.surfaces.report.seeds_text import print_evaluation

    summary = read_summary(folder)
    found = {path.name: evaluated(path) for path in run_folders(folder, summary).values()}
    numbers = spread([evaluation.numbers for evaluation, _ in found.values()])
    warnings = [f"{name}: {text}" for name, (own, _) in found.items() for text in _warnings(own, split)]
    first, session = next(iter(found.values()))
    taken, size = first.numbers["samples"], session.feeds.size(split)
    if console.is_json:
        numbered: dict[str, object] = {kind: summary[kind] for kind in ("seeds", "folds") if kind in summary}
        head: dict[str, object] = {"run": str(folder), "split": split, "split_size": size, **numbered}
        console.write_json({**head, "numbers": numbers, "health": summary.get("health"), "warnings": warnings})
        return
    part = f"{taken:,.0f} of {size:,} samples of the {split} split" if taken < size else f"{split} split"
    print_evaluation(part, numbers, summary, color=console.colors(sys.stdout))
    for warning in warnings:
        console.write(f"  warning: {warning}")
