"""Write the output files of commands, and the specs of ``energyc new`` and ``energyc fmt``."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TypeVar

from energyc.files import SafePath, write
from energyc.language.diagnostics import UserError, stage
from energyc.resources import resource

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


def write_new_spec(name: str, origin: str | None = None) -> Path:
    """Write ``NAME.energy``, a small network to start from or a copy of the spec ``origin``, and return its path.

    Raises UserError E0908 for a name that no network may have, E0909 for a file that exists; SpecError for ``origin``.
    """
    from energyc.language.syntax.scan import RESERVED

    path = Path(name if name.endswith(".energy") else f"{name}.energy")
    network = path.name.removesuffix(".energy")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", network) or network in RESERVED:
        help_text = "letters, digits and underscores, and no word of the language"
        raise UserError(f"{network!r} cannot name a network", code="E0908", help=help_text)
    if os.path.lexists(path):
        raise UserError(f"{path} exists already", code="E0909", help="choose another name")
    return write_text(path, _starting_spec(network) if origin is None else _copy(origin, network))


def _starting_spec(network: str) -> str:
    template = resource("specs", "templates", "new.energy.txt").read_text(encoding="utf-8")
    return template.replace("NAME", network)


def _copy(origin: str, network: str) -> str:
    """The text of a spec with the name of its network changed. Raises UserError, SpecError."""
    from energyc.pipeline import parse, read

    source = read(origin)
    name = parse(source).name.span
    return source.text[: name.start] + network + source.text[name.end :]


def format_spec(spec: str, *, check: bool = False) -> tuple[str, bool]:
    """Return the formatted text of a spec, and whether it differs; write it unless ``check`` or ``spec`` is ``-``.

    Raises UserError, SpecError.
    """
    from energyc.language.syntax import format_spec as formatted
    from energyc.language.syntax import read_source

    source = read_source(spec)
    with stage("fmt", spec):
        text = formatted(source)
    differs = text != source.text
    if differs and spec != "-" and not check:
        write_text(Path(spec), text)
    return text, differs
