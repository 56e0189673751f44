"""The noises of a network: given among the clamps, drawn in training, or 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    return ordered(
        net,
        "noise",
        given,
        {name: (shape, None) for name, shape in net.noise_shapes.items()},
        dict(zip(net.clamp_shapes, beside)),
    )
