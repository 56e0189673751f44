"""All findings on this machine."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from energyc.surfaces.doctor.finding import Finding, carried_out
from energyc.surfaces.doctor.places import caches
from energyc.surfaces.doctor.requirements import extras, libraries
from energyc.surfaces.doctor.tried import findings, tried
from energyc.version import __version__

OLDEST = (3, 11)


def examined() -> list[Finding]:
    """Examine this machine, which takes some seconds. Nothing is raised."""
    return [
        *carried_out("Python", python, core=True),
        *carried_out("energyc", installation, core=True),
        *carried_out("libraries", libraries, core=True),
        *carried_out("trial", lambda: findings(tried()), core=True),
        *carried_out("cache", caches),
        *carried_out("extras", extras),
    ]


def works(found: Sequence[Finding]) -> bool:
    """Whether nothing is wrong with the core."""
    return all(finding.is_well for finding in found if finding.core)


def python() -> Iterator[Finding]:
    """Yield a finding on the interpreter."""
    says = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
    facts = {"version": platform.python_version(), "executable": sys.executable}
    if sys.version_info < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        yield Finding("Python", "broken", f"{says}; {oldest} or newer is needed", core=True, facts=facts)
    else:
        yield Finding("Python", "works", says, core=True, facts=facts)


def installation() -> Iterator[Finding]:
    """Yield a finding on energyc's own files."""
    from energyc.resources import folder

    for name in ("grammar", "codegen", "specs"):
        folder(name)
    place = Path(__file__).resolve().parents[2]
    yield Finding("energyc", "works", f"{__version__}, {place}", core=True, facts={"version": __version__})
