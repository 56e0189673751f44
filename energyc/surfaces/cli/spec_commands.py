"""The commands that read a spec: ``list``, ``new``, ``fmt``, ``check``, ``show``, ``explain``, ``compile``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from energyc.code.targets import TARGETS
from energyc.collection import rarely_collected
from energyc.surfaces.cli import candidates
from energyc.surfaces.cli.console import Console, Exit
from energyc.surfaces.cli.options import (
    is_spec_or_run,
    output_options,
    rule_option,
    spec_argument,
    spec_options,
    written_option,
)

#: The spec that the next commands are of, where ``list`` was given no word.
USUAL = "hopfield"
STAGES = ("tree", "network", "ir", "forces", "jacobian", "plan", "kernels", *TARGETS)
#: The values of the option ``--runtime`` of earlier versions, and what stands in its place.
REMOVED: Mapping[str, str] = MappingProxyType(
    {
        "import": "modules always import the runtime; leave --runtime import out, the next version does not know it",
        "copy": "modules import the runtime; --standalone writes a folder with a copy, in place of --runtime copy",
        "full": "modules import the runtime; --standalone writes a folder with all of it, in place of --runtime full",
    }
)


@click.command("list")
@click.argument("word", required=False)
@output_options
def list_command(word: str | None, console: Console) -> None:
    """List the specs that ship, whose names stand for their paths in every command.

    With WORD those that mention it, each with its class, the rule that trains it, its data, and a figure with its
    command. A figure is of held-out samples after one short training; its seconds are of processor time.
    """
    from energyc.surfaces.report.catalogue import details, found, listing

    entries = found(word)
    lines = listing(entries, console.width) if word is None else details(entries)
    console.result([entry.to_json() for entry in entries], "\n".join(lines).rstrip())
    first = USUAL if word is None else next((e.name for e in entries if e.name == word), entries[0].name)
    more = [] if word is not None else [("energyc", "list", first)]
    console.next(*more, ("energyc", "check", first), ("energyc", "new", "mine", "--from", first))


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
def new_command(name: str, origin: str | None, console: Console) -> None:
    """Write NAME.energy: a small network to start from, which checks and trains as it is, or a copy of another spec."""
    from energyc.surfaces.api.files import write_new_spec

    path = write_new_spec(name, origin)
    console.result({"path": str(path)}, str(path))
    console.next(("energyc", "check", path), ("energyc", "train", path))


@click.command("fmt")
@click.argument(
    "specs",
    metavar="SPEC...",
    type=click.Path(allow_dash=True),
    nargs=-1,
    required=True,
    shell_complete=candidates.files,
)
@click.option("--check", is_flag=True, help="Change nothing; exit with status 1 if a file would change.")
@output_options
def fmt_command(specs: tuple[str, ...], check: bool, console: Console) -> None:
    """Format SPEC in place; `-` reads standard input and writes standard output."""
    from energyc.surfaces.api.files import format_spec

    changed: list[str] = []
    for spec in specs:
        text, differs = format_spec(spec, check=check)
        if spec == "-" and not check:
            console.write_source(text)
        elif differs:
            changed.append(spec)
    if console.is_json:
        console.write_json({"changed": changed})
    elif changed:
        console.note("\n".join(f"{'would format' if check else 'formatted'} {spec}" for spec in changed))
    if check and changed:
        raise Exit(1)


@click.command("check")
@spec_argument()
@written_option("--certificates", type=click.Path(), help="Write the proofs into FILE.")
@click.option("--verbose", is_flag=True, help="Show formulas, potentials, witnesses and a line for each rule.")
@rarely_collected()
@spec_options
@output_options
def check_command(spec: str, certificates: str | None, verbose: bool, console: Console, **options: Any) -> None:
    """Type-check SPEC and say whether there is an energy, whether steps converge, and which rules are exact.

    The report has the evidence for each class and claim, the params, and the operations of a step.
    """
    from energyc.language.diagnostics import SpecError
    from energyc.surfaces.api.files import write_text
    from energyc.surfaces.report.check import check

    report = check(Path(spec), **options)
    if certificates is not None and report.classes is not None:
        write_text(Path(certificates), json.dumps(report.classes.certificates, indent=2) + "\n")
    if report.ok or console.is_json:
        console.show(report, verbose=verbose)
        if not (verbose or console.is_json or console.quiet):
            console.write("\n--verbose shows formulas, potentials, the points of witnesses and a line for each rule.")
    if report.diagnostics and not console.is_json and not (report.ok and console.quiet):
        console.diagnostics(SpecError(report.source, report.diagnostics))
    if not report.ok:
        raise Exit(1)


@click.command("show")
@spec_argument()
@click.option("--stage", type=click.Choice(STAGES), required=True, help="The stage to print.")
@rarely_collected()
@rule_option
@spec_options
@output_options
def show_command(spec: str, stage: str, rules: tuple[str, ...], console: Console, **options: Any) -> None:
    """Print a stage of the pipeline for SPEC; that of a target is the module that ``compile`` writes."""
    from energyc.pipeline import Choices, read
    from energyc.surfaces.report.show import show

    text = show(read(Path(spec)), stage, Choices.of(**options), rules or None)
    console.result({"stage": stage, "text": text}, text)


@click.command("explain")
@spec_argument("SPEC|RUN", callback=is_spec_or_run)
@written_option("-o", "out", help="A .md, .tex or .html file.")
@rarely_collected()
@spec_options
@output_options
def explain_command(spec: str, out: str | None, console: Console, **options: Any) -> None:
    """Write the derivations and the model table of SPEC or RUN, as Markdown or as the ending of FILE says."""
    from energyc.surfaces.api.pages import explain

    console.show(explain(spec, out, **options))


@click.command("compile")
@spec_argument()
@written_option("-o", "out", metavar="DIR", type=click.Path(file_okay=False), default=".", help="The output folder.")
@click.option(
    "--target",
    "targets",
    type=click.Choice(TARGETS),
    multiple=True,
    default=("torch",),
    help="What to write.",
)
@click.option(
    "--standalone",
    is_flag=True,
    help="Write a folder with a copy of the runtime, which runs where energyc is not installed.",
)
@click.option("--runtime", type=click.Choice(["copy", "full", "import"]), hidden=True)
@rarely_collected()
@rule_option
@spec_options
@output_options
def compile_command(spec: str, out: str, runtime: str | None, console: Console, **options: Any) -> None:
    """Write one module of SPEC for each target; print the paths, and the lines that import them.

    A module holds the network's equations and imports energyc.runtime.
    """
    from energyc.surfaces.api.compile import compile

    if runtime is not None:
        console.warning(REMOVED[runtime])
    modules = compile(spec, out, **options)
    for note in modules.notes:
        console.note(note)
    console.show(modules)
    console.next(("energyc", "bench", spec), ("energyc", "train", spec))
    if not console.is_json:
        console.note("\n".join(f"in Python: {line}" for line in modules.imports))
