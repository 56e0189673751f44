"""The inputs of a measurement: a batch of clamps and targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Probe:
    """A batch of clamps and targets by name, each with a leading batch axis."""

    clamps: dict[str, Tensor]
    targets: dict[str, Tensor]


def random_probe(net: Any, *, batch: int = 4, seed: int = 0) -> Probe:
    """Draw clamps and targets for a network: reals uniformly from [0, 1], integers uniformly from their dim."""
    random = torch.Generator().manual_seed(seed)

    def draw(shapes: dict[str, Any]) -> dict[str, Tensor]:
        tensors = {}
        for name, (shape, classes) in shapes.items():
            if classes is None:
                tensors[name] = torch.rand((batch, *shape), generator=random, dtype=torch.float64)
            else:
                tensors[name] = torch.randint(classes, (batch, *shape), generator=random)
        return tensors

    return Probe(draw(net.clamp_shapes), draw(net.target_shapes))
