"""Write files so that a crash, a kill or a full disk leaves either the old bytes or the new ones."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from energyc.language.diagnostics import UserError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_bytes(path: Path, content: bytes) -> None:
    """Write and wait until the content is on disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_bytes(path: Path, content: bytes) -> None:
    """Write a file next to ``path`` and rename it, so that a reader finds the old bytes or the new ones.

    Symbolic links are followed, and an existing file keeps its mode. A path that cannot be replaced, such as a pipe or
    ``/dev/stdout``, is written directly. Raises OSError.
    """
    target = Path(os.path.realpath(path))
    if path.exists() and not target.is_file():
        path.write_bytes(content)
        return
    # The name is short enough for the system and unique to this process.
    unfinished = target.with_name(f".{target.name[:40]}.{os.getpid()}.new")
    try:
        write_bytes(unfinished, content)
        _copy_mode(target, unfinished)
        os.replace(unfinished, target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files of a killed process; no other process may be writing to the folder."""
    for unfinished in folder.glob(".*.new"):
        unfinished.unlink(missing_ok=True)


def _copy_mode(existing: Path, new: Path) -> None:
    """Copy the mode of an existing file to its replacement. Raises PermissionError if that file is read-only."""
    if existing.exists():
        if not os.access(existing, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(existing))
        new.chmod(stat.S_IMODE(existing.stat().st_mode))


def sync_folder(folder: Path) -> None:
    """Make renames in ``folder`` durable if the system supports it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def writing(out: Path, saved: int | None) -> Iterator[None]:
    """Turn a failed write into a UserError (E0513) that names the newest checkpoint and how to resume."""
    try:
        yield
    except OSError as error:
        reason = "the disk is full" if error.errno in _FULL else (error.strerror or str(error))
        checkpoint = f"the checkpoint of step {saved} is kept" if saved is not None else "no checkpoint was written yet"
        next_step = f"then resume with: energyc train --resume {out}" if saved is not None else "then start again"
        remedy = "free some space" if error.errno in _FULL else "make the folder writable"
        raise UserError(
            f"cannot write to {out}: {reason}; {checkpoint}", code="E0513", help=f"{remedy}, {next_step}"
        ) from error
