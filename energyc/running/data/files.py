"""Reading a data file into memory: regular files only, up to a stated size, unpacked where it is compressed."""

from __future__ import annotations

import gzip
import io
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np

from energyc.language.diagnostics import is_out_of_memory
from energyc.running.data.errors import malformed, missing_file

LARGEST_FILE = 2 << 30  # bytes of a file, after unpacking
_PIECE = 1 << 20  # bytes read at once
# raised for a bad zip, an unknown compression, an encrypted member or a false header
UNREADABLE = (OSError, ValueError, TypeError, EOFError, RuntimeError, BadZipFile, zlib.error)


@dataclass(frozen=True)
class Held:
    """Shape and type of an array in an npz, as its header says."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def __str__(self) -> str:
        return f"{'objects' if self.dtype.hasobject else self.dtype} [{', '.join(map(str, self.shape))}]"


def check_regular(path: Path, expected: str, remedy: str) -> None:
    """Raise ``UserError`` unless ``path`` is a regular file: opening a pipe or a device may block for ever."""
    if path.is_dir() or not path.exists():
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
            data = _up_to(limit + 1, file)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise malformed(str(path), "the gzip stream is broken or cut off", expected, remedy) from None
    except OSError as error:
        if is_out_of_memory(error):
            raise
        raise missing_file(str(path), expected, remedy) from None
    if len(data) > limit:
        raise malformed(str(path), f"larger than {limit >> 20:,} MiB", expected, remedy)
    return data


def _up_to(most: int, file: IO[bytes] | gzip.GzipFile) -> bytes:
    """At most so many bytes, taken piece by piece: ``read(most)`` would allocate ``most`` bytes for a short file."""
    content = io.BytesIO()
    while piece := file.read(min(_PIECE, most - content.tell())):
        content.write(piece)
    return content.getvalue()


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


@contextmanager
def open_zip(path: Path, expected: str, remedy: str) -> Iterator[ZipFile]:
    """A zip, whose members are read within this context and together unpack to at most ``LARGEST_FILE``.

    Raises ``UserError``. No member is ever extracted, so the names of members reach no file system.
    """
    check_regular(path, expected, remedy)
    try:
        with ZipFile(path) as archive:
            _check_unpacked(path, archive, expected, remedy)
            yield archive
    except UNREADABLE as error:
        if is_out_of_memory(error):
            raise
        raise malformed(str(path), f"not a valid zip ({error})", expected, remedy) from None


@contextmanager
def open_npz(path: Path, expected: str, remedy: str) -> Iterator[np.lib.npyio.NpzFile]:
    """An npz of numbers, whose arrays are read within this context; raises ``UserError``. Pickles are never loaded."""
    check_regular(path, expected, remedy)
    try:
        _check_npz(path, expected, remedy)
        with np.load(path, allow_pickle=False) as arrays:
            _check_unpacked(path, arrays.zip, expected, remedy)
            held_in(arrays)
            yield arrays
    except UNREADABLE as error:
        if is_out_of_memory(error):
            raise
        raise malformed(str(path), f"not a valid npz of numbers ({error})", expected, remedy) from None


def _check_npz(path: Path, expected: str, remedy: str) -> None:
    """Raise ``UserError`` for a file that does not begin as a zip does, which NumPy would take for something else."""
    with path.open("rb") as file:
        start = file.read(len(np.lib.format.MAGIC_PREFIX))
    if not start.startswith(b"PK"):
        problem = "a single array, not an npz" if start == np.lib.format.MAGIC_PREFIX else "not an npz"
        raise malformed(str(path), problem, expected, remedy)


def held_in(arrays: np.lib.npyio.NpzFile) -> dict[str, Held]:
    """The shape and type of each array of an npz, without its numbers.

    Raises ValueError for a header that claims more or fewer bytes than its member has: NumPy would allocate them.
    """
    assert arrays.zip is not None
    members = [member for member in arrays.zip.infolist() if member.filename.endswith(".npy")]
    return {member.filename.removesuffix(".npy"): _held(arrays.zip, member) for member in members}


def _held(archive: ZipFile, member: ZipInfo) -> Held:
    with archive.open(member) as file:
        try:
            shape, _, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
        except Exception:  # NumPy reads a header by Python's tokenizer and parser, which may raise anything
            raise ValueError(f"{member.filename} has no header that NumPy reads") from None
        size = math.prod(shape) * dtype.itemsize
        if not dtype.hasobject and file.tell() + size != member.file_size:
            raise ValueError(f"{member.filename} has {member.file_size:,} bytes, not those of {dtype} {list(shape)}")
    return Held(shape, dtype)


_HEADERS = MappingProxyType({(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0})


def _check_unpacked(path: Path, archive: ZipFile, expected: str, remedy: str) -> None:
    """Raise ``UserError`` for too large a zip; ``zipfile`` unpacks no more of a member than it declares."""
    if sum(member.file_size for member in archive.infolist()) > LARGEST_FILE:
        raise malformed(str(path), f"unpacks to more than {LARGEST_FILE >> 20:,} MiB", expected, remedy)
