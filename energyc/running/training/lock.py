"""Lock a run folder so that one process at a time writes into it.

The kernel holds the lock, not the file, and releases it however the process ends. The file names the process for
others, and is removed with the lock.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from energyc.language.diagnostics import UserError

try:
    import fcntl
except ImportError:  # Windows, where runs are not locked
    fcntl = None  # type: ignore[assignment]

#: Errors of file systems without locks.
_UNSUPPORTED = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
LOCK = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock an existing folder. Raises UserError E0517 if another process holds the lock, E0513."""
    path = folder / LOCK
    handle = _acquire(path)
    try:
        os.truncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {socket.gethostname()}".encode())
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(handle)


def _acquire(path: Path) -> int:
    """Open and lock the file at ``path``, and retry if another process has just removed it."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            message = f"cannot write to {path.parent}: {error.strerror}"
            raise UserError(message, code="E0513", help="make the folder writable") from None
        try:
            _lock(handle, path)
            if os.path.exists(path) and os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(handle, 200).decode(errors="replace") or "another process"
        message = f"{path.parent} is being trained by {holder}"
        raise UserError(message, code="E0517", help="wait until it ends, or choose another --out") from None
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
