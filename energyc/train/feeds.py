"""Feed the clamps and targets of a network from the fields of bound datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from energyc.data.validate import checked_split
from energyc.diagnostics import UserError
from energyc.train.network import Tensors

if TYPE_CHECKING:
    from energyc.data.schema import Dataset

Field = tuple[str, str]  # a binding and a field of it: ("digits", "image")


@dataclass(frozen=True)
class Feeds:
    """The opened datasets of a spec, and the field that each clamp and target reads."""

    datasets: Mapping[str, Dataset]
    clamps: Mapping[str, Field]
    targets: Mapping[str, Field]

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

    def select(self, keep: Tensor) -> Batch:
        """Return the samples where ``keep`` ([batch], bool) is true."""
        return Batch(
            {name: tensor[keep] for name, tensor in self.clamps.items()},
            {name: tensor[keep] for name, tensor in self.targets.items()},
        )


class Feed:
    """One split of all bindings, paired sample by sample.

    Raises UserError E0520 if nothing is bound, a split is empty, or the bindings differ in length.
    """

    def __init__(self, feeds: Feeds, split: Literal["train", "test"], device: str, dtype: torch.dtype) -> None:
        self._feeds = feeds
        self._splits = {
            binding: checked_split(binding, feeds.datasets[binding], split, feeds.readers(binding))
            for binding in feeds.bindings
        }
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
        return {name: self._tensor(arrays[binding][field]) for name, (binding, field) in fields.items()}

    def _tensor(self, array: np.ndarray) -> Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(array))
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
        raise UserError(f"the {split} split is empty: {shown}", code="E0520", help="give more data with --data")
    return next(iter(lengths.values()))
