"""Every library that energyc imports is declared in pyproject.toml, needed by all or by an extra."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import packages_distributions

from tests.architecture.imports import ROOT, imports, modules

PROJECT = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]


EXTRAS = PROJECT["optional-dependencies"]


def _package(requirement: str) -> str:
    """A package by its name as a comparison wants it: ``typing_extensions`` is ``typing-extensions``."""
    found = re.match(r"[\w.-]+", requirement)
    assert found, requirement
    return found[0].lower().replace("_", "-")


#: Without the extra for work on energyc itself.
DECLARED = {_package(text) for text in sum((EXTRAS[name] for name in EXTRAS if name != "dev"), PROJECT["dependencies"])}


def _libraries() -> dict[str, str]:
    """Each library that is imported, and a place where it is."""
    found = (each for name, path in modules().items() for each in imports(name, path))
    return {each.library: f"{each.module}:{each.line}" for each in found if each.library}


def test_what_is_imported_is_declared() -> None:
    installed, unknown = packages_distributions(), []
    for library, place in sorted(_libraries().items()):
        packages = {_package(name) for name in installed.get(library, [library])}
        if not packages & DECLARED:
            unknown.append(f"{place} imports {library}, of {', '.join(packages)}")
    assert not unknown, "\n".join(["not in pyproject.toml:", *unknown])
