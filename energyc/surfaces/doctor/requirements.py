"""The requirements of energyc and its extras, from pyproject.toml or the installed package, and what is installed."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from energyc.surfaces.doctor.finding import Finding
from energyc.surfaces.doctor.installing import pip_install

#: Extras that are not reported: collections of others, and what has a finding of its own.
_LEFT_OUT = frozenset({"all", "dev", "jax", "triton"})
_FORM = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)(?:;.*extra\s*==\s*['\"]([\w-]+)['\"])?")
_BOUND = re.compile(r"(>=|<)\s*([\d.]+)")


@dataclass(frozen=True)
class Requirement:
    """A package and its bounds, ``>=2.11,<2.14``; ``extra`` is empty for what energyc itself needs."""

    package: str
    bounds: str
    extra: str = ""

    def __str__(self) -> str:
        return f"{self.package}{self.bounds}"

    def lacks(self) -> str | None:
        """Say why it is not met, or None if it is."""
        try:
            version = importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return f"{self.package} is not installed"
        met = all(_compares(version, sign, bound) for sign, bound in _BOUND.findall(self.bounds))
        return None if met else f"{self.package} is {version}, and {self.bounds} is needed"


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


def requirements() -> list[Requirement]:
    """Return all requirements. Raises OSError or PackageNotFoundError if nothing states them."""
    project = Path(__file__).resolve().parents[3] / "pyproject.toml"
    if project.exists():  # a checkout, whose installed metadata may be older
        declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
        extras = declared.get("optional-dependencies", {})
        own = [_read(text) for text in declared["dependencies"]]
        return [*own, *(_read(text, extra) for extra, texts in extras.items() for text in texts)]
    return [_read(text) for text in importlib.metadata.requires("energyc") or ()]


def _read(text: str, extra: str = "") -> Requirement:
    found = _FORM.match(text)
    assert found is not None, text
    return Requirement(found[1], found[2].replace(" ", ""), extra or found[3] or "")


def libraries() -> Iterator[Finding]:
    """Yield a finding on the libraries that energyc itself needs."""
    needed = [requirement for requirement in requirements() if not requirement.extra]
    lacking = {requirement: why for requirement in needed if (why := requirement.lacks()) is not None}
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
    lacking = [why for requirement in needed if (why := requirement.lacks()) is not None]
    if lacking:
        return Finding(f"extra {extra}", "missing", "; ".join(lacking), pip_install(f"energyc[{extra}]"))
    return Finding(f"extra {extra}", "works", ", ".join(requirement.package for requirement in needed))
