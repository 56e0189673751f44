"""What a data binding offers: its fields and sizes, known before any file is opened, and the protocols of an adapter.

An adapter is found by name (``energyc.data.registry``), asked for its ``schema`` while a spec is compiled, and only
opened when a network is trained or evaluated. Nothing here knows of the compiler or of torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Protocol, TypeAlias

import numpy as np

Kind: TypeAlias = Literal["real", "integer"]
SplitName: TypeAlias = Literal["train", "test"]


@dataclass(frozen=True)
class Call:
    """An option's value written as a call, ``periodic(2)``: a word and its plain arguments."""

    name: str
    arguments: tuple[OptionValue, ...] = ()
    keywords: Mapping[str, OptionValue] = field(default_factory=dict)


OptionValue: TypeAlias = "Fraction | int | float | str | Call | list[OptionValue]"
Options: TypeAlias = Mapping[str, OptionValue]


@dataclass(frozen=True)
class FieldSchema:
    """Shape and kind of one field of one sample (no batch axis).

    ``real`` fields come as float32, ``integer`` ones as int64; ``classes`` says that an integer field's values
    run over ``range(classes)``.
    """

    shape: tuple[int, ...]
    kind: Kind = "real"
    classes: int | None = None


@dataclass(frozen=True)
class Schema:
    """The fields of a binding (``text.input``) and its sizes (``dim V = text.vocabulary``)."""

    fields: Mapping[str, FieldSchema]
    sizes: Mapping[str, int] = field(default_factory=dict)


class Split(Protocol):
    """The training or the test samples of an opened binding."""

    def __len__(self) -> int:
        """The number of samples."""
        ...

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The samples at ``indices``: each field as ``[len(indices), *shape]``, float32 or int64.

        Whatever is drawn (a mask, a crop, noise) is a pure function of ``(seed, epoch, index)``, whatever else is
        in the batch; in a test split it is a function of the index alone, so that every evaluation sees the same.
        ``augment`` asks for the adapter's augmentation, where it has one; test splits ignore it.
        """
        ...


class Dataset(Protocol):
    """An opened binding."""

    @property
    def schema(self) -> Schema:
        """The schema that the adapter gave for the same options."""
        ...

    @property
    def origin(self) -> str:
        """Where the samples come from, in a few words (``scikit-learn's digits``, a path)."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of how the data were read: dropped columns, split, units."""
        ...

    def split(self, name: SplitName) -> Split:
        """The training or the test samples; they never share one."""
        ...


class Adapter(Protocol):
    """A kind of data that a spec can bind by name: ``data digits = digits(side = 8)``."""

    @property
    def name(self) -> str:
        """The word by which a spec calls it."""
        ...

    def schema(self, options: Options) -> Schema:
        """Fields and sizes for these options; opens nothing.

        Raises ``UserError`` for a bad option, with the option's name and what it may be.
        """
        ...

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> Dataset:
        """Open the user's ``path``, or the adapter's default data without one.

        ``seed`` is used only by data that are drawn (a Gaussian process); the split of real data never depends on it.
        Raises ``UserError`` where a file is missing, malformed or does not fit the schema.
        """
        ...
