"""Tables for regression and classification: ``table(inputs = I)``, csv or text by path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from energyc.language.diagnostics import Given, spoken
from energyc.running.data.arrays import ArraySplit, SplitDataset, fixed_split
from energyc.running.data.errors import bad_option, malformed, wrong_size
from energyc.running.data.options import OptionReader
from energyc.running.data.schema import FieldSchema, Options, Schema
from energyc.running.data.shipped import sklearn_datasets
from energyc.running.data.standardise import Standardised, standardise, swamping_value
from energyc.running.data.table_file import EXPECTED, REMEDY, Column, Table, read_table

TEST_SHARE = 0.2
LEAST_ROWS = 5
LARGEST = 1 << 16
OPTIONS = ("name", "inputs", "targets", "classes", "words")


@dataclass(frozen=True)
class Shipped:
    """A table of scikit-learn: the number of inputs, and the classes of y (None: y is real)."""

    inputs: int
    classes: int | None


SHIPPED = {
    "diabetes": Shipped(10, None),
    "breast-cancer": Shipped(30, 2),
    "wine": Shipped(13, 3),
    "iris": Shipped(4, 3),
}


@dataclass(frozen=True)
class Layout:
    """The layout of the table according to the spec."""

    name: str
    inputs: int
    targets: int | None  # None: y is one number and has no axis
    classes: int | None
    one_hot: bool


@dataclass(frozen=True)
class Samples:
    """x ``[rows, inputs]``, y ``[rows, targets]`` or classes ``[rows]``, and the place of each row for messages."""

    origin: str
    x: np.ndarray
    y: np.ndarray
    places: Sequence[str]
    notes: Sequence[str]


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
        if path is None:
            return _open_shipped(layout)
        return _dataset(layout, _samples(read_table(path), layout))

    def _read(self, options: Options) -> Layout:
        reader = OptionReader(self.name, options, OPTIONS)
        name = reader.choice("name", "diabetes", SHIPPED)
        default = SHIPPED[name]
        targets = reader.size("targets", 1, most=LARGEST) if reader.is_set("targets") else None
        classes = reader.size("classes", least=2, most=LARGEST) if reader.is_set("classes") else default.classes
        if classes and (targets or 1) != 1:
            raise bad_option(self.name, "targets", f"is {targets}", "1 where there are classes")
        inputs = reader.size("inputs", default.inputs, most=LARGEST)
        one_hot = reader.choice("words", "drop", ("drop", "one-hot")) == "one-hot"
        return Layout(name, inputs, None if classes else targets, classes, one_hot)


def _schema(layout: Layout) -> Schema:
    kind = FieldSchema((), "integer", layout.classes) if layout.classes else FieldSchema(_target_shape(layout))
    sizes = {"inputs": layout.inputs, "targets": layout.targets or 1}
    classes = {"classes": layout.classes} if layout.classes else {}
    return Schema({"x": FieldSchema((layout.inputs,)), "y": kind}, sizes | classes)


def _target_shape(layout: Layout) -> tuple[int, ...]:
    return () if layout.targets is None else (layout.targets,)


def _open_shipped(layout: Layout) -> SplitDataset:
    loader = "load_" + layout.name.replace("-", "_")
    x, y = getattr(sklearn_datasets("the default tables"), loader)(return_X_y=True)
    origin = f"scikit-learn's {layout.name}"
    shipped = SHIPPED[layout.name]
    if layout.inputs != shipped.inputs or layout.classes != shipped.classes or (layout.targets or 1) != 1:
        raise wrong_size(origin, f"it has {shipped.inputs} inputs and {_targets(1, shipped.classes)}", _remedy(shipped))
    places = [f"{origin}, row {row}" for row in range(len(x))]
    return _dataset(layout, Samples(origin, x, y if layout.classes else y.reshape(-1, 1), places, []))


def _remedy(shipped: Shipped) -> str:
    classes = f", classes = {shipped.classes}" if shipped.classes else ""
    own = Given(None, "FILE", '"FILE"')
    return spoken(f"write inputs = {shipped.inputs}{classes}, or give your own table: {{}}", own)


def _targets(count: int, classes: int | None) -> str:
    return f"a target in {classes} classes" if classes else f"{count} target{'s' if count > 1 else ''}"


# ------------------------------------------------------------------ a file


def _samples(table: Table, layout: Layout) -> Samples:
    """The samples of a file, without the rows with missing cells; raises ``UserError``."""
    notes: list[str] = []
    columns = list(table.columns)
    label = columns.pop() if layout.classes else None
    numeric, words = _divide(columns)
    if words and not layout.one_hot:
        notes.append(f"columns of words dropped: {', '.join(column.name for column in words)}")
    targets = 0 if label else layout.targets or 1
    inputs, outputs = numeric[: len(numeric) - targets], numeric[len(numeric) - targets :]
    x = np.column_stack([*inputs, *(_one_hot(column) for column in words if layout.one_hot)] or [np.empty((0, 0))])
    if x.shape[1] != layout.inputs or len(outputs) != targets:
        raise _misfit(table, layout, len(numeric), x.shape[1])
    y = np.column_stack(outputs) if not label else _classes(table, label, layout)
    complete = np.isfinite(x).all(1) & np.isfinite(y.reshape(len(x), -1)).all(1)
    rows = np.flatnonzero(complete)
    if len(rows) < len(x):
        notes.append(f"{len(x) - len(rows)} of {len(x)} rows dropped: missing cells")
    if len(rows) < LEAST_ROWS:
        raise malformed(table.path, f"{len(rows)} complete rows", f"at least {LEAST_ROWS} rows", REMEDY)
    places = [f"{table.path}:{table.lines[row]}" for row in rows]
    return Samples(table.path, x[rows], y[rows], places, notes)


def _divide(columns: Sequence[Column]) -> tuple[list[np.ndarray], list[Column]]:
    """The columns of numbers and the columns of words, each in the file's order."""
    numeric, words = [], []
    for column in columns:
        numbers = column.numbers()
        if numbers is None:
            words.append(column)
        else:
            numeric.append(numbers)
    return numeric, words


