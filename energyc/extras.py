"""The optional libraries of energyc, by extra: what is missing here, and the command that installs it.

The command names the packages themselves. It therefore works however energyc was installed: from a checkout, a wheel or
an index. All commands import this module for their options, so it imports little itself.

Imports: ``diagnostics``; libraries: ``packaging``.
"""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from energyc.language.diagnostics import UserError


@dataclass(frozen=True)
class Library:
    """A library of an extra: the ``modules`` that are imported, and how a message says that it is missing."""

    modules: tuple[str, ...]
    extra: str
    message: str
    code: str

    def is_found(self) -> bool:
        """Whether the library is installed; nothing is imported."""
        return all(importlib.util.find_spec(module) is not None for module in self.modules)

    def missing(self) -> UserError:
        """Return the error of what needs it."""
        from energyc.language.diagnostics import UserError

        return UserError(self.message, code=self.code, help=install_extra(self.extra))


MATPLOTLIB = Library(("matplotlib",), "plots", "pictures need matplotlib, which is not installed", "E0530")
PANDAS = Library(("pandas",), "data", "tables need pandas, which is not installed", "E0913")
PYGLS = Library(("pygls", "lsprotocol"), "lsp", "the language server needs pygls, which is not installed", "E0925")
TENSORBOARD = Library(("tensorboard",), "logs", "TensorBoard is not installed", "E0952")


def requirements() -> dict[str, list[Requirement]]:
    """Return all requirements by extra, those of energyc itself under the empty name.

    They come from pyproject.toml or the installed package. Raises OSError or PackageNotFoundError if nothing states
    them.
    """
    import importlib.metadata
    import tomllib

    from packaging.requirements import Requirement

    project = Path(__file__).resolve().parents[1] / "pyproject.toml"
    if project.exists():  # a checkout, whose installed metadata may be older
        declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
        stated = {"": declared["dependencies"], **declared.get("optional-dependencies", {})}
        return {extra: [Requirement(text) for text in texts] for extra, texts in stated.items()}
    installed = importlib.metadata.metadata("energyc")
    found: dict[str, list[Requirement]] = {"": [], **{extra: [] for extra in installed.get_all("Provides-Extra", ())}}
    for requirement in map(Requirement, installed.get_all("Requires-Dist", ())):
        of = [
            extra for extra in found if extra and requirement.marker and requirement.marker.evaluate({"extra": extra})
        ]
        for extra in of or [""]:
            found[extra].append(requirement)
    return found


def install_extra(extra: str) -> str:
    """Return the command that installs the packages of an extra for this Python."""
    return pip_install(*map(written, requirements()[extra]))


def written(requirement: Requirement) -> str:
    """Return a package with its bounds, without a marker."""
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    bounds = ",".join(sorted(map(str, requirement.specifier), key=lambda bound: bound[0] != ">"))
    return f"{requirement.name}{extras}{bounds}"


def pip_install(*requirements: str) -> str:
    """Return the command that installs packages for this Python, by uv where there is no pip."""
    quoted = " ".join(f"'{requirement}'" for requirement in requirements)
    python = shlex.quote(sys.executable or "python3")
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {python} {quoted}"
    return f"{python} -m pip install {quoted}"
