"""The folder of a run: its name, its files, its lock, and the messages where it cannot be read or written.

``spec.energy`` and the generated module come from the session; ``run.json`` holds options, versions and seed;
``metrics.jsonl``, ``relaxations.jsonl``, ``timings.jsonl``, ``checkpoints/`` and ``pictures/`` are filled during
training. Times have a file of their own, since the same run writes all else again byte for byte.

One process at a time writes into a folder. The kernel holds the lock, not the file, and releases it however the process
ends; a file system without locks gets a lock file. The file names the process for others, and is removed with the lock.
"""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock, SoftFileLock, Timeout

from energyc.files import SafePath
from energyc.language.diagnostics import Option, Resuming, UserError, spoken
from energyc.running.folder.formats import Malformed, RunInfo, Summary, parse

LOCK = ".lock"
#: Bytes of the largest run.json or summary.json.
_LARGEST_JSON = 64 << 20
#: The errors of a disk without room.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Place:
    """A file or a folder of a run, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, folder: RunFolder, owner: type) -> SafePath:
        return folder / self.name


@dataclass(frozen=True)
class RunFolder:
    """The paths in the folder of a run, or in that of several seeds or folds, which has a ``summary`` of its own."""

    path: Path

    info = Place("run.json")
    metrics = Place("metrics.jsonl")
    timings = Place("timings.jsonl")
    relaxations = Place("relaxations.jsonl")
    checkpoints = Place("checkpoints")
    pictures = Place("pictures")
    summary = Place("summary.json")

    def __truediv__(self, name: str) -> SafePath:
        """A file of the run, whose content may come from anywhere."""
        return SafePath(self.path) / name

    def remove_unfinished(self) -> None:
        """Remove the unfinished files of a killed process; no other process may be writing to the folder."""
        for name in SafePath(self.path).names(".*.new"):
            with suppress(OSError):
                (self / name).remove()

    @property
    def of_several(self) -> bool:
        """Whether this is the folder of several seeds or folds rather than of a run."""
        return self.summary.exists() and not self.info.exists()

    @property
    def runs(self) -> list[Path]:
        """The folders of the seeds or folds, in the order of their numbers."""
        names = [name for kind in ("seed", "fold") for name in SafePath(self.path).names(f"{kind}-*")]
        return [self.path / name for name in sorted(names, key=lambda name: (len(name), name))]

    def run(self, number: int, kind: str = "seed") -> Path:
        """Return the folder of a seed or a fold. Raises UserError E0511 for a link."""
        folder = self / f"{kind}-{number}"
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder} is not a folder, or a link to one", code="E0511", help=_EXPECTED)
        return folder.path

    def read_info(self) -> RunInfo:
        """Read ``run.json``. Raises UserError E0511 if this is not a run folder."""
        try:
            return parse(RunInfo, self.info.read(_LARGEST_JSON))
        except FileNotFoundError:
            reason = "it has no run.json" if SafePath(self.path).is_dir() else "there is no such folder"
        except OSError as error:
            reason = error.strerror or str(error)
        except Malformed as error:
            reason = f"run.json: {error}"
        raise UserError(f"{self.path} is not a run folder: {reason}", code="E0511", help=_EXPECTED)

    def read_summary(self) -> Summary:
        """Read ``summary.json``. Raises OSError, Malformed."""
        return parse(Summary, self.summary.read(_LARGEST_JSON))

    def write_info(self, info: Mapping[str, Any]) -> None:
        """Replace ``run.json``. Raises OSError."""
        self.info.write_utf8(json.dumps(info, indent=2, default=str) + "\n")


_EXPECTED = "give the folder that energyc train made, with run.json and checkpoints/ in it"


@contextmanager
def new_run(name: str, root: Path = Path("runs")) -> Iterator[Path]:
    """Make ``runs/NAME-N``, with N one more than the largest existing number, so that no other process takes it.

    The folder is removed again if it stays empty, and so is ``root`` if it was made for it.
    Raises UserError E0513 if it cannot be made.
    """
    is_first = not root.exists()
    path = _make_next(name, root)
    try:
        yield path
    finally:
        with suppress(OSError):  # one is not empty
            path.rmdir()
            if is_first:
                root.rmdir()


def _make_next(name: str, root: Path) -> Path:
    suffixes = [path.name.removeprefix(f"{name}-") for path in root.glob(f"{name}-*")]
    first = 1 + max((int(number) for number in suffixes if number.isdecimal()), default=0)
    for number in count(first):
        with suppress(FileExistsError):
            return _make_folder(root / f"{name}-{number}", exist_ok=False)
    raise AssertionError  # the numbers do not end


def refuse_taken(path: Path) -> None:
    """Raise UserError E0510 if ``path`` is not empty, unless its run was killed before it could be resumed."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    has_run = RunFolder(path).info.exists() or any(RunFolder(run).info.exists() for run in RunFolder(path).runs)
    if (path / LOCK).exists() and not has_run:
        return
    instead = ", or continue with: {}" if has_run else ""
    help_text = spoken("choose another {}" + instead, Option("out"), Resuming(path))
    raise UserError(f"{path} exists and is not empty", code="E0510", help=help_text)


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Make and lock the folder of a new run.

    Raises UserError: E0510 if it is not empty, E0513 if it cannot be made, E0517 if it is locked.
    """
    refuse_taken(path)
    _make_folder(path)
    with locked(path):
        refuse_taken(path)  # once more: another process may have filled it since
        RunFolder(path).remove_unfinished()
        try:
            yield
        except BaseException:
            folder = RunFolder(path)
            if not (folder.info.exists() or folder.summary.exists()):  # it cannot be resumed, and would be refused
                _empty(path)
            raise


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock an existing folder. Raises UserError E0517 if another process holds the lock, E0513."""
    path = SafePath(folder) / LOCK
    lock = FileLock(path.path, blocking=False)
    with _lockable(folder):
        try:
            with suppress(FileNotFoundError):
                path.read()  # refuses a link or a pipe
            lock.acquire()
        except Timeout:
            remedy = spoken("wait until it ends, or choose another {}", Option("out"))
            raise UserError(f"{folder} is being trained by {_holder(path)}", code="E0517", help=remedy) from None
    try:
        if not isinstance(lock, SoftFileLock):  # whose file names the process already
            with _lockable(folder):
                path.append_utf8(f"process {os.getpid()} on {socket.gethostname()}")
        yield
    finally:
        with suppress(OSError):
            path.remove()
        lock.release()