def _misfit(table: Table, layout: Layout, numeric: int, inputs: int) -> Exception:
    if not numeric:
        return malformed(table.path, "no column of numbers", EXPECTED, REMEDY)
    wanted = f"inputs = {layout.inputs} and {_targets(layout.targets or 1, layout.classes)}"
    problem = f"{inputs} columns are left for x where the spec says {wanted}"
    if inputs > 0:
        return wrong_size(table.path, problem, inputs=inputs)
    return wrong_size(table.path, problem, "give a table with more columns")


def _one_hot(column: Column) -> np.ndarray:
    kinds = sorted(set(column.cells))
    return np.array([[cell == kind for kind in kinds] for cell in column.cells], float)


def _classes(table: Table, label: Column, layout: Layout) -> np.ndarray:
    """The label's values, numbered in order (numbers by size, words alphabetically); NaN where missing."""
    numbers = label.numbers()
    absent = np.array([cell.strip() == "" for cell in label.cells]) if numbers is None else np.isnan(numbers)
    values = np.array(label.cells) if numbers is None else numbers
    kinds, codes = np.unique(values[~absent], return_inverse=True)
    if layout.classes is None or len(kinds) > layout.classes:
        problem = (
            f"its last column, {label.name}, has {len(kinds)} different values, more than classes = {layout.classes}"
        )
        raise wrong_size(table.path, problem, ", or leave classes out for a real target", classes=len(kinds))
    y = np.full(len(values), np.nan)
    y[~absent] = codes
    return y


# ------------------------------------------------------------------ both


def _dataset(layout: Layout, samples: Samples) -> SplitDataset:
    train, test = fixed_split(len(samples.x), TEST_SHARE)
    x, y = _standardised(samples, samples.x, train).values, samples.y
    units: list[str] = []
    if layout.classes:
        y = y.astype(np.int64)
    else:
        targets = _standardised(samples, y, train)
        y = targets.values.reshape(len(y), *_target_shape(layout))
        mean, deviation = _row(targets.mean), _row(targets.deviation)
        units = [f"y is standardised: mean {mean}, deviation {deviation} in the file's units"]
    parts = [ArraySplit({"x": x[rows], "y": y[rows]}) for rows in (train, test)]
    notes = (*samples.notes, "fixed random split, 80 / 20", *units)
    return SplitDataset(_schema(layout), samples.origin, parts[0], parts[1], notes)


def _standardised(samples: Samples, columns: np.ndarray, train: np.ndarray) -> Standardised:
    standard = standardise(columns, train)
    place = swamping_value(columns, standard.values)
    if place is not None:
        row, column = place
        problem = f"{columns[row, column]:g} is so far from the other values of its column that they become equal"
        raise malformed(samples.places[row], problem, "values of one scale", "repair the value or remove its row")
    return standard


def _row(values: np.ndarray) -> str:
    return ", ".join(f"{value:.6g}" for value in values)
