"""The boundary between adapters and networks: schemas, datasets and batches are held to what an adapter promises.

Everything that reaches a network passes through here, so that a mistake in the data or in a user's own adapter is one
message with the binding, the field, the sample and the value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from energyc.language.diagnostics import UserError
from energyc.running.data.schema import DTYPES, Adapter, Dataset, FieldSchema, Options, Schema, Split, SplitName


def read_schema(adapter: Adapter, options: Options) -> Schema:
    """The schema that an adapter gives for these options; raises ``UserError`` where it is not a valid one."""
    with _running(adapter, "schema"):
        schema = adapter.schema(options)
        if not isinstance(schema, Schema):
            raise _contract(adapter, f"schema() returned {type(schema).__name__}, not an energyc.running.data.Schema")
        for name, field in schema.fields.items():
            sizes = field.shape if field.classes is None else (*field.shape, field.classes)
            if field.kind not in DTYPES or not all(map(_is_size, sizes)) or not _is_image(field):
                raise _contract(adapter, f"the field {name} is {field}, which is not a valid schema")
        for name, size in schema.sizes.items():
            if not _is_size(size):
                raise _contract(adapter, f"the size {name} is {size!r}, not an integer above 0")
    return schema


def open_dataset(adapter: Adapter, options: Options, path: str | None, *, seed: int) -> Dataset:
    """The dataset that an adapter opens; raises ``UserError`` where it cannot, or opens one of another schema."""
    with _running(adapter, "open"):
        dataset = check_dataset(adapter.open(options, path, seed=seed), adapter)
        if dataset.schema != read_schema(adapter, options):
            raise _contract(adapter, "the dataset that it opened has another schema than schema() gives")
        return dataset


def check_dataset(dataset: Dataset, owner: object = None) -> Dataset:
    """The same dataset; raises ``UserError`` where it, or the adapter that opened it, breaks the protocol of one."""
    what = "it" if owner is None else f"open() returned {type(dataset).__name__}, which"
    owner = dataset if owner is None else owner
    absent = [name for name in ("schema", "origin", "notes", "split") if not hasattr(dataset, name)]
    if absent:
        raise _contract(owner, f"{what} has no {absent[0]}")
    with _running(owner, "split"):
        for part in ("train", "test"):
            split = dataset.split(part)
            if not (hasattr(split, "batch") and hasattr(split, "__len__")):
                raise _contract(owner, f"the {part} split is {type(split).__name__}, which has no batch() or length")
    return dataset


@dataclass(frozen=True)
class CheckedSplit:
    """A split of a binding whose batches are checked; ``readers`` says what reads each field (``clamp x``)."""

    binding: str
    part: SplitName
    schema: Schema
    split: Split
    readers: Mapping[str, str]

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.split)

    @property
    def groups(self) -> np.ndarray | None:
        """The group of each sample, ``[samples]``, where samples share content; raises ``UserError``."""
        with _running(self.split, "groups"):
            groups = getattr(self.split, "groups", None)
            if groups is not None and np.shape(groups) != (len(self),):
                raise _contract(self.split, f"groups are {list(np.shape(groups))}, not [{len(self)}]")
        return groups

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The samples at ``indices``; raises ``UserError`` unless the fields that are read are as promised."""
        with _running(self.split, "batch"):
            batch = self.split.batch(indices, seed=seed, epoch=epoch, augment=augment)
        if not isinstance(batch, Mapping):
            raise _contract(self.split, f"batch() returned {type(batch).__name__}, not arrays by field")
        for name, reader in self.readers.items():
            place = f"{self.binding}.{name}, which feeds the {reader},"
            _check_field(place, self.schema.fields[name], batch.get(name), indices, f"{self.part} sample")
        return batch


