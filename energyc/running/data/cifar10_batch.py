"""The two layouts in which CIFAR-10 is published (cs.toronto.edu/~kriz/cifar.html): binary records and pickles.

A pickle is a program that builds objects. It is not run here: ``pickletools`` splits it into opcodes, their
literals (numbers and strings) are listed in order, and the list is compared with that of a batch. Nothing is imported,
called or built on the way.
"""

from __future__ import annotations

import pickletools
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np

CLASSES, PIXELS = 10, 3 * 32 * 32
RECORD = 1 + PIXELS  # a label and an image in the binary version
LARGEST_BATCH = 64 << 20  # bytes; a published batch has 31 million

Literal: TypeAlias = int | float | bytes | None
Batch: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Images ``[n, 3072]`` uint8 and labels ``[n]`` int64."""

# opcodes that only say how literals are nested
NESTING = frozenset(
    "PROTO FRAME MARK EMPTY_DICT EMPTY_LIST TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS SETITEM SETITEMS REDUCE BUILD "
    "STACK_GLOBAL STOP".split()
)
CONSTANTS: dict[str, Literal] = {"NONE": None, "NEWFALSE": 0, "NEWTRUE": 1}
# how Python 3 writes a byte string in protocol 2: _codecs.encode(text, "latin1")
BYTES_AS_TEXT = (b"_codecs", b"encode", b"latin1")
# a pickled array of uint8 up to its order and bytes; ... stands for NumPy's package, n, and a version
ARRAY: tuple[Any, ...] = (..., b"_reconstruct", b"numpy", b"ndarray", 0, b"b", 1, ..., PIXELS)
ARRAY += (b"numpy", b"dtype", b"u1", 0, 1, ..., b"|", None, None, None, -1, -1, 0)


def read_binary(data: bytes) -> Batch:
    """A batch of the binary version; raises ``ValueError``."""
    if not data or len(data) % RECORD:
        raise ValueError(f"{len(data)} bytes are not whole records of {RECORD}")
    records = np.frombuffer(data, np.uint8).reshape(-1, RECORD)
    return records[:, 1:], _labels(records[:, 0].tolist())


def read_pickle(data: bytes) -> Batch:
    """A batch of the python version, as published or as Python 3 writes it in protocols 2 to 4.

    Raises ``ValueError`` for any other pickle.
    """
    values = [value for value in _literals(data) if value not in BYTES_AS_TEXT]
    labels = list(takewhile(lambda value: isinstance(value, int), _following(b"labels", values)))
    return _array(_following(b"data", values)), _labels(labels)


def _literals(data: bytes) -> list[Literal]:
    """The numbers and strings of a pickle in their order, those it refers back to included."""
    values: list[Literal] = []
    memo: dict[int, list[Literal]] = {}
    argument: Any
    for opcode, argument, _ in pickletools.genops(data):
        name = opcode.name
        if name.endswith("PUT") or name == "MEMOIZE":
            memo[len(memo) if argument is None else argument] = values[-1:]
        elif name.endswith("GET"):
            values += memo.get(argument, [])
        elif name in CONSTANTS:
            values.append(CONSTANTS[name])
        elif name == "GLOBAL":
            values += argument.encode("latin-1").split(b" ")
        elif isinstance(argument, str):
            values.append(argument.encode("latin-1"))
        elif name not in NESTING:
            if not isinstance(argument, int | float | bytes):
                raise ValueError(f"it has the opcode {name}, which no batch has")
            values.append(argument)
    return values


def _following(key: bytes, values: list[Literal]) -> list[Literal]:
    if key not in values:
        raise ValueError(f"it has no {key.decode()}")
    return values[values.index(key) + 1 :]


def _array(values: Sequence[Literal]) -> np.ndarray:
    """The images ``[n, 3072]`` of the pickled array that starts ``values``."""
    same = all(known is ... or value == known for known, value in zip(ARRAY, values, strict=False))
    match values[7 : len(ARRAY) + 2]:
        case [int(count), *_, 0 | 1 as column_major, bytes(pixels)] if same and count * PIXELS == len(pixels):
            return np.frombuffer(pixels, np.uint8).reshape((count, PIXELS), order="F" if column_major else "C")
    raise ValueError(f"its data are not an array of bytes [n, {PIXELS}]")


def _labels(labels: Sequence[Any]) -> np.ndarray:
    wrong = next((label for label in labels if not 0 <= label < CLASSES), None)
    if wrong is not None:
        raise ValueError(f"it has the label {wrong}, not below {CLASSES}")
    return np.array(labels, np.int64)
