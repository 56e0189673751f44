"""The scale of the laws that take it from the shape: fan in is what an output sums, fan out what an input reaches."""

from __future__ import annotations

import math

import pytest

import energyc

SPEC = """\
network scaled
dim {dims}
clamp x
param W[{names}] ~ {law}
state z
energy e = 1/2 * (z - x)^2 + z * sum[{indices}](W[{indices}]^2)
readout out = z
"""
SHAPES = [
    ("a vector", {"A": 4000}, 4000, 4000),
    ("a matrix", {"A": 50, "B": 80}, 80, 50),
    ("a kernel", {"A": 20, "B": 10, "P": 5, "Q": 4}, 200, 400),
]


@pytest.mark.parametrize(("sizes", "fan_in", "fan_out"), [shape[1:] for shape in SHAPES], ids=[s[0] for s in SHAPES])
def test_the_scale_follows_from_the_shape(sizes: dict[str, int], fan_in: int, fan_out: int) -> None:
    names, indices = ", ".join(sizes), ", ".join(sizes).lower()
    dims = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    drawn = {}
    for law in ("kaiming", "glorot"):
        net = energyc.load(SPEC.format(dims=dims, names=names, indices=indices, law=law), rules=["bptt"], seed=3)
        drawn[law] = net.params["W"].detach().double()
    assert abs(float(drawn["kaiming"].std()) / math.sqrt(2 / fan_in) - 1) < 0.05
    bound = math.sqrt(6 / (fan_in + fan_out))
    assert 0.99 * bound < float(drawn["glorot"].abs().max()) <= bound
