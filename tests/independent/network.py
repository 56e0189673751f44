"""The parts of a transcription: the terms, the start, the sets, the answers. All tensors have a leading batch axis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import torch
from torch import Tensor

Tensors = dict[str, Tensor]


class Random:
    """Draws from one seed, which a failing test prints."""

    def __init__(self, seed: int, dtype: torch.dtype = torch.float64) -> None:
        """Numbers are drawn in ``dtype``."""
        self.seed = seed
        self.dtype = dtype
        self._generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int, std: float = 1.0, mean: float = 0.0) -> Tensor:
        """Normal numbers of a shape."""
        return mean + std * torch.randn(shape, generator=self._generator, dtype=self.dtype)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Numbers uniform between two bounds."""
        return low + (high - low) * torch.rand(shape, generator=self._generator, dtype=self.dtype)

    def integers(self, *shape: int, below: int) -> Tensor:
        """Integers from 0 up to, but not including, ``below``."""
        return torch.randint(below, shape, generator=self._generator)


@dataclass(frozen=True)
class Network(ABC):
    """A network at one size; the dataclass fields of a subclass are its dims."""

    name: ClassVar[str]
    step: ClassVar[float]  # one that converges from the drawn params
    step_of: ClassVar[dict[str, float]] = {}
    shifted: ClassVar[frozenset[str]] = frozenset()  # terms with a potential: known up to a constant

    @property
    def dims(self) -> dict[str, int]:
        """The dims as the spec names them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @abstractmethod
    def states(self) -> dict[str, tuple[int, ...]]:
        """The shape of each state."""

    @abstractmethod
    def draw_params(self, random: Random) -> Tensors:
        """Generic params, no two entries alike, for which the network settles."""

    @abstractmethod
    def draw_clamps(self, random: Random, batch: int) -> Tensors:
        """Inputs of a batch."""

    @abstractmethod
    def draw_targets(self, random: Random, batch: int) -> Tensors:
        """Targets of a batch."""

    def draw_states(self, random: Random, batch: int) -> Tensors:
        """States anywhere, not at rest and not on their sets."""
        return {name: random.normal(batch, *shape) for name, shape in self.states().items()}

    @abstractmethod
    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Every energy term, ``[batch]`` each."""

    def forces(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """The forces on states beside those of the energies; states without such a force are left out."""
        return {}

    def start(self, params: Tensors, clamps: Tensors) -> Tensors:
        """The states before the first step, not yet on their sets; zero unless overridden."""
        some = next(iter(clamps.values()))
        dtype = next(iter(params.values())).dtype
        return {name: torch.zeros(len(some), *shape, dtype=dtype) for name, shape in self.states().items()}

    def project(self, states: Tensors) -> Tensors:
        """The nearest states on their sets."""
        return states

    @abstractmethod
    def readout(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """The answers."""

    @abstractmethod
    def cost(self, params: Tensors, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        """The cost that training lowers, ``[batch]``."""


def half_square(tensor: Tensor) -> Tensor:
    """1/2 |x|^2 of each sample, ``[batch]``."""
    return tensor.square().flatten(1).sum(1) / 2


def inner(left: Tensor, right: Tensor) -> Tensor:
    """<x, y> of each sample, ``[batch]``."""
    return (left * right).flatten(1).sum(1)
