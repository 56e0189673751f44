"""Write the output files of commands."""

from __future__ import annotations

from pathlib import Path

from energyc.language.diagnostics import UserError
from energyc.running.training.disk import replace_bytes


def write_text(path: Path, text: str) -> Path:
    """Write a text file atomically, and make its folder. Raises UserError E0906 on failure."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_bytes(path, text.encode())
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {reason}", code="E0906", help="choose another path") from None
    return path
