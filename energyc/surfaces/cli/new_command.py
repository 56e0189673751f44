"""``energyc new``."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from energyc.surfaces.cli import candidates
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import output_options


@click.command("new")
@click.argument("name", metavar="NAME")
@click.option(
    "--from",
    "origin",
    metavar="SPEC",
    help="A copy of SPEC, by path or a name of `energyc list`.",
    shell_complete=candidates.specs,
)
@output_options
def command(name: str, origin: str | None, console: Console) -> None:
    """Write NAME.energy: a small network to start from, which checks and trains as it is, or a copy of another spec."""
    from energyc.language.diagnostics import UserError
    from energyc.language.syntax.scan import RESERVED
    from energyc.surfaces.api.files import write_text

    path = Path(name if name.endswith(".energy") else f"{name}.energy")
    network = path.name.removesuffix(".energy")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", network) or network in RESERVED:
        help_text = "letters, digits and underscores, and no word of the language"
        raise UserError(f"{network!r} cannot name a network", code="E0908", help=help_text)
    if os.path.lexists(path):
        raise UserError(f"{path} exists already", code="E0909", help="choose another name")
    write_text(path, _starting_spec().replace("NAME", network) if origin is None else _copy(origin, network))
    console.result({"path": str(path)}, str(path))
    console.next(("energyc", "check", path), ("energyc", "train", path))


def _starting_spec() -> str:
    from energyc.resources import resource

    return resource("specs", "templates", "new.energy.txt").read_text(encoding="utf-8")


def _copy(origin: str, network: str) -> str:
    """The text of a spec with the name of its network changed. Raises UserError, SpecError."""
    from energyc.pipeline import parse, read

    source = read(origin)
    name = parse(source).name.span
    return source.text[: name.start] + network + source.text[name.end :]
