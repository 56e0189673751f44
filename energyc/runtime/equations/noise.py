"""The noises of a network: given among the clamps, drawn in training, or 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.inputs import ordered
from energyc.runtime.equations.parts import part


@part("inputs", "noise")
def noises(net: Equations, clamps: Mapping[str, Tensor], beside: Sequence[Tensor]) -> list[Tensor]:
    """The noises in order, those that are not given drawn or 0. Raises ValueError."""
    given = {name: value for name, value in clamps.items() if name in net.noise_shapes}
    missing = [name for name in net.noise_shapes if name not in given]
    if missing:
        batch = next((len(value) for value in (*beside, *given.values())), 1)
        drawn = net._noise(None, batch) if net.training else [torch.zeros(batch, *s) for s in net.noise_shapes.values()]
        given |= {name: value for name, value in zip(net.noise_shapes, drawn) if name in missing}
    return ordered(net, "noise", given, noise_shapes(net), dict(zip(net.clamp_shapes, beside)))


@part("inputs", "noise of layers")
class LayerNoise:
    """The noises of layers that are given: ``block.eps`` [batch, copies, ...], without the copies where none are."""

    def __init__(self, net: Any, clamps: Mapping[str, Tensor], beside: Mapping[str, Tensor]) -> None:
        shapes = {name: shape for name, shape in noise_shapes(net).items() if name in clamps}
        given = {name: clamps[name] for name in shapes}
        self.copies, self.given = net.copies, dict(zip(shapes, ordered(net, "noise", given, shapes, beside)))

    def of(self, layer: Any, number: int) -> dict[str, Tensor]:
        """Those of a copy of a layer, by its own names."""
        own = {name: f"{layer.name}.{name}" for name in layer.noise_shapes}
        given = {name: self.given[whole] for name, whole in own.items() if whole in self.given}
        return {name: x[:, number] for name, x in given.items()} if layer.name in self.copies else given

    def rows(self, rows: Tensor) -> LayerNoise:
        """The same for some of the samples."""
        some = type(self).__new__(type(self))
        some.copies, some.given = self.copies, {name: value[rows] for name, value in self.given.items()}
        return some


def noise_shapes(net: Equations) -> dict[str, tuple[tuple[int, ...], None]]:
    """The shape of each noise without the batch, as ``ordered`` takes shapes."""
    return {name: (shape, None) for name, shape in net.noise_shapes.items()}
