"""Parts of small networks in float64, with random params and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from energyc import pipeline
from energyc.language.network import Network
from energyc.studies.inspection.parts import Part, parts_of
from tests.independent import Random, Tensors

SPECS = Path(__file__).parents[2] / "specs"
BATCH = 3
TOLERANCE = 1e-9

ET = {"C": 3, "S": 12, "P": 4, "D": 6, "H": 2, "Y": 3, "K": 7}
CET = {"C": 1, "S": 12, "P": 4, "stride": 2, "D": 6, "H": 2, "A": 3, "M": 5}


def resolved(spec: str, sizes: Mapping[str, object]) -> Network:
    """A shipped spec at some sizes, the one at a path, or a text."""
    text: str | Path = spec if "\n" in spec or spec.endswith(".energy") else SPECS / f"{spec}.energy"
    return pipeline.resolve(pipeline.read(text), pipeline.Choices(None, dict(sizes)))


def parts(spec: str, sizes: Mapping[str, object] = {}, *, seed: int = 0, scale: float = 0.5) -> list[Part]:
    """The relaxing parts of a spec; params, clamps and noise are random, the seed is printed where a test fails."""
    print(f"{spec.splitlines()[0]}, seed {seed}")
    random, network = Random(seed), resolved(spec, sizes)
    net: Any = pipeline.instantiate(pipeline.emit(network), "cpu", torch.float64, seed).eval()
    with torch.no_grad():
        for name in network.params:
            param = net.params[name]
            param.copy_(param + scale * random.normal(*param.shape))
    net.project_params()
    return parts_of(network, net, clamps(net, random))


def part(spec: str, sizes: Mapping[str, object] = {}, *, seed: int = 0, scale: float = 0.5) -> Part:
    """The one part of a network without layers."""
    (only,) = parts(spec, sizes, seed=seed, scale=scale)
    return only


def clamps(net: Any, random: Random) -> Tensors:
    """A value for each clamp."""
    return {
        name: random.normal(BATCH, *shape) if below is None else random.integers(BATCH, *shape, below=below)
        for name, (shape, below) in net.clamp_shapes.items()
    }


def params(part: Part) -> Tensors:
    """The params without their gradients."""
    return {name: value.detach() for name, value in part.net.params.items()}
