"""Write the output files of commands."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from energyc.files import SafePath, write
from energyc.language.diagnostics import UserError

PlaceT = TypeVar("PlaceT", Path, SafePath)


def write_text(path: PlaceT, text: str) -> PlaceT:
    """Write a text file atomically, and make its folder. Raises UserError E0906 on failure."""
    try:
        write(path, text.encode())
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {reason}", code="E0906", help="choose another path") from None
    return path
