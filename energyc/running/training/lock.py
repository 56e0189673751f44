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

from energyc.language.diagnostics import UserError

LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock an existing folder. Raises UserError E0517 if another process holds the lock, E0513."""
    path = folder / LOCK
    lock = _acquired(path)
    try:
        if not isinstance(lock, SoftFileLock):  # whose file names the process already
            path.write_text(f"process {os.getpid()} on {socket.gethostname()}")
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        lock.release()


def _acquired(path: Path) -> FileLock:
    lock = FileLock(path, blocking=False)
    try:
        lock.acquire()
    except Timeout:
        message = f"{path.parent} is being trained by {_holder(path)}"
        raise UserError(message, code="E0517", help="wait until it ends, or choose another --out") from None
    except OSError as error:
        message = f"cannot write to {path.parent}: {error.strerror}"
        raise UserError(message, code="E0513", help="make the folder writable") from None
    return lock


def _holder(path: Path) -> str:
    try:
        return path.read_text(errors="replace")[:200].strip() or "another process"
    except OSError:
        return "another process"
