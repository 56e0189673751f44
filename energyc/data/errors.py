"""The messages of the data adapters: each names the place, what was expected, and how to get it.

Codes: E0911 unknown adapter, E0912 an option, E0913 a missing file, E0914 a malformed one, E0915 data that do not
fit the spec's sizes.
"""

from __future__ import annotations

from collections.abc import Iterable

from energyc.diagnostics import UserError, near


def unknown_adapter(word: str, names: Iterable[str]) -> UserError:
    """No adapter has this name."""
    known = sorted(names)
    meant = near(word, known)
    ask = f"did you mean {meant[0]}? " if meant else ""
    return UserError(f"there is no data adapter named {word}", code="E0911", help=f"{ask}Known: {', '.join(known)}")


def bad_option(adapter: str, option: str, message: str, allowed: str) -> UserError:
    """An option that the adapter cannot take; ``allowed`` says what it may be."""
    return UserError(f"{adapter}: option {option} {message}", code="E0912", help=f"{option} is {allowed}")


def missing_file(path: str, expected: str, remedy: str) -> UserError:
    """A file or folder that is not there or cannot be read."""
    return UserError(f"{path}: not found or not readable; expected {expected}", code="E0913", help=remedy)


def no_folder(path: str, expected: str, remedy: str) -> UserError:
    """A folder where a file belongs."""
    return UserError(f"{path}: a folder; expected {expected}", code="E0913", help=remedy)


def malformed(path: str, problem: str, expected: str, remedy: str) -> UserError:
    """A file that is there but is not what it should be."""
    return UserError(f"{path}: {problem}; expected {expected}", code="E0914", help=remedy)


def unfit(path: str, problem: str, remedy: str) -> UserError:
    """Good data of other sizes than the spec declares."""
    return UserError(f"{path}: {problem}", code="E0915", help=remedy)


def no_file(adapter: str, path: str) -> UserError:
    """A path was given to data that are drawn, not read."""
    return UserError(f"{path}: {adapter} reads no file", code="E0913", help=f"leave out the path for {adapter}")
