"""``energyc compile``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from energyc.code.targets import TARGETS
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import is_writable, output_options, rule_option, spec_argument, spec_options

if TYPE_CHECKING:
    from energyc.pipeline import Choices


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
    "--runtime",
    type=click.Choice(["copy", "full", "import"]),
    default="copy",
    help="Carry what the rules and settings reach of the runtime (the default), carry all of it, or import it.",
)
@rule_option
@spec_options
@output_options
def command(
    spec: str,
    out: str,
    targets: tuple[str, ...],
    runtime: Literal["copy", "full", "import"],
    rules: tuple[str, ...],
    choices: Choices,
    console: Console,
) -> None:
    """Write one self-contained module of SPEC for each target; print the paths, and the lines that import them."""
    from energyc import pipeline

    modules = pipeline.compile_spec(spec, choices, targets=targets, rules=rules or None, runtime=runtime)
    paths = [_write_module(Path(out), module.file_name, module.text) for module in modules]
    for module in modules:
        if module.fallback is not None:
            console.note(f"{module.file_name}: phases run as torch operations: {module.fallback}")
    lines = [_import_line(path, module.class_name) for path, module in zip(paths, modules, strict=True)]
    if console.is_json:
        files = [
            {"target": module.target, "path": str(path), "class": module.class_name, "import": line}
            for module, path, line in zip(modules, paths, lines, strict=True)
        ]
        console.write_json({"network": modules[0].network.name, "files": files})
        return
    console.write("\n".join(map(str, paths)))
    console.next(("energyc", "bench", spec), ("energyc", "train", spec))
    console.note("\n".join(f"in Python: {line}" for line in lines))


def _import_line(path: Path, name: str) -> str:
    """Return the line of Python that imports a class of a module, from the current folder."""
    line = f"from {path.stem} import {name}"
    if path.parent == Path("."):
        return line
    return f"import sys; sys.path.insert(0, {str(path.parent)!r}); {line}"


def _write_module(folder: Path, name: str, text: str) -> Path:
    from energyc.surfaces.cli.files import write_text

    return write_text(folder / name, text)
