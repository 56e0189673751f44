"""``energyc doctor``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from energyc.surfaces.cli.console import Console, Exit
from energyc.surfaces.cli.options import output_options
from energyc.surfaces.tables import painted

if TYPE_CHECKING:
    from energyc.surfaces.doctor.finding import Finding

_WORDS = {"works": "ok", "none": "-", "missing": "missing", "broken": "broken"}


@click.command("doctor")
@output_options
def command(console: Console) -> None:
    """Say what works here, and the command that mends what does not.

    It tries what energyc does: torch, the shipped specs, a small network, kernels in C++ and Triton, the cache, the
    extras. Exit status 0 if specs can be compiled and trained, else 1.
    """
    from energyc.surfaces.doctor.examination import examined, works

    if sys.stderr.isatty():
        console.note("examining, which takes a few seconds")
    found = examined()
    well = works(found)
    data = {"works": well, "findings": [finding.to_json() for finding in found]}
    console.result(data, _text(found, well, color=console.colors(sys.stdout)))
    if not well:
        raise Exit(1)


def _text(found: list[Finding], well: bool, *, color: bool) -> str:
    width = max(len(finding.name) for finding in found)
    lines = []
    for finding in found:
        word = painted(f"{_WORDS[finding.state]:<8}", color)
        lines.append(f"{word}{finding.name:<{width}}  {finding.says}")
        if finding.mend is not None:
            lines.append(f"{'':{8 + width}}  = {finding.mend}")
    return "\n".join([*lines, "", _summary(found, well)])


def _summary(found: list[Finding], well: bool) -> str:
    ill = [finding.name for finding in found if not finding.is_well]
    if not well:
        names = [finding.name for finding in found if finding.core and not finding.is_well]
        return f"energyc does not work here: {', '.join(names)}"
    return "energyc works here" + (f"; not all of it: {', '.join(ill)}" if ill else ", all of it")
