"""What a network is probed with: a batch of clamps and targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Probe:
    """A batch: clamps and targets by name, each with a leading batch axis."""

    clamps: dict[str, Tensor]
    targets: dict[str, Tensor]


def random_probe(net: Any, *, batch: int = 4, seed: int = 0) -> Probe:
    """Clamps and targets drawn for a network: reals uniform in [0, 1], integers uniform over their dim."""
    random = torch.Generator().manual_seed(seed)

    def drawn(shapes: dict[str, Any]) -> dict[str, Tensor]:
        found = {}
        for name, (shape, classes) in shapes.items():
            if classes is None:
                found[name] = torch.rand((batch, *shape), generator=random, dtype=torch.float64)
            else:
                found[name] = torch.randint(classes, (batch, *shape), generator=random)
        return found

    return Probe(drawn(net.clamp_shapes), drawn(net.target_shapes))
