"""Tables for regression and classification: ``table(inputs = I)``, csv or text by path.

Cells are separated by comma, semicolon, tab or blanks; there may be decimal commas, and a header.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from energyc.extras import PANDAS
from energyc.language.diagnostics import Given, spoken
from energyc.running.data.arrays import ArraySplit, SplitDataset, Standardised, fixed_split, standardise, swamping_value
from energyc.running.data.errors import bad_option, malformed, wrong_size
from energyc.running.data.files import read_text
from energyc.running.data.options import OptionReader
from energyc.running.data.schema import FieldSchema, Options, Schema
from energyc.running.data.shipped import sklearn_datasets

TEST_SHARE = 0.2
LEAST_ROWS = 5
LARGEST = 1 << 16
OPTIONS = ("name", "inputs", "targets", "classes", "words")
#: The tables of scikit-learn: the number of inputs, and the classes of y (None: y is real).
SHIPPED: Mapping[str, tuple[int, int | None]] = MappingProxyType(
    {"diabetes": (10, None), "breast-cancer": (30, 2), "wine": (13, 3), "iris": (4, 3)}
)


@dataclass(frozen=True)
class Layout:
    """The layout of the table according to the spec."""

    name: str
    inputs: int
    targets: int | None  # None: y is one number and has no axis
    classes: int | None
    one_hot: bool


@dataclass(frozen=True)
class Tables:
    """``x [inputs]`` and ``y``: a number, ``[targets]`` numbers where ``targets`` is written, or one of ``classes``.

    Without a path: ``name = diabetes`` (the default), ``breast-cancer``, ``wine`` or ``iris`` of scikit-learn. With a
    path: the last columns are the targets. Columns of words are dropped, or turned into 0/1 columns by
    ``words = one-hot``; rows with missing cells are dropped; the notes report both. Inputs and real targets are
    standardised by mean and deviation of the training rows. A fixed random fifth of the rows is the test.
    """

    name: str = "table"

    def schema(self, options: Options) -> Schema:
        """Fields x, y; sizes inputs, targets, and classes where there are any."""
        return _schema(self._read(options))

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """The table; ``seed`` has no effect."""
        layout = self._read(options)
        if not PANDAS.is_found():
            raise PANDAS.missing()
        return _dataset(_shipped(layout) if path is None else read_table(path), layout)

    def _read(self, options: Options) -> Layout:
        reader = OptionReader(self.name, options, OPTIONS)
        name = reader.choice("name", "diabetes", SHIPPED)
        inputs, classes = SHIPPED[name]
        targets = reader.size("targets", 1, most=LARGEST) if reader.is_set("targets") else None
        classes = reader.size("classes", least=2, most=LARGEST) if reader.is_set("classes") else classes
        if classes and (targets or 1) != 1:
            raise bad_option(self.name, "targets", f"is {targets}", "1 where there are classes")
        inputs = reader.size("inputs", inputs, most=LARGEST)
        one_hot = reader.choice("words", "drop", ("drop", "one-hot")) == "one-hot"
        return Layout(name, inputs, None if classes else targets, classes, one_hot)


def _schema(layout: Layout) -> Schema:
    kind = FieldSchema((), "integer", layout.classes) if layout.classes else FieldSchema(_target_shape(layout))
    sizes = {"inputs": layout.inputs, "targets": layout.targets or 1}
    classes = {"classes": layout.classes} if layout.classes else {}
    return Schema({"x": FieldSchema((layout.inputs,)), "y": kind}, sizes | classes)


def _target_shape(layout: Layout) -> tuple[int, ...]:
    return () if layout.targets is None else (layout.targets,)


def _shipped(layout: Layout) -> Table:
    origin, (inputs, classes) = f"scikit-learn's {layout.name}", SHIPPED[layout.name]
    datasets = sklearn_datasets("the default tables")
    if (layout.inputs, layout.targets or 1, layout.classes) != (inputs, 1, classes):
        sizes = f"inputs = {inputs}, classes = {classes}" if classes else f"inputs = {inputs}"
        remedy = spoken(f"write {sizes}, or give your own table: {{}}", Given(None, "FILE", '"FILE"'))
        raise wrong_size(origin, f"it has {inputs} inputs and {_targets(1, classes)}", remedy)
    cells = getattr(datasets, f"load_{layout.name.replace('-', '_')}")(as_frame=True).frame
    names = tuple(map(str, cells.columns))
    return Table(origin, cells.set_axis(range(len(names)), axis=1), names)


def _targets(count: int, classes: int | None) -> str:
    return f"a target in {classes} classes" if classes else f"{count} target{'s' if count > 1 else ''}"


def _dataset(table: Table, layout: Layout) -> SplitDataset:
    """The table's last columns as targets, the others as inputs, without rows with missing cells. Raises UserError."""
    from pandas import get_dummies

    rest = table.cells.iloc[:, :-1] if layout.classes else table.cells
    numeric = list(rest.select_dtypes("number"))
    words = list(rest.columns.difference(numeric, sort=False))
    encoded = words if layout.one_hot else []
    targets = 0 if layout.classes else layout.targets or 1
    inputs = numeric[: max(len(numeric) - targets, 0)]
    outputs = [table.cells.columns[-1]] if layout.classes else numeric[len(inputs) :]
    used = table.cells[[*inputs, *encoded, *outputs]].dropna()
    width = len(inputs) + sum(used[column].nunique() for column in encoded)
    if width != layout.inputs or len(numeric) < targets or not numeric:
        raise _misfit(table, layout, len(numeric), width)
    if len(used) < LEAST_ROWS:
        raise malformed(table.origin, f"{len(used)} complete rows", f"at least {LEAST_ROWS} rows", REMEDY)
    notes = []
    if words and not layout.one_hot:
        notes.append(f"columns of words dropped: {', '.join(table.names[column] for column in words)}")
    if len(used) < len(rest):
        notes.append(f"{len(rest) - len(used)} of {len(rest)} rows dropped: missing cells")
    train, test = fixed_split(len(used), TEST_SHARE)
    notes.append("fixed random split, 80 / 20")
    x = _standardised(table, get_dummies(used[[*inputs, *encoded]], columns=encoded, dtype=float), train).values
    if layout.classes:
        y = _classes(table, used[outputs[0]], layout.classes)
    else:
        standard = _standardised(table, used[outputs], train)
        y = standard.values.reshape(len(used), *_target_shape(layout))
        mean, deviation = _row(standard.mean), _row(standard.deviation)
        notes.append(f"y is standardised: mean {mean}, deviation {deviation} in the file's units")
    parts = [ArraySplit({"x": x[rows], "y": y[rows]}) for rows in (train, test)]
    return SplitDataset(_schema(layout), table.origin, parts[0], parts[1], tuple(notes))


