"""Tell the path of a spec from that of a run."""

from __future__ import annotations

import os
from pathlib import Path

from energyc.language.diagnostics import Source, UserError
from energyc.pipeline import is_text, read


def is_run(path: object) -> bool:
    """Whether a path is a run folder."""
    return isinstance(path, os.PathLike | str) and not is_text(path) and os.path.isdir(path)


def read_spec(spec: str | Path) -> Source:
    """Read a spec where a run folder is also allowed. Raises UserError, which mentions both."""
    try:
        return read(spec)
    except UserError as error:
        if error.code == "E0901" and not is_text(spec) and not os.path.exists(spec):
            near = error.help if error.help and error.help.startswith("did you mean") else None
            help_text = "give the path of a .energy file, a name of `energyc list`, or the folder of a run"
            raise UserError(f"there is no file or folder {spec}", code=error.code, help=near or help_text) from None
        raise
