"""Write the output files of commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from energyc.files import SafePath, write
from energyc.language.diagnostics import UserError

PlaceT = TypeVar("PlaceT", Path, SafePath)


def refuse_unwritable(path: Path) -> None:
    """Raise UserError E0906 where the folder of an output is a file, or may not be written into."""
    found = next(place for place in (path, *path.absolute().parents) if os.path.lexists(place))
    if found.is_dir():
        reason = None if os.access(found, os.W_OK | os.X_OK) else f"{found} may not be written into"
    else:  # a file that is there is replaced
        reason = None if found == path else f"{found} is a file, not a folder"
    if reason is not None:
        raise UserError(f"cannot write {path}: {reason}", code="E0906", help="choose another path")


def write_text(path: PlaceT, text: str) -> PlaceT:
    """Write a text file atomically, and make its folder. Raises UserError E0906 on failure."""
    try:
        write(path, text.encode())
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {reason}", code="E0906", help="choose another path") from None
    return path
