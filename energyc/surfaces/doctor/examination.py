"""All findings on this machine: the interpreter, energyc, its libraries, the trial, the cache, the extras."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from energyc.extras import install_extra, pip_install, requirements, written
from energyc.files import cache_place, distrusted
from energyc.surfaces.doctor.findings import Finding, carried_out, findings, run_trial
from energyc.surfaces.tables import painted
from energyc.version import __version__

OLDEST = (3, 11)
#: Extras that are not reported: collections of others, and what has a finding of its own.
_LEFT_OUT = frozenset({"all", "dev", "jax", "triton"})
_WORDS = {"works": "ok", "none": "-", "missing": "missing", "broken": "broken"}
_WITHOUT = "specs are compiled and kernels built anew in each process"


@dataclass(frozen=True)
class Examination:
    """The findings; ``passed`` if nothing is wrong with the core."""

    findings: Sequence[Finding]

    @property
    def passed(self) -> bool:
        """Whether specs can be compiled and trained here."""
        return all(finding.is_well for finding in self.findings if finding.core)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``doctor --format json``."""
        return {"works": self.passed, "findings": [finding.to_json() for finding in self.findings]}

    def to_text(self, *, color: bool = False) -> str:
        """Return a line for each finding with the command that mends it, and whether energyc works."""
        width = max(len(finding.name) for finding in self.findings)
        lines = []
        for finding in self.findings:
            word = painted(f"{_WORDS[finding.state]:<8}", color)
            lines.append(f"{word}{finding.name:<{width}}  {finding.says}")
            if finding.mend is not None:
                lines.append(f"{'':{8 + width}}  = {finding.mend}")
        return "\n".join([*lines, "", self._summary])

    @property
    def _summary(self) -> str:
        ill = [finding for finding in self.findings if not finding.is_well]
        if not self.passed:
            return f"energyc does not work here: {', '.join(finding.name for finding in ill if finding.core)}"
        names = ", ".join(finding.name for finding in ill)
        return f"energyc works here; not all of it: {names}" if ill else "energyc works here, all of it"


def examined() -> Examination:
    """Examine this machine, which takes some seconds. Nothing is raised."""
    return Examination(
        [
            *carried_out("Python", python, core=True),
            *carried_out("energyc", installation, core=True),
            *carried_out("libraries", libraries, core=True),
            *carried_out("trial", lambda: findings(run_trial()), core=True),
            *carried_out("cache", caches),
            *carried_out("extras", extras),
        ]
    )


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


# ------------------------------------------------------------------ libraries


def lacks(requirement: Requirement) -> str | None:
    """Say why a requirement is not met, or None if it is."""
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return f"{requirement.name} is not installed"
    if requirement.specifier.contains(version, prereleases=True):
        return None
    return f"{requirement.name} is {version}, and {written(requirement).removeprefix(requirement.name)} is needed"


def libraries() -> Iterator[Finding]:
    """Yield a finding on the libraries that energyc itself needs."""
    needed = requirements()[""]
    lacking = {requirement: why for requirement in needed if (why := lacks(requirement)) is not None}
    if lacking:
        mend = pip_install(*map(written, lacking))
        yield Finding("libraries", "missing", "; ".join(lacking.values()), mend, core=True)
    else:
        yield Finding("libraries", "works", f"all {len(needed)} that energyc needs", core=True)


def extras() -> Iterator[Finding]:
    """Yield a finding on each extra."""
    for extra, needed in requirements().items():
        if extra and extra not in _LEFT_OUT:
            yield _extra(extra, needed)


def _extra(extra: str, needed: Sequence[Requirement]) -> Finding:
    lacking = [why for requirement in needed if (why := lacks(requirement)) is not None]
    if lacking:
        return Finding(f"extra {extra}", "missing", "; ".join(lacking), install_extra(extra))
    return Finding(f"extra {extra}", "works", ", ".join(requirement.name for requirement in needed))
