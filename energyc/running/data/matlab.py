"""Arrays of numbers in MATLAB's version 5 files ("MAT-File Format", The MathWorks; what save -v6 and -v7 write).

A file is a head of 128 bytes, then elements: a type, a length, and a content, which may be a zlib stream. An element of
type matrix holds elements again: its class, its shape, its name, its numbers; of a sparse one the rows, the
columns' starts, and the numbers. Nothing else is read: cells, structs and objects are refused by name. scipy.io reads
all of these, and a damaged file can crash its process.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from energyc.running.data import files
from energyc.running.data.errors import malformed

HEAD, TAG = 128, 8
MATRIX, COMPRESSED = 14, 15
ORDERS = MappingProxyType({b"IM": "<", b"MI": ">"})
NUMBERS = MappingProxyType(
    {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
)  # NumPy's types by the types of elements
SPARSE, DENSE = 5, range(6, 16)  # the classes of matrices that hold numbers
OTHERS = MappingProxyType({1: "a cell", 2: "a struct", 3: "an object", 4: "text", 16: "a function", 17: "an object"})
COMPLEX = 0x08
EXPECTED = "a MATLAB file of version 5 to 7 that holds arrays of numbers"
REMEDY = "in MATLAB: save('graph.mat', 'Network', 'Attributes', 'Label', '-v7')"


@dataclass(frozen=True)
class Sparse:
    """A sparse matrix: its entries ``values`` ``[n]`` at ``rows`` and ``columns`` ``[n]``, within its shape."""

    shape: tuple[int, int]
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    @property
    def dtype(self) -> np.dtype:
        """That of the values."""
        return self.values.dtype

    def nonzero(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries that are not 0."""
        there = self.values != 0
        return self.rows[there], self.columns[there]

    def toarray(self) -> np.ndarray:
        """The same, dense; an entry that is there twice counts twice."""
        dense = np.zeros(self.shape)
        np.add.at(dense, (self.rows, self.columns), self.values)
        return dense


Array: TypeAlias = "np.ndarray | Sparse"


def read_matlab(path: Path, names: Collection[str]) -> dict[str, Array]:
    """The arrays of these names that a file holds, dense or sparse; raises ``UserError``.

    At most ``LARGEST_FILE`` bytes are unpacked. A name that is there and is not an array of real numbers is refused.
    """
    content = files.read_bytes(path, EXPECTED, REMEDY)
    if content[:8] == b"\x89HDF\r\n\x1a\n" or content[:19] == b"MATLAB 7.3 MAT-file":
        raise malformed(str(path), "a MATLAB file of version 7.3 (HDF5)", EXPECTED, REMEDY)
    if len(content) < HEAD or content[126:128] not in ORDERS:
        raise malformed(str(path), "not a MATLAB file of version 5", EXPECTED, REMEDY)
    order = ORDERS[content[126:128]]
    arrays: dict[str, Array] = {}
    try:
        for matrix in _matrices(content, order):
            name, array = _named(matrix, order, names)
            if array is not None:
                arrays[name] = array
    except _Broken as error:
        raise malformed(str(path), str(error), EXPECTED, REMEDY) from None
    return arrays


class _Broken(Exception):
    """The error for a file that cannot be read."""


def _matrices(content: bytes, order: str) -> Iterator[memoryview]:
    """The content of each matrix at the top level, unpacked; at most ``LARGEST_FILE`` bytes in all."""
    room = files.LARGEST_FILE
    for kind, element in _elements(memoryview(content)[HEAD:], order, padded=False):
        if kind == COMPRESSED:
            inner = _unpacked(element, room)
            room -= len(inner)
            yield from (held for kind, held in _elements(memoryview(inner), order) if kind == MATRIX)
        elif kind == MATRIX:
            yield element


def _unpacked(element: memoryview, room: int) -> bytes:
    try:
        content = zlib.decompressobj().decompress(element, room + 1)
    except zlib.error:
        raise _Broken("a zlib stream in it is broken") from None
    if len(content) > room:
        raise _Broken(f"unpacks to more than {files.LARGEST_FILE >> 20:,} MiB")
    return content


def _elements(view: memoryview, order: str, padded: bool = True) -> Iterator[tuple[int, memoryview]]:
    """The type and the content of each element; a content of up to 4 bytes may stand within the tag."""
    at = 0
    while at + TAG <= len(view):
        kind, length = (int(number) for number in np.frombuffer(view[at : at + TAG], f"{order}u4"))
        start = at + TAG
        if kind >> 16:
            kind, length, start = kind & 0xFFFF, kind >> 16, at + 4
        if start + length > len(view) or (start == at + 4 and length > 4):
            raise _Broken("cut off, or its lengths are wrong")
        yield kind, view[start : start + length]
        at = at + TAG if start == at + 4 else start + length + (-length % TAG if padded else 0)


def _named(matrix: memoryview, order: str, names: Collection[str]) -> tuple[str, Array | None]:
    """The name of a matrix, and its numbers if the name is among those wanted."""
    parts = _elements(matrix, order)
    flags, shape, name_bytes = (_numbers(next(parts, None), order) for _ in range(3))
    name = name_bytes.astype(np.uint8).tobytes().decode("latin-1")
    if name not in names:
        return name, None
    if len(flags) < 2 or len(shape) < 2 or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise _Broken(f"{name} has no valid shape")
    kind, complex_numbers = int(flags[0]) & 0xFF, bool(int(flags[0]) >> 8 & COMPLEX)
    if kind != SPARSE and kind not in DENSE:
        raise _Broken(f"{name} is {OTHERS.get(kind, 'of an unknown class')}, not an array of numbers")
    if complex_numbers:
        raise _Broken(f"{name} is complex, not an array of real numbers")
    read = _sparse if kind == SPARSE else _dense
    return name, read(name, [int(size) for size in shape], parts, order)


def _numbers(element: tuple[int, memoryview] | None, order: str) -> np.ndarray:
    """The numbers of an element, in the type that they are stored in."""
    kind, content = element or (0, memoryview(b""))
    if kind not in NUMBERS or len(content) % int(NUMBERS[kind][1]):
        raise _Broken("cut off, or its lengths are wrong")
    return np.frombuffer(content, order + NUMBERS[kind])


def _dense(name: str, shape: list[int], parts: Iterator[tuple[int, memoryview]], order: str) -> np.ndarray:
    values, count = _numbers(next(parts, None), order), 1
    for size in shape:  # in Python's integers, which do not overflow
        count *= size
    if len(values) != count:
        raise _Broken(f"{name} has {len(values):,} numbers, and the shape {shape}")
    return values.reshape(shape, order="F")


def _sparse(name: str, shape: list[int], parts: Iterator[tuple[int, memoryview]], order: str) -> Sparse:
    rows, starts, values = (_numbers(next(parts, None), order) for _ in range(3))
    if len(shape) != 2 or len(starts) != shape[1] + 1 or rows.dtype.kind == "f" or starts.dtype.kind == "f":
        raise _Broken(f"the sparse matrix {name} is broken")
    starts = starts.astype(np.int64)
    count = int(starts[-1])
    valid = starts[0] == 0 and (np.diff(starts) >= 0).all() and count <= min(len(rows), len(values))
    if not valid or (count and not 0 <= int(rows[:count].min()) <= int(rows[:count].max()) < shape[0]):
        raise _Broken(f"the sparse matrix {name} is broken")
    columns = np.repeat(np.arange(shape[1]), np.diff(starts))
    return Sparse((shape[0], shape[1]), rows[:count].astype(np.int64), columns, values[:count])
