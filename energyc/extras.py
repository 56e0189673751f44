"""The optional libraries of energyc, by extra: what is missing here, and the command that installs it.

The command names the packages themselves. It therefore works however energyc was installed: from a checkout, a wheel or
an index. All commands import this module for their options, so it imports little itself.

Imports: ``diagnostics``.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from energyc.language.diagnostics import UserError

_FORM = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)(?:;.*extra\s*==\s*['\"]([\w-]+)['\"])?")


@dataclass(frozen=True)
class Requirement:
    """A package and its bounds, ``>=2.11,<2.14``; ``extra`` is empty for what energyc itself needs."""

    package: str
    bounds: str
    extra: str = ""

    def __str__(self) -> str:
        return f"{self.package}{self.bounds}"


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
PYGLS = Library(("pygls", "lsprotocol"), "lsp", "the language server needs pygls, which is not installed", "E0925")
TENSORBOARD = Library(("tensorboard",), "logs", "TensorBoard is not installed", "E0952")


def requirements() -> list[Requirement]:
    """Return all requirements, from pyproject.toml or the installed package.

    Raises OSError or PackageNotFoundError if nothing states them.
    """
    import importlib.metadata
    import tomllib

    project = Path(__file__).resolve().parents[1] / "pyproject.toml"
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


def install_extra(extra: str) -> str:
    """Return the command that installs the packages of an extra for this Python."""
    return pip_install(*(str(requirement) for requirement in requirements() if requirement.extra == extra))


def pip_install(*requirements: str) -> str:
    """Return the command that installs packages for this Python, by uv where there is no pip."""
    quoted = " ".join(f"'{requirement}'" for requirement in requirements)
    python = shlex.quote(sys.executable or "python3")
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {python} {quoted}"
    return f"{python} -m pip install {quoted}"
