"""Lock a run folder so that one process at a time writes into it.

The kernel holds the lock, not the file, and releases it however the process ends; a file system without locks gets a
lock file. The file names the process for others, and is removed with the lock.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, SoftFileLock, Timeout

from energyc.files import SafePath
from energyc.language.diagnostics import Option, UserError, spoken
from energyc.running.training.disk import FULL

LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock an existing folder. Raises UserError E0517 if another process holds the lock, E0513."""
    path = SafePath(folder) / LOCK
    lock = _acquired(path)
    try:
        if not isinstance(lock, SoftFileLock):  # whose file names the process already
            _name_process(path)
        yield
    finally:
        with suppress(OSError):
            path.remove()
        lock.release()


def _acquired(path: SafePath) -> FileLock:
    lock = FileLock(path.path, blocking=False)
    try:
        with suppress(FileNotFoundError):
            path.read()  # refuses a link or a pipe
        lock.acquire()
    except Timeout:
        message = f"{path.root} is being trained by {_holder(path)}"
        raise UserError(
            message, code="E0517", help=spoken("wait until it ends, or choose another {}", Option("out"))
        ) from None
    except OSError as error:
        raise _unwritable(path, error) from None
    return lock


def _name_process(path: SafePath) -> None:
    try:
        path.append_utf8(f"process {os.getpid()} on {socket.gethostname()}")
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: SafePath, error: OSError) -> UserError:
    full = error.errno in FULL
    message = f"cannot write to {error.filename or path.root}: {'the disk is full' if full else error.strerror}"
    return UserError(message, code="E0513", help="free some space" if full else "make the folder writable")


def _holder(path: SafePath) -> str:
    try:
        return path.read_utf8(errors="replace")[:200].strip() or "another process"
    except OSError:
        return "another process"
