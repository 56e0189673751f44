"""Faults at the file operations of ``energyc.files``, in a child of a test alone: the n-th one kills it, or fails.

``python -m tests.fuzz.injection kill 12 train SPEC ...`` is ``energyc train SPEC ...``, killed at its 12th operation.
Of several ranks the first is, which writes the folder, unless ``FAULTY_RANK`` names another.
"""

from __future__ import annotations

import builtins
import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from energyc import files

#: ``kill``: SIGKILL, in the middle of a write. ``full``: from here on nothing is written. ``broken``: one I/O error.
Fault = Literal["none", "kill", "full", "broken"]
FAULTS: tuple[Fault, ...] = ("kill", "full", "broken")
LOOKS = ("open", "stat", "lstat", "fstat", "listdir", "scandir", "access", "read")
CHANGES = ("create", "write", "replace", "unlink", "rmdir", "mkdir", "fsync")
#: What needs room on a disk.
ROOM = ("create", "write", "mkdir", "fsync")
#: The operations at which a fault makes a difference: a process that is killed before it looks had not yet looked.
WHERE: dict[Fault, tuple[str, ...]] = {"none": (), "kill": CHANGES, "full": ROOM, "broken": (*LOOKS, *CHANGES)}


@dataclass
class Faults:
    """Counts operations, and lets the one of number ``at`` go wrong."""

    fault: Fault
    at: int
    count: int = 0
    seen: list[str] = field(default_factory=list)

    def pass_by(self, operation: str, unfinished: Callable[[], object] = lambda: None) -> None:
        """Count an operation that is about to be done. Raises OSError where it is to fail.

        ``unfinished`` does the half of it.
        """
        self.count += 1
        self.seen.append(operation)
        if self.fault == "kill" and self.count == self.at:
            unfinished()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "broken" and self.count == self.at:
            unfinished()
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.fault == "full" and self.count >= self.at and operation in ROOM:
            unfinished()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Module:
    """A module whose operations are counted."""

    def __init__(self, module: Any, faults: Faults) -> None:
        self._module, self._faults = module, faults

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if name not in (*LOOKS, *CHANGES):
            return value

        def counted(*arguments: Any, **options: Any) -> Any:
            creates = name == "open" and len(arguments) > 1 and arguments[1] & os.O_CREAT
            self._faults.pass_by("create" if creates else name)
            # A process that is killed takes nothing from the system's memory, and to wait for the disk takes most time.
            return None if name == "fsync" else value(*arguments, **options)

        return counted


class File:
    """An open file whose writes are counted; one that goes wrong has written the half."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file, self._faults = file, faults

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, content: bytes) -> None:
        def half() -> None:
            self._file.write(content[: len(content) // 2])
            self._file.flush()

        self._faults.pass_by("write", half)
        self._file.write(content)

    def read(self, *most: int) -> bytes:
        self._faults.pass_by("read")
        return bytes(self._file.read(*most))


def install(faults: Faults) -> None:
    """Let operations of ``energyc.files`` in this process go wrong, for the rest of its life."""

    def opened(*arguments: Any, **options: Any) -> File:
        return File(builtins.open(*arguments, **options), faults)

    files.os = shutil.os = Module(os, faults)  # type: ignore[attr-defined, assignment]
    files.open = opened  # type: ignore[attr-defined]


def main() -> int:
    """Run a command of energyc with a fault."""
    from energyc.surfaces.cli.main import main as energyc

    fault, at, *command = sys.argv[1:]
    assert fault in get_args(Fault)
    if os.environ.get("RANK", "0") == os.environ.get("FAULTY_RANK", "0"):
        install(Faults(fault, int(at)))
    return energyc(command)


if __name__ == "__main__":
    sys.exit(main())