@contextmanager
def _lockable(folder: Path) -> Iterator[None]:
    """Turn a lock that cannot be written into a UserError (E0513)."""
    try:
        yield
    except OSError as error:
        message = f"cannot write to {error.filename or folder}: {_reason(error)}"
        raise UserError(message, code="E0513", help=_room(error)) from None


def _holder(path: SafePath) -> str:
    try:
        return path.read_utf8(errors="replace")[:200].strip() or "another process"
    except OSError:
        return "another process"


def _empty(path: Path) -> None:
    """Remove all that a run has put into its folder, but for the lock."""
    for name in SafePath(path).names():
        if name != LOCK:
            with suppress(OSError):
                (SafePath(path) / name).remove()


def _make_folder(path: Path, exist_ok: bool = True) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=exist_ok)
    except FileExistsError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot make {path}: {reason}", code="E0513", help=spoken("choose another {}", Option("out"))
        ) from None
    return path


# ------------------------------------------------------------ messages


def unreadable(path: SafePath, error: Exception) -> UserError:
    """Say that a file of a run folder cannot be read."""
    reason = getattr(error, "strerror", None) or str(error)
    return UserError(f"{path} cannot be read: {reason}", code="E0511", help="give a folder that energyc train made")


@contextmanager
def writing(out: Path, saved: int | None) -> Iterator[None]:
    """Turn a failed write into a UserError (E0513) that names the newest checkpoint and how to resume."""
    try:
        yield
    except OSError as error:
        checkpoint = f"the checkpoint of step {saved} is kept" if saved is not None else "no checkpoint was written yet"
        next_step = "then resume with: {}" if saved is not None else "then start again"
        help_text = spoken(f"{_room(error)}, {next_step}", Resuming(out))
        raise UserError(
            f"cannot write to {out}: {_reason(error)}; {checkpoint}", code="E0513", help=help_text
        ) from error


def _reason(error: OSError) -> str:
    return "the disk is full" if error.errno in _FULL else (error.strerror or str(error))


def _room(error: OSError) -> str:
    """Return what lets a write succeed."""
    return "free some space" if error.errno in _FULL else "make the folder writable"
