"""``energyc compile``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import click

from energyc.code.targets import TARGETS
from energyc.collection import rarely_collected
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import is_writable, output_options, rule_option, spec_argument, spec_options

#: The values of the option ``--runtime`` of earlier versions, and what stands in its place.
REMOVED: Mapping[str, str] = MappingProxyType(
    {
        "import": "modules always import the runtime; leave --runtime import out, the next version does not know it",
        "copy": "modules import the runtime; --standalone writes a folder with a copy, in place of --runtime copy",
        "full": "modules import the runtime; --standalone writes a folder with all of it, in place of --runtime full",
    }
)


@click.command("compile")
@spec_argument
@click.option(
    "-o",
    "out",
    metavar="DIR",
    callback=is_writable,
    type=click.Path(file_okay=False),
    default=".",
    help="The output folder.",
)
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
def command(spec: str, out: str, runtime: str | None, console: Console, **options: Any) -> None:
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
