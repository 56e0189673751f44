"""Reading a spec from a file or from standard input, whatever is in it."""

from __future__ import annotations

import os
import select
import stat
import sys
from pathlib import Path

from energyc.language.diagnostics import Source, UserError, near
from energyc.resources import shipped

LARGEST_FILE = 2_000_000
#: Seconds to wait for somebody to write to a named pipe.
WAIT = 3.0


def located(spec: str | Path) -> str | Path:
    """The path of a spec: what is given, or that of the spec which ships under this name, if nothing else has it."""
    return spec if os.path.lexists(spec) else shipped().get(str(spec), spec)


def read_source(path: str | Path) -> Source:
    """The text of a spec; ``-`` is standard input. A byte order mark is dropped, line ends are kept.

    Raises:
        UserError: the file is missing, not a file, not readable, larger than ``LARGEST_FILE`` bytes (E0901),
            or not text in UTF-8 (E0111).
    """
    if str(path) == "-":
        return decode(_standard_input(), "<stdin>")
    return decode(_bytes(Path(path)), str(path))


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise UserError("standard input is closed", code="E0901", help="give the path of a .energy file")
    try:
        return sys.stdin.buffer.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UserError(f"standard input cannot be read: {error.strerror}", code="E0901") from None


def decode(data: bytes, name: str) -> Source:
    """The source made of a file's bytes; errors as ``read_source``."""
    if len(data) > LARGEST_FILE:
        message = f"{name} is larger than {LARGEST_FILE // 1_000_000} MB and cannot be a spec"
        raise UserError(message, code="E0901", help="give a .energy file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_text(name, data, error.start, "is not UTF-8") from None
    if "\0" in text:
        raise _not_text(name, data, data.index(b"\0"), "is a NUL")
    return Source(name, text)


def _bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise UserError(f"{path} is a folder, not a spec", code="E0901", help="give the path of a .energy file")
        with open(path, "rb", opener=_opened) as file:
            return file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise UserError(f"there is no file {path}", code="E0901", help=_near(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise UserError(f"{path} cannot be read: {reason}", code="E0901") from None


def _opened(path: str, flags: int) -> int:
    """Open a file without waiting. Raises UserError for a named pipe that nobody writes to for some seconds."""
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    named = os.path.exists(os.path.realpath(path))  # a pipe of a shell, as in `<(command)`, has a writer
    if named and stat.S_ISFIFO(os.fstat(descriptor).st_mode) and not select.select([descriptor], [], [], WAIT)[0]:
        os.close(descriptor)
        message = f"{path} is a named pipe that nobody writes to"
        raise UserError(message, code="E0901", help="write to it, or give the path of a .energy file")
    os.set_blocking(descriptor, True)
    return descriptor


def _near(path: Path) -> str:
    with_suffix = path.with_name(path.name + ".energy") if path.name else path
    if with_suffix.is_file():
        return f"did you mean {with_suffix}?"
    if similar := near(str(path), shipped()):
        return f"did you mean {similar[0]}, which ships with energyc? `energyc list` names all"
    return "give the path of a .energy file, `-` for standard input, or a name of `energyc list`"


def _not_text(name: str, data: bytes, offset: int, what: str) -> UserError:
    line = data.count(b"\n", 0, offset) + 1
    column = offset - (data.rfind(b"\n", 0, offset) + 1) + 1
    return UserError(
        f"{name} is not a text: byte 0x{data[offset]:02x} at {line}:{column} {what}",
        code="E0111",
        help="a spec is plain text in UTF-8",
    )
