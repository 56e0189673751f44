"""Findings on the requirements of energyc and its extras."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator, Sequence

from energyc.extras import Requirement, install_extra, pip_install, requirements
from energyc.surfaces.doctor.finding import Finding

#: Extras that are not reported: collections of others, and what has a finding of its own.
_LEFT_OUT = frozenset({"all", "dev", "jax", "triton"})
_BOUND = re.compile(r"(>=|<)\s*([\d.]+)")


def lacks(requirement: Requirement) -> str | None:
    """Say why a requirement is not met, or None if it is."""
    try:
        version = importlib.metadata.version(requirement.package)
    except importlib.metadata.PackageNotFoundError:
        return f"{requirement.package} is not installed"
    met = all(_compares(version, sign, bound) for sign, bound in _BOUND.findall(requirement.bounds))
    return None if met else f"{requirement.package} is {version}, and {requirement.bounds} is needed"


def _compares(version: str, sign: str, bound: str) -> bool:
    here, there = _release(version), _release(bound)
    return here >= there if sign == ">=" else here < there


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without trailing zeros: 2.13.0+cpu is (2, 13)."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def libraries() -> Iterator[Finding]:
    """Yield a finding on the libraries that energyc itself needs."""
    needed = [requirement for requirement in requirements() if not requirement.extra]
    lacking = {requirement: why for requirement in needed if (why := lacks(requirement)) is not None}
    if lacking:
        mend = pip_install(*(str(requirement) for requirement in lacking))
        yield Finding("libraries", "missing", "; ".join(lacking.values()), mend, core=True)
    else:
        yield Finding("libraries", "works", f"all {len(needed)} that energyc needs", core=True)


def extras() -> Iterator[Finding]:
    """Yield a finding on each extra."""
    found = requirements()
    for extra in dict.fromkeys(requirement.extra for requirement in found if requirement.extra):
        if extra not in _LEFT_OUT:
            yield _extra(extra, [requirement for requirement in found if requirement.extra == extra])


def _extra(extra: str, needed: Sequence[Requirement]) -> Finding:
    lacking = [why for requirement in needed if (why := lacks(requirement)) is not None]
    if lacking:
        return Finding(f"extra {extra}", "missing", "; ".join(lacking), install_extra(extra))
    return Finding(f"extra {extra}", "works", ", ".join(requirement.package for requirement in needed))
