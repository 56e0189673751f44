"""Results of the compiler that another process finds again: plain data in the cache, by all that they follow from.

A result follows from the texts that it is asked for by, from the source of the compiler, and from the versions of
Python and of the libraries that the compiler computes with. Data are read back by the types that are expected of them,
and are used only if they are what this user kept (docs/security.md).

Imports: ``files``, ``resources``, ``version``.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from energyc.files import SafePath, cache_folder, keep_in_cache, kept_in_cache
from energyc.resources import folder
from energyc.version import BEGAN, __version__

T = TypeVar("T")
#: The ending of a file that keeps a result, and how many of these stay.
ENDING, MOST = ".result", 256
#: The libraries with which the compiler reads specs and computes with numbers.
LIBRARIES = frozenset({"lark", "mpmath", "numpy", "scipy"})


def known(kind: type[T], follows_from: Sequence[str], make: Callable[[], T]) -> T:
    """A result of a type, found or made: of a dataclass the fields that compare.

    It is made anew where one of the texts that it ``follows_from`` is empty. It is kept if what is
    read back is equal.
    """
    place = _place(kind, follows_from)
    if place is None:
        return make()
    found = kept_in_cache(place)
    if found is not None:
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            made: T = from_data(kind, json.loads(found[1]))
            return made
    made = make()
    _keep(kind, place, made)
    return made


def _place(kind: type[object], follows_from: Sequence[str]) -> SafePath | None:
    """The file of a result; None where it is to be made anew, as the environment variable ``ENERGYC_FRESH`` asks."""
    if os.environ.get("ENERGYC_FRESH") or not all(follows_from) or not (compiler := compiler_identity()):
        return None
    texts = json.dumps([kind.__qualname__, compiler, *follows_from])
    with suppress(OSError):  # there is not even a folder for temporary files
        return cache_folder() / f"{hashlib.sha256(texts.encode()).hexdigest()[:32]}{ENDING}"
    return None


def _keep(kind: type[object], place: SafePath, made: object) -> None:
    """Write a result where the next process finds it, if it can be written, in the place of the oldest ones."""
    with suppress(OSError, ValueError, TypeError, RecursionError):
        text = json.dumps(as_data(made))
        if from_data(kind, json.loads(text)) == made:
            keep_in_cache(place, text.encode())
            place.parent.keep_newest(f"*{ENDING}", MOST)


# -------------------------------------------------------------------- what tells the compiler from others


@cache
def compiler_identity() -> str:
    """The compiler as it is in this process: its source, its version, and those of Python and the libraries.

    Empty where its source was written after this process began, and may not be what runs in it.
    """
    digest, package = hashlib.sha256(), Path(__file__).parent
    for path in (*_files(package, ".py"), *_files(folder("grammar")), *_files(folder("codegen"))):
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_mtime >= BEGAN:
                return ""
            digest.update(f"{path.name}\0".encode() + file.read() + b"\0")
    return "\n".join([__version__, digest.hexdigest(), sys.version, *sorted(_libraries())])


def _files(root: Path, ending: str = "") -> Iterator[Path]:
    """The files below a folder, in order."""
    with os.scandir(root) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir() and entry.name != "__pycache__":
                yield from _files(Path(entry.path), ending)
            elif entry.name.endswith(ending) and entry.is_file():
                yield Path(entry.path)


def _libraries() -> Iterator[str]:
    """The installed versions of the libraries, as the names of their metadata."""
    for place in filter(os.path.isdir, sys.path):
        for name in os.listdir(place):
            if name.endswith(".dist-info") and name.partition("-")[0] in LIBRARIES:
                yield name


# -------------------------------------------------------------------- plain data


def as_data(value: object) -> Any:
    """A value in numbers, texts, lists and dicts by text. Raises TypeError for one that is of anything else."""
    if isinstance(value, str | int | float | NoneType):
        return value
    if isinstance(value, list | tuple):
        return [as_data(item) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: as_data(item) for key, item in value.items()}
    if is_dataclass(value):
        return {field.name: as_data(getattr(value, field.name)) for field in fields(value) if field.compare}
    raise TypeError(f"no plain data: {type(value).__name__}")


def from_data(kind: Any, data: Any) -> Any:
    """The value of a type from its data. Raises ValueError, KeyError, TypeError where they are not of it."""
    origin, kinds = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (inner,) = (each for each in kinds if each is not NoneType)
        return None if data is None else from_data(inner, data)
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(data, dict):
        hints = _hints(kind)
        return kind(**{name: from_data(hints[name], item) for name, item in data.items()})
    if origin is tuple:
        inner_kinds = [kinds[0]] * len(data) if kinds[-1] is ... else kinds
        return tuple(from_data(inner, item) for inner, item in zip(inner_kinds, data, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(data, dict):
        return {key: from_data(kinds[1], item) for key, item in data.items()}
    if (kind in (str, bool, int) and isinstance(data, kind)) or kind in (float, Any) or origin is Literal:
        return data
    raise TypeError(f"{data!r} is no {kind}")


@cache
def _hints(kind: type[object]) -> dict[str, Any]:
    return get_type_hints(kind)


def told_apart(*values: object) -> str:
    """A text that is the same for the same values alone; empty for values that have none.

    Of a dataclass the fields that compare tell it apart.
    """
    try:
        return json.dumps([_described(value) for value in values])
    except TypeError:
        return ""


def _described(value: object) -> Any:
    """A value with the types in it, as data. Raises TypeError for one that is not made of plain values."""
    kind = type(value).__qualname__
    if isinstance(value, float):
        return ["float", repr(float(value))]
    if isinstance(value, str | int | Fraction | NoneType):
        return [kind, str(value)]
    if isinstance(value, list | tuple):
        return [kind, *map(_described, value)]
    if isinstance(value, Mapping):
        return [kind, *([_described(key), _described(item)] for key, item in value.items())]
    if is_dataclass(value):
        compared = (field.name for field in fields(value) if field.compare)
        return [kind, *([name, _described(getattr(value, name))] for name in compared)]
    raise TypeError(f"no plain value: {kind}")
