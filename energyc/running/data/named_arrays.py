"""Arrays of one's own in an npz, each by the name of the input that it feeds, or by a name that is mapped to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from energyc.language.diagnostics import Mapped, UserError, listed, near, spoken
from energyc.running.data.errors import malformed
from energyc.running.data.files import Held, held_in, open_npz
from energyc.running.data.schema import DTYPES, FieldSchema, Schema

#: The most arrays that a message names.
MOST_NAMED = 12
REMEDY = "write it by numpy.savez(PATH, x=..., label=...)"


def held_by(path: str | PathLike[str]) -> dict[str, Held]:
    """The arrays of an npz, none where the path is no npz. Raises UserError for a broken one."""
    place = Path(path)
    if place.suffix.lower() != ".npz" or not place.is_file():
        return {}
    with open_npz(place, "an npz of arrays of numbers", REMEDY) as arrays:
        return held_in(arrays)


def read_arrays(path: str, wanted: Schema, names: Mapping[str, str]) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """The array of each field that is ``wanted``, and the names of the others; ``names`` are those that differ.

    Raises UserError E0913, E0914: no such file, no npz, arrays that are missing or are not numbers.
    """
    with open_npz(Path(path), f"an npz with an array for each input: {described(wanted)}", REMEDY) as arrays:
        held = held_in(arrays)
        sources = {field: names.get(field, field) for field in wanted.fields}
        if absent := [source for source in sources.values() if source not in held]:
            raise lacking(path, absent, held, wanted, names)
        for source in sources.values():
            if held[source].dtype.hasobject:
                raise malformed(path, f"{source} is {held[source]}, which are never unpickled", "numbers", REMEDY)
        read = {field: arrays[source] for field, source in sources.items()}
        return read, tuple(name for name in held if name not in sources.values())


def lacking(
    path: str, absent: Collection[str], held: Mapping[str, Held], wanted: Schema, names: Mapping[str, str]
) -> UserError:
    """The error E0914 for arrays that are not there: what is there, what is wanted, and what may feed what."""
    message = f"{path} has no array {listed(absent, 'or')}: it holds {shown(held)}; the inputs are {described(wanted)}"
    known = {name: array for name, array in names.items() if array in held}
    found = known | suggested(wanted, held, names)
    mapping = {name: found[name] for name in wanted.fields if name in found}
    complete = all(name in mapping or (name in held and name not in names) for name in wanted.fields)
    if not complete:
        mapping = {name: mapping.get(name, "ARRAY") for name in wanted.fields}
    text = "perhaps {}" if complete else "name the array of each input: {}"
    return UserError(message, code="E0914", help=spoken(text, Mapped(mapping)))


def suggested(wanted: Schema, held: Mapping[str, Held], names: Mapping[str, str]) -> dict[str, str]:
    """The arrays that may feed inputs which have none, by shape, type and name; those with fewest choices first."""
    absent = {field: about for field, about in wanted.fields.items() if names.get(field, field) not in held}
    fitting = {field: [name for name in held if fits(held[name], about)] for field, about in absent.items()}
    found: dict[str, str] = {}
    for field in sorted(fitting, key=lambda field: len(fitting[field])):
        left = [name for name in fitting[field] if name not in found.values()]
        if left:
            found[field] = near(field, left)[0] if near(field, left) else left[0]
    return {field: found[field] for field in absent if field in found}


def fits(held: Held, field: FieldSchema) -> bool:
    """Whether an array ``[samples, ...]`` may feed a field: its type, and the sizes that are not 1, or all in a row."""
    own = [size for size in held.shape[1:] if size != 1]
    rows = len(field.shape) == 1 and int(np.prod(own, dtype=object)) == field.shape[0]
    same = own == [size for size in field.shape if size != 1] or rows
    return bool(held.shape) and same and held.dtype.kind in ("biu" if field.kind == "integer" else "biuf")


def described(wanted: Schema) -> str:
    """``x float32 [samples, 64], label int64 [samples] from 0 to 9``."""
    return ", ".join(_field(name, field) for name, field in wanted.fields.items())


def _field(name: str, field: FieldSchema) -> str:
    values = "" if field.classes is None else f" from 0 to {field.classes - 1}"
    return f"{name} {DTYPES[field.kind]} [{', '.join(map(str, ('samples', *field.shape)))}]{values}"


def shown(held: Mapping[str, Held]) -> str:
    """``X float64 [50, 64], y int64 [50]``: the arrays of an npz, up to ``MOST_NAMED``."""
    named: Iterable[str] = (f"{name} {about}" for name, about in list(held.items())[:MOST_NAMED])
    more = f" and {len(held) - MOST_NAMED:,} more" if len(held) > MOST_NAMED else ""
    return (", ".join(named) or "nothing") + more
