"""Feed the clamps and targets of a network from the fields of bound datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from energyc.language.diagnostics import Option, UserError, spoken
from energyc.running.data.arrays import Portion
from energyc.running.data.validate import checked_split
from energyc.running.training.division import WHOLE, Division, Part, units_and_labels
from energyc.running.training.network import Tensors

if TYPE_CHECKING:
    from energyc.running.data.schema import Dataset, Split

Field = tuple[str, str]  # a binding and a field of it: ("digits", "image")


@dataclass(frozen=True)
class Feeds:
    """The opened datasets of a spec, the field that each clamp and target reads, and how samples are divided.

    ``shapes`` are those of a sample of each clamp and target; without one it has the shape of its field. ``splits``
    raises UserError E0520 if they cannot be divided so.
    """

    datasets: Mapping[str, Dataset]
    clamps: Mapping[str, Field]
    targets: Mapping[str, Field]
    division: Division = WHOLE
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def bindings(self) -> tuple[str, ...]:
        """The bindings that clamps and targets read, without repetition, in the order of reading."""
        return tuple(dict.fromkeys(binding for binding, _ in [*self.clamps.values(), *self.targets.values()]))

    def readers(self, binding: str) -> dict[str, str]:
        """Return the reader of each field of a binding, such as ``clamp x`` or ``target label``."""
        inputs = [("clamp", self.clamps), ("target", self.targets)]
        return {
            field: f"{kind} {name}"
            for kind, fields in inputs
            for name, (source, field) in fields.items()
            if source == binding
        }

    @property
    def has_validation(self) -> bool:
        """Whether there is a validation part: the data's own, or one held out of the training samples."""
        return self._own_validation or self.division.validation is not None

    def notes(self) -> list[str]:
        """Say how samples are divided, where that is not as the data have it; the counts are of one fold."""
        if self._own_validation:
            if self.division.validation is None:
                return ["the best checkpoint is chosen on the data's own validation part"]
            return ["train.validation gives way to the data's own validation part, which chooses the best checkpoint"]
        if self.division.is_that_of_the_data:
            return []
        parts: tuple[Part, ...] = ("train", "validation", "test")
        counts = {part: self.size(part) for part in parts}
        shown = ", ".join(f"{count:,} {part}" for part, count in counts.items() if count)
        how = "" if self.division.fold is None else f" in each of {self.division.folds} folds, about"
        kept = "" if self._label is None else ", by label"
        return [f"divided anew{how}: {shown}{kept}"]

    def splits(self, part: Part) -> dict[str, Split]:
        """Return the split of each binding for a part, its batches checked."""
        division = self.division
        if self._own_validation or division.is_that_of_the_data or (part == "test" and division.fold is None):
            return self._checked(part) if self.has_validation or part != "validation" else {}
        pool = [self._checked(name) for name in division.pooled]
        indices = self._divided.get(part, np.zeros(0, np.int64))
        return {
            binding: Portion([splits[binding] for splits in pool], indices, fixed=part != "train")
            for binding in self.bindings
        }

    def size(self, part: Part) -> int:
        """Return the number of samples of a part, 0 where there is none."""
        return next((len(split) for split in self.splits(part).values()), 0)

    @cached_property
    def _own_validation(self) -> bool:
        """Whether all data have a validation part of their own. Raises UserError E0520 if they are to have folds."""
        own = [binding for binding in self.bindings if getattr(self.datasets[binding], "validation", None) is not None]
        if own and self.division.fold is not None:
            message = f"train.folds cannot divide {own[0]}, whose training, validation and test parts are its own"
            raise UserError(message, code="E0520", help="take train.folds out, and try other splits of the data")
        return 0 < len(own) == len(self.bindings)

    @cached_property
    def _divided(self) -> dict[Part, np.ndarray]:
        """The samples of each part among the pooled splits."""
        splits = [self._checked(name) for name in self.division.pooled]
        for name, bindings in zip(self.division.pooled, splits, strict=True):
            _common_length(name, {binding: len(split) for binding, split in bindings.items()})
        return self.division.indices(*units_and_labels(splits, self._label))

    @property
    def _label(self) -> Field | None:
        """The first target that is one label of a sample."""
        for binding, name in self.targets.values():
            schema = self.datasets[binding].schema.fields[name]
            if schema.kind == "integer" and schema.shape == ():
                return binding, name
        return None

    def _checked(self, part: Part) -> dict[str, Split]:
        return {
            binding: checked_split(binding, self.datasets[binding], part, self.readers(binding))
            for binding in self.bindings
        }


@dataclass(frozen=True)
class Batch:
    """Clamps and targets of a batch of samples, each with a leading batch axis, on the network's device."""

    clamps: Tensors
    targets: Tensors

    def __len__(self) -> int:
        tensors = [*self.clamps.values(), *self.targets.values()]
        return len(tensors[0])

    def beside(self, noise: Tensors) -> Batch:
        """Return the batch with noise among its clamps."""
        return Batch({**self.clamps, **noise}, self.targets)

    def select(self, rows: Tensor) -> Batch:
        """Return the samples where ``rows`` ([batch], bool) is true, or those of these numbers."""
        return Batch(
            {name: tensor[rows] for name, tensor in self.clamps.items()},
            {name: tensor[rows] for name, tensor in self.targets.items()},
        )


class Feed:
    """One part of the samples of all bindings, paired sample by sample.

    Raises UserError E0520 if nothing is bound, a split is empty, or the bindings differ in length.
    """

    def __init__(self, feeds: Feeds, split: Part, device: str, dtype: torch.dtype) -> None:
        self._feeds = feeds
        self._splits = feeds.splits(split)
        self._device = device
        self._dtype = dtype
        self._length = _common_length(split, {name: len(part) for name, part in self._splits.items()})

    def __len__(self) -> int:
        return self._length

    def batch(self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False) -> Batch:
        """Return the samples at ``indices``; augmentation is a pure function of (seed, epoch, index)."""
        arrays = {
            binding: split.batch(indices, seed=seed, epoch=epoch, augment=augment)
            for binding, split in self._splits.items()
        }
        return Batch(self._pick(self._feeds.clamps, arrays), self._pick(self._feeds.targets, arrays))

    def _pick(self, fields: Mapping[str, Field], arrays: Mapping[str, Mapping[str, np.ndarray]]) -> Tensors:
        return {name: self._tensor(name, arrays[binding][field]) for name, (binding, field) in fields.items()}

    def _tensor(self, name: str, array: np.ndarray) -> Tensor:
        shape = self._feeds.shapes.get(name, array.shape[1:])
        tensor = torch.from_numpy(np.ascontiguousarray(array)).reshape(len(array), *shape)
        return tensor.to(self._device, self._dtype if tensor.is_floating_point() else torch.int64)


def _common_length(split: str, lengths: Mapping[str, int]) -> int:
    if not lengths:
        message = "the spec binds no data, so there is nothing to train on"
        raise UserError(message, code="E0520", help="add a data line and clamps that read it")
    shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
    if len(set(lengths.values())) > 1:
        raise UserError(
            f"the {split} splits differ in length: {shown}", code="E0520", help="samples are paired by their number"
        )
    if 0 in lengths.values():
        raise UserError(
            f"the {split} split is empty: {shown}", code="E0520", help=spoken("give more data with {}", Option("data"))
        )
    return next(iter(lengths.values()))
