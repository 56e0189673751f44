"""Reading a table of numbers: cells separated by comma, semicolon, tab or blanks, decimal commas, a header or none."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from energyc.running.data.errors import malformed
from energyc.running.data.files import read_text

EXPECTED = "a table of numbers: one row a line, cells separated by comma, semicolon, tab or blanks"
REMEDY = "give a csv or text file of numbers, with or without a header"
ABSENT = frozenset({"", "na", "nan", "n/a", "null", "none", "?"})
TEXT_SHARE = 0.05  # fewer words than this in a column of numbers are a mistake


@dataclass(frozen=True)
class Column:
    """A column of cells, as text."""

    name: str
    cells: tuple[str, ...]
    decimal_comma: bool

    def number(self, row: int) -> float | None:
        """The number in a cell; NaN if it is missing, None if it is not a finite number."""
        cell = self.cells[row].lower()
        if cell in ABSENT:
            return math.nan
        try:
            value = float(cell.replace(",", ".") if self.decimal_comma else cell)
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    def numbers(self) -> np.ndarray | None:
        """The numbers ``[rows]`` of a numeric column, NaN where missing; None for a column of words."""
        values = [self.number(row) for row in range(len(self.cells))]
        return None if None in values else np.array(values, float)


@dataclass(frozen=True)
class Table:
    """The columns of a file, all of the same length, and the line number of each row."""

    path: str
    columns: tuple[Column, ...]
    lines: tuple[int, ...]


def read_table(path: str) -> Table:
    """The columns of a file; raises ``UserError`` if it is not a table."""
    lines = _lines(path)
    delimiter = _delimiter(lines[0][1])
    rows = [(number, _cells(path, number, line, delimiter)) for number, line in lines]
    width = len(rows[0][1])
    for number, cells in rows:
        if len(cells) != width:
            raise malformed(f"{path}:{number}", f"{len(cells)} cells where the first row has {width}", EXPECTED, REMEDY)
    decimal_comma = delimiter in (";", "\t")
    names, rows = _header(rows, decimal_comma)
    if not rows:
        raise malformed(path, "no row of numbers", EXPECTED, REMEDY)
    columns = tuple(Column(name, tuple(cells[at] for _, cells in rows), decimal_comma) for at, name in enumerate(names))
    table = Table(path, columns, tuple(number for number, _ in rows))
    _check_strays(table)
    return table


def _lines(path: str) -> list[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    text = read_text(Path(path), EXPECTED, REMEDY)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip(" \t,;")]
    if not lines:
        raise malformed(path, "empty", EXPECTED, REMEDY)
    return lines


def _delimiter(line: str) -> str | None:
    """The character between cells; None for blanks (which may be mixed with tabs)."""
    if ";" in line:
        return ";"
    if "," in line:
        return ","
    return "\t" if "\t" in line and " " not in line.strip() else None


def _cells(path: str, number: int, line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
    except csv.Error as error:
        raise malformed(f"{path}:{number}", str(error), EXPECTED, REMEDY) from None


def _header(rows: list[tuple[int, list[str]]], decimal_comma: bool) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Column names and the remaining rows; the first row is a header if none of its cells is a number."""
    cells = rows[0][1]
    numeric = [
        Column("", (cell,), decimal_comma).number(0) is not None and cell.lower() not in ABSENT for cell in cells
    ]
    if any(numeric):
        return [f"column {at}" for at in range(1, len(cells) + 1)], rows
    return [cell or f"column {at}" for at, cell in enumerate(cells, 1)], rows[1:]


def _check_strays(table: Table) -> None:
    """Raise ``UserError`` for a few words in a column of numbers: a mistake, not a column of words."""
    for column in table.columns:
        strays = [row for row in range(len(column.cells)) if column.number(row) is None]
        if 0 < len(strays) < TEXT_SHARE * len(column.cells):
            row = strays[0]
            problem = f"{column.cells[row][:40]!r} in {column.name} is not a number"
            raise malformed(f"{table.path}:{table.lines[row]}", problem, "a number as in the other rows", REMEDY)
