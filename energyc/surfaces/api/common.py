"""Shared by the functions of the API: their data and choices, and where notes go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from energyc.language.network import Network
from energyc.pipeline import Choices, resolve
from energyc.running.folder.layout import RunFolder
from energyc.running.runs.data_arguments import NO_DATA, Data, DataFlags, ProgramData
from energyc.running.runs.locate import is_run, read_spec
from energyc.running.training.progress import Reporter, make_reporter
from energyc.running.training.seeds import read_summary, run_folders

#: Takes a note for the user: what was damaged, left out, or chosen.
Notify = Callable[[str], None]


def given(data: Any, test: Any = None, validation: Any = None, map: Mapping[str, str] | None = None) -> Data:
    """Return data as a program gave them, or as they were typed on a command line."""
    if isinstance(data, DataFlags):
        return data
    if data is None and test is None and validation is None and not map:
        return NO_DATA
    return ProgramData(data, test, validation, map or {})


def network_of(spec_or_run: str | PathLike[str], choices: Choices, data: Data = NO_DATA) -> Network:
    """Return the network of a spec, or of a run with the data that it was made with. Raises SpecError, UserError."""
    if is_run(spec_or_run):
        from energyc.running.runs.saved import load_run

        saved = load_run(Path(spec_or_run))
        return saved.resolved(choices, data.read(saved.source))
    source = read_spec(spec_or_run if isinstance(spec_or_run, str) else Path(spec_or_run))
    return resolve(source, choices, data.read(source).schemas())


def runs_of(place: str | PathLike[str]) -> tuple[str, dict[int, Path]]:
    """Return ``seed`` or ``fold`` and the folder of each by its number, if ``place`` is a folder of several."""
    if not is_run(place) or not RunFolder(Path(place)).of_several:
        return "", {}
    summary = read_summary(Path(place))
    return "fold" if "folds" in summary else "seed", run_folders(Path(place), summary)


def reporter(quiet: bool = False) -> Reporter:
    """Return a bar on a terminal or in a notebook; nothing elsewhere, where a program writes what it likes."""
    from rich.console import Console

    console = Console(stderr=True)
    return make_reporter(quiet=quiet or not (console.is_terminal or console.is_jupyter))


def notes_to(notify: Notify | None) -> Notify:
    """Return where notes go: to ``notify``, or to a terminal or notebook if there is one."""
    return reporter().message if notify is None else notify
