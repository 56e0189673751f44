"""Writing so that a crash, a kill or a full disk leaves either the old bytes or the new ones."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from energyc.diagnostics import UserError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_bytes(path: Path, content: bytes) -> None:
    """Write and wait until the disk has it."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_bytes(path: Path, content: bytes) -> None:
    """Write beside ``path``, then rename over it."""
    beside = path.with_name(f".{path.name}.new")
    try:
        write_bytes(beside, content)
        os.replace(beside, path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Make renames in ``folder`` durable, where the system can."""
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
    """Turn a failed write into a UserError (E0513): which checkpoint there is, and how to resume."""
    try:
        yield
    except OSError as error:
        reason = "the disk is full" if error.errno in _FULL else (error.strerror or str(error))
        left = f"the checkpoint of step {saved} is kept" if saved is not None else "no checkpoint was written yet"
        then = f"then resume with: energyc train --resume {out}" if saved is not None else "then start again"
        remedy = "free some space" if error.errno in _FULL else "make the folder writable"
        raise UserError(f"cannot write to {out}: {reason}; {left}", code="E0513", help=f"{remedy}, {then}") from error
