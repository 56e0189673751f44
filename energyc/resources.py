"""Where the data folders of the project are, in the package of a wheel or beside it in a checkout.

Imports: nothing.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal

Folder = Literal["grammar", "codegen", "specs", "reference"]


def folder(name: Folder) -> Path:
    """The folder ``grammar``, ``codegen``, ``specs`` or ``reference``.

    A wheel carries it inside the package; in a checkout (an editable install) it stands at the root.

    Raises:
        FileNotFoundError: the installation is incomplete.
    """
    package = Path(__file__).resolve().parent
    for candidate in (package / name, package.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the folder {name}/ is missing from this installation of energyc; install it again")


def resource(name: Folder, *parts: str) -> Path:
    """The path of a file in one of the data folders."""
    return folder(name).joinpath(*parts)


@cache
def table(name: str) -> dict[str, Any]:
    """The contents of ``grammar/NAME.toml``."""
    return tomllib.loads(resource("grammar", f"{name}.toml").read_text(encoding="utf-8"))


@cache
def shipped() -> dict[str, Path]:
    """The paths of the specs that ship, by name: the systems of ``specs``, then those of its zoo."""
    places = (folder("specs"), resource("specs", "zoo"))
    return {path.stem: path for place in places for path in sorted(place.glob("*.energy"))}


def page(code: str) -> Path | None:
    """The page of a diagnostic in the error reference; None where there is none."""
    package = Path(__file__).resolve().parent
    pages = (package / "errors" / f"{code}.md", package.parent / "docs" / "errors" / f"{code}.md")
    return next((page for page in pages if page.is_file()), None)
