"""Reading a data file into memory: regular files only, up to a stated size, unpacked where it is gzipped."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from energyc.data.errors import folder_not_file, malformed, missing_file

LARGEST_FILE = 2 << 30  # bytes of a file, after unpacking


def check_regular(path: Path, expected: str, remedy: str) -> None:
    """Raise ``UserError`` unless ``path`` is a regular file: opening a pipe or a device may block for ever."""
    if path.is_dir():
        raise folder_not_file(str(path), expected, remedy)
    if not path.exists():
        raise missing_file(str(path), expected, remedy)
    if not path.is_file():
        raise malformed(str(path), "a pipe, socket or device, not a regular file", expected, remedy)


def read_bytes(path: Path, expected: str, remedy: str, *, most: int | None = None) -> bytes:
    """The content of a regular file, unpacked if its name ends in ``.gz``; at most ``most`` (``LARGEST_FILE``) bytes.

    Raises ``UserError`` where it is missing, unreadable, larger than that, or broken gzip.
    """
    check_regular(path, expected, remedy)
    limit = LARGEST_FILE if most is None else most
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(limit + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise malformed(str(path), "the gzip stream is broken or cut off", expected, remedy) from None
    except OSError:
        raise missing_file(str(path), expected, remedy) from None
    if len(data) > limit:
        raise malformed(str(path), f"larger than {limit >> 20:,} MiB", expected, remedy)
    return data


def read_text(path: Path, expected: str, remedy: str) -> str:
    """A text in UTF-8, or Latin-1 where it is not, with its line ends made ``\\n``; raises ``UserError``."""
    data = read_bytes(path, expected, remedy)
    if not data or b"\0" in data:
        raise malformed(str(path), "binary, not text" if data else "empty", expected, remedy)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")
