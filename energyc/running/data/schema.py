"""The schema of a data binding, known before any file is opened, and the protocols of an adapter.

An adapter is looked up by name in the registry. Compiling a spec reads its ``schema``; only training or
evaluating a network opens it. Nothing here depends on the compiler or on torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias

import numpy as np

from energyc.language.settings.values import Value

Kind: TypeAlias = Literal["real", "integer"]
SplitName: TypeAlias = Literal["train", "validation", "test"]
OptionValue: TypeAlias = Value
Options: TypeAlias = Mapping[str, OptionValue]


DTYPES: Mapping[str, np.dtype] = MappingProxyType({"real": np.dtype(np.float32), "integer": np.dtype(np.int64)})


@dataclass(frozen=True)
class FieldSchema:
    """Shape and kind of one field of one sample (no batch axis).

    ``real`` fields are float32 (or float64, for runs in float64), ``integer`` ones int64. The values of an integer
    field with ``classes`` are in ``range(classes)``. A real field with an ``image``, (channels, height, width), holds
    its pixels in this order; one of that shape with 1 or 3 channels is taken for an image without saying so.
    """

    shape: tuple[int, ...]
    kind: Kind = "real"
    classes: int | None = None
    image: tuple[int, int, int] | None = None

    def fills(self, wanted: FieldSchema) -> bool:
        """Whether its numbers in their order are those of a field ``wanted``, which may have other axes for them."""
        same = len(self.shape) != len(wanted.shape) or self.shape == wanted.shape
        return self.kind == wanted.kind and same and math.prod(self.shape) == math.prod(wanted.shape)

    def zeros(self, samples: int) -> np.ndarray:
        """Zeros for so many samples."""
        return np.zeros((samples, *self.shape), DTYPES[self.kind])


@dataclass(frozen=True)
class Schema:
    """The fields of a binding (``text.input``) and its sizes (``dim V = text.vocabulary``)."""

    fields: Mapping[str, FieldSchema]
    sizes: Mapping[str, int] = field(default_factory=dict)


class Split(Protocol):
    """The training, validation or test samples of an opened binding.

    A split whose samples share content (windows of a text, crops of a picture) has ``groups`` too, ``[samples]``
    numbers: samples of one group are never put into different parts.
    """

    def __len__(self) -> int:
        """The number of samples."""
        ...

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The samples at ``indices``: each field as ``[len(indices), *shape]``, float32 or int64.

        Whatever is drawn (a mask, a crop, noise) is a pure function of ``(seed, epoch, index)``, independent of the
        rest of the batch; in a test split it is a function of the index alone, so that all evaluations agree.
        ``augment`` switches on the adapter's augmentation, if it has one. Nothing but training asks for it.
        """
        ...


class Dataset(Protocol):
    """An opened binding.

    One that comes with a validation part has it as ``validation``, a split; it then decides which checkpoint is best.
    """

    @property
    def schema(self) -> Schema:
        """The schema that the adapter gives for the same options."""
        ...

    @property
    def origin(self) -> str:
        """The source of the samples, in a few words (``scikit-learn's digits``, a path)."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """How the data were read, for the user: dropped columns, split, units."""
        ...

    def split(self, name: SplitName) -> Split:
        """The training or the test samples, which are disjoint."""
        ...


class Adapter(Protocol):
    """A source of data that a spec can bind by name: ``data digits = digits(side = 8)``."""

    @property
    def name(self) -> str:
        """The name that a spec uses."""
        ...

    def schema(self, options: Options) -> Schema:
        """Fields and sizes for these options; opens nothing.

        Raises ``UserError`` for a bad option, with its name and its valid values.
        """
        ...

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> Dataset:
        """Open the user's ``path``, or the adapter's default data without one.

        ``seed`` affects only data that are drawn (a Gaussian process); the split of real data never depends on it.
        Raises ``UserError`` if a file is missing, malformed or does not fit the schema.
        """
        ...


def describe(dataset: Dataset) -> str:
    """``scikit-learn's digits: 1,437 train, 360 test; image [64], label in 10``."""
    fields = ", ".join(_field(name, field) for name, field in dataset.schema.fields.items())
    validation = getattr(dataset, "validation", None)
    lengths = {"train": len(dataset.split("train"))} | ({} if validation is None else {"validation": len(validation)})
    lengths["test"] = len(dataset.split("test"))
    counts = ", ".join(f"{count:,} {name}" for name, count in lengths.items())
    return f"{dataset.origin}: {counts}; {fields}"


def _field(name: str, field: FieldSchema) -> str:
    shape = f" [{', '.join(map(str, field.shape))}]" if field.shape else ""
    return name + shape + (f" in {field.classes}" if field.classes is not None else "")
