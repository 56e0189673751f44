"""Writing the output files of commands."""

from __future__ import annotations

from pathlib import Path

from energyc.diagnostics import UserError


def write_text(path: Path, text: str) -> Path:
    """Write a text file and make its folder. Raises UserError E0906 where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}", code="E0906", help="choose another path") from None
    return path
