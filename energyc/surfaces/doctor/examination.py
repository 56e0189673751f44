"""All findings on this machine."""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from energyc.files import cache_place, distrusted
from energyc.surfaces.doctor.finding import Finding, carried_out
from energyc.surfaces.doctor.requirements import extras, libraries
from energyc.surfaces.doctor.trial_findings import findings, run_trial
from energyc.version import __version__

OLDEST = (3, 11)
_WITHOUT = "specs are compiled and kernels built anew in each process"


def examined() -> list[Finding]:
    """Examine this machine, which takes some seconds. Nothing is raised."""
    return [
        *carried_out("Python", python, core=True),
        *carried_out("energyc", installation, core=True),
        *carried_out("libraries", libraries, core=True),
        *carried_out("trial", lambda: findings(run_trial()), core=True),
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


def caches() -> Iterator[Finding]:
    """Yield a finding on the cache folder, and one on the tables of the grammar."""
    yield from _cache()
    yield _tables()


def _cache() -> Iterator[Finding]:
    elsewhere = 'export XDG_CACHE_HOME="$(mktemp -d)"'
    try:
        place = cache_place()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"energyc")
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        named = getattr(error, "filename", None)
        place_text = f" in {named}" if named else ""
        yield Finding("cache", "broken", f"nothing can be kept{place_text}: {why}; {_WITHOUT}", elsewhere)
        return
    if why := distrusted(place):
        yield Finding("cache", "broken", f"{place} is not used, since {why}; {_WITHOUT}", elsewhere)
        return
    sizes = [path.stat().st_size for path in place.rglob("*") if path.is_file()]
    megabytes, total = sum(sizes) / 1e6, sum(sizes)
    facts = {"place": str(place), "bytes": total, "files": len(sizes)}
    says = f"{place}, {len(sizes)} file{'s' if len(sizes) != 1 else ''}, {megabytes:.1f} MB"
    yield Finding("cache", "works", says, facts=facts)


def _tables() -> Finding:
    from energyc.language.syntax.grammar import tables_are_current

    if tables_are_current():
        return Finding("grammar", "works", "its tables are shipped")
    return Finding("grammar", "none", "its tables are for another version of lark; each process makes them in 0.2 s")
