"""Reading a table: cells separated by comma, semicolon, tab or blanks, decimal commas, a header or none."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from energyc.running.data.errors import malformed
from energyc.running.data.files import read_text

EXPECTED = "a table of numbers: one row a line, cells separated by comma, semicolon, tab or blanks"
REMEDY = "give a csv or text file of numbers, with or without a header"
ABSENT = ("", "na", "nan", "n/a", "null", "none", "?")
TEXT_SHARE = 0.05  # fewer words than this in a column of numbers are a mistake


@dataclass(frozen=True)
class Table:
    """A ``DataFrame`` of columns of numbers and of words; its columns are counted, its rows are named by their lines.

    A missing cell is NaN. ``names`` are those of the columns.
    """

    origin: str
    cells: Any
    names: tuple[str, ...]


def read_table(path: str) -> Table:
    """The columns of a file; raises ``UserError`` if it is not a table."""
    from pandas import DataFrame, Series, to_numeric

    text = read_text(Path(path), EXPECTED, REMEDY)
    lines = {number: line for number, line in enumerate(text.split("\n"), 1) if line.strip(" \t,;")}
    if not lines:
        raise malformed(path, "empty", EXPECTED, REMEDY)
    delimiter = _delimiter(next(iter(lines.values())))
    rows = {number: _cells(f"{path}:{number}", line, delimiter) for number, line in lines.items()}
    first = next(iter(rows.values()))
    for number, row in rows.items():
        if len(row) != len(first):
            problem = f"{len(row)} cells where the first row has {len(first)}"
            raise malformed(f"{path}:{number}", problem, EXPECTED, REMEDY)
    cells = np.array(list(rows.values()), object)
    texts = Series(cells.ravel())
    points = texts.str.replace(",", ".", regex=False) if delimiter in (";", "\t") else texts
    numbers = to_numeric(points, errors="coerce").to_numpy(float).reshape(cells.shape)
    absent = texts.str.lower().isin(ABSENT).to_numpy().reshape(cells.shape)
    head = 0 if np.isfinite(numbers[0]).any() else 1
    names = tuple((head and name) or f"column {number}" for number, name in enumerate(first, 1))
    strays = ~np.isfinite(numbers[head:]) & ~absent[head:]
    places = list(rows)[head:]
    if not places:
        raise malformed(path, "no row of numbers", EXPECTED, REMEDY)
    for column in np.flatnonzero(strays.any(0) & (strays.mean(0) < TEXT_SHARE)).tolist():
        at = int(strays[:, column].argmax())
        problem = f"{cells[head + at, column][:40]!r} in {names[column]} is not a number"
        raise malformed(f"{path}:{places[at]}", problem, "a number as in the other rows", REMEDY)
    words = cells[head:]
    words[words == ""] = None
    columns = {k: words[:, k] if strays[:, k].any() else numbers[head:, k] for k in range(len(names))}
    return Table(path, DataFrame(columns, index=places), names)


def _delimiter(line: str) -> str | None:
    """The character between cells; None for blanks (which may be mixed with tabs)."""
    found = next((mark for mark in ";," if mark in line), None)
    return "\t" if found is None and "\t" in line and " " not in line.strip() else found


def _cells(place: str, line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
    except csv.Error as error:
        raise malformed(place, str(error), EXPECTED, REMEDY) from None