def _misfit(table: Table, layout: Layout, numeric: int, width: int) -> Exception:
    if not numeric:
        return malformed(table.origin, "no column of numbers", EXPECTED, REMEDY)
    wanted = f"inputs = {layout.inputs} and {_targets(layout.targets or 1, layout.classes)}"
    problem = f"{width} columns are left for x where the spec says {wanted}"
    if width > 0:
        return wrong_size(table.origin, problem, inputs=width)
    return wrong_size(table.origin, problem, "give a table with more columns")


def _classes(table: Table, label: Any, classes: int) -> np.ndarray:
    """The values of the label, numbered in order: numbers by size, words alphabetically."""
    from pandas import factorize

    codes, kinds = factorize(label, sort=True)
    if len(kinds) > classes:
        name = table.names[label.name]
        problem = f"its last column, {name}, has {len(kinds)} different values, more than classes = {classes}"
        raise wrong_size(table.origin, problem, ", or leave classes out for a real target", classes=len(kinds))
    return np.asarray(codes, np.int64)


def _standardised(table: Table, columns: Any, train: np.ndarray) -> Standardised:
    values = columns.to_numpy(float)
    standard = standardise(values, train)
    place = swamping_value(values, standard.values)
    if place is not None:
        problem = f"{values[place]:g} is so far from the other values of its column that they become equal"
        origin = f"{table.origin}:{columns.index[place[0]]}"
        raise malformed(origin, problem, "values of one scale", "repair the value or remove its row")
    return standard


def _row(values: np.ndarray) -> str:
    return ", ".join(f"{value:.6g}" for value in values)


# ------------------------------------------------------------------ reading a file

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
