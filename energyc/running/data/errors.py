"""The errors of the data adapters: each names the place, what was expected, and the remedy.

Codes: E0911 an unknown adapter, E0912 an option, E0913 a missing file, E0914 a malformed one, E0915 data that do not
fit the spec's sizes or their adapter's schema.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from energyc.files import kind_of
from energyc.language.diagnostics import UnknownName, UserError, near


def unknown_adapter(name: str, known: Iterable[str]) -> UserError:
    """No adapter has this name; the nearest of the known ones is suggested."""
    known = sorted(known)
    suggestion = "".join(f"did you mean {nearest}? " for nearest in near(name, known)[:1])
    help_text = f"{suggestion}Known: {', '.join(known)}; data of your own need no `data` line"
    return UnknownName(f"there is no data adapter named {name}", name, known, code="E0911", help=help_text)


def bad_option(adapter: str, option: str, message: str, allowed: str) -> UserError:
    """An option with an invalid value; ``allowed`` says what is valid."""
    return UserError(f"{adapter}: option {option} {message}", code="E0912", help=f"{option} is {allowed}")


def missing_file(path: str, expected: str, remedy: str) -> UserError:
    """A file or folder that does not exist, cannot be read, or is something else, such as a pipe."""
    return UserError(f"{path}: {_found(path)}; expected {expected}", code="E0913", help=remedy)


def _found(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        mode = 0
    return kind_of(mode) if mode and os.access(path, os.R_OK) else "not found or not readable"


def malformed(path: str, problem: str, expected: str, remedy: str) -> UserError:
    """A file that exists but does not have the expected content."""
    return UserError(f"{path}: {problem}; expected {expected}", code="E0914", help=remedy)


class WrongSize(UserError):
    """Valid data whose sizes are not those of the spec: the options ``sizes`` would fit, and ``otherwise`` may help."""

    def __init__(self, message: str, sizes: Mapping[str, int], otherwise: str = "") -> None:
        written = ", ".join(f"{option} = {size}" for option, size in sizes.items())
        super().__init__(message, code="E0915", help=f"write {written}{otherwise}" if sizes else otherwise)
        self.sizes = dict(sizes)
        self.otherwise = otherwise


def wrong_size(path: str, problem: str, otherwise: str = "", **sizes: int) -> WrongSize:
    """Valid data whose sizes are not those of the spec; ``sizes`` are the options that would fit."""
    return WrongSize(f"{path}: {problem}", {option: int(size) for option, size in sizes.items()}, otherwise)


def takes_no_file(adapter: str, path: str) -> UserError:
    """A path for data that are drawn, not read."""
    return UserError(f"{path}: {adapter} reads no file", code="E0913", help=f"leave out the path for {adapter}")
