"""Findings on the requirements of energyc and its extras."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Sequence

from packaging.requirements import Requirement

from energyc.extras import install_extra, pip_install, requirements, written
from energyc.surfaces.doctor.finding import Finding

#: Extras that are not reported: collections of others, and what has a finding of its own.
_LEFT_OUT = frozenset({"all", "dev", "jax", "triton"})


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
