"""The noises of layers that are given among the clamps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from .inputs import noise_shapes, ordered


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
