"""The block "thick" with the output of its feed-forward tied to its input."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tests.independent.network import Random, Tensors
from tests.independent.thick import Thick


@dataclass(frozen=True)
class ThickTied(Thick):
    """As thick, without a weight W2 of its own."""

    name = "thick_tied"

    def draw_block(self, random: Random) -> Tensors:
        """Those of thick but W2."""
        return {name: value for name, value in super().draw_block(random).items() if name != "W2"}

    def output(self, params: Tensors) -> Tensor:
        """The transpose of the weight into the hidden units."""
        return params["W1"].T
