"""Where the data folders of the project are, in the package of a wheel or beside it in a checkout, and the cache.

Imports: nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

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


def cache_place() -> Path:
    """The path ``$XDG_CACHE_HOME/energyc`` or ``~/.cache/energyc``. Raises RuntimeError where there is no home."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "energyc"


def page(code: str) -> Path | None:
    """The page of a diagnostic in the error reference; None where there is none."""
    package = Path(__file__).resolve().parent
    pages = (package / "errors" / f"{code}.md", package.parent / "docs" / "errors" / f"{code}.md")
    return next((page for page in pages if page.is_file()), None)


def cache() -> Path | None:
    """The folder at ``cache_place``, made if need be; None where nothing can be kept there."""
    try:
        found = cache_place()
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # no home, or no place in it
        return None
    return found if os.access(found, os.W_OK) else None
