"""The messages where a file of a run cannot be read or written."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from energyc.files import SafePath
from energyc.language.diagnostics import Resuming, UserError, spoken

#: Bytes of the largest log that is read.
LARGEST_LOG = 2 << 30
#: The errors of a disk without room.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def read_log(path: SafePath) -> list[str]:
    """Read the lines of a log, none where there is no file. Raises UserError E0511."""
    try:
        return path.read_utf8(LARGEST_LOG, errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(path, error) from None


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
        reason = "the disk is full" if error.errno in FULL else (error.strerror or str(error))
        checkpoint = f"the checkpoint of step {saved} is kept" if saved is not None else "no checkpoint was written yet"
        next_step = "then resume with: {}" if saved is not None else "then start again"
        remedy = "free some space" if error.errno in FULL else "make the folder writable"
        raise UserError(
            f"cannot write to {out}: {reason}; {checkpoint}",
            code="E0513",
            help=spoken(f"{remedy}, {next_step}", Resuming(out)),
        ) from error