def checked_split(binding: str, dataset: Dataset, part: SplitName, readers: Mapping[str, str]) -> CheckedSplit:
    """The training, validation or test samples of an opened binding, to be checked as they are taken."""
    split: Any = getattr(dataset, "validation", None) if part == "validation" else dataset.split(part)
    if not (hasattr(split, "batch") and hasattr(split, "__len__")):
        raise _contract(dataset, f"the {part} split is {type(split).__name__}, which has no batch() or length")
    return CheckedSplit(binding, part, dataset.schema, split, readers)


def check_batch(
    binding: str, schema: Schema, batch: Mapping[str, np.ndarray], size: int, numbers: np.ndarray | None = None
) -> None:
    """Raise ``UserError`` unless each field is there as ``[size, *shape]``, of its kind, finite and in its range.

    ``numbers`` are those by which the user knows the samples, by default their places.
    """
    samples = range(size) if numbers is None else numbers
    for name, field in schema.fields.items():
        _check_field(f"{binding}.{name}", field, batch.get(name), samples, "sample")


def _check_field(
    place: str, field: FieldSchema, values: object, samples: Sequence[int] | np.ndarray, numbered: str
) -> None:
    """Check one field of a batch; ``samples`` are the numbers of its samples, ``numbered`` the word before one."""
    if not isinstance(values, np.ndarray):
        raise _broken(place, "is missing" if values is None else f"came as {type(values).__name__}", field)
    if values.shape != (len(samples), *field.shape) or not _fits(values.dtype, field):
        raise _broken(place, f"came as {values.dtype} {list(values.shape)} for {len(samples)} samples", field)
    wrong = _out_of_range(values, field)
    if wrong.any():
        row, *element = map(int, np.argwhere(wrong)[0])
        where = f" at {element}" if element else ""
        raise _broken(place, f"is {values[(row, *element)]} in {numbered} {samples[row]}{where}", field)


def _is_image(field: FieldSchema) -> bool:
    """Whether a field holds the pixels that its schema speaks of, if it does."""
    if field.image is None:
        return True
    sized = len(field.image) == 3 and all(map(_is_size, field.image))
    return field.kind == "real" and sized and math.prod(field.image) == math.prod(field.shape)


def _fits(dtype: np.dtype, field: FieldSchema) -> bool:
    """Whether a network can take values of this dtype as they are; float64 is kept for a run in float64."""
    if field.kind == "real":
        return dtype.kind == "f" and dtype.itemsize <= 8
    return bool(np.can_cast(dtype, np.int64))


def _out_of_range(values: np.ndarray, field: FieldSchema) -> np.ndarray:
    if field.kind == "real":
        with np.errstate(over="ignore"):
            return ~np.isfinite(values.astype(np.float32, copy=False))
    return (values < 0) | (values >= field.classes) if field.classes is not None else np.zeros(values.shape, bool)


def _is_size(size: object) -> bool:
    return isinstance(size, int | np.integer) and not isinstance(size, bool) and bool(size > 0)


@contextmanager
def _running(owner: object, method: str) -> Iterator[None]:
    """An exception in a user's own class is the user's mistake; in one of ours it is our bug, and passes."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    except Exception as error:
        if type(owner).__module__.startswith("energyc."):
            raise
        raise _contract(owner, f"{method}() raised {type(error).__name__}: {error}") from error


def _contract(owner: object, problem: str) -> UserError:
    """A user's class that breaks the protocols of ``energyc.running.data.schema``."""
    message = f"the data adapter's {type(owner).__name__} is wrong: {problem}"
    return UserError(message, code="E0915", help="docs/data.md says what an adapter owes")


def _broken(place: str, problem: str, field: FieldSchema) -> UserError:
    values = f"from 0 to {field.classes - 1}" if field.classes is not None else "finite numbers"
    shape = ", ".join(map(str, ("batch", *field.shape)))
    promised = f"its schema promises {DTYPES[field.kind]} [{shape}], {values}"
    return UserError(f"{place} {problem}", code="E0915", help=promised)
