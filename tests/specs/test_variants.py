"""The variants of ``benchmarks/images.py`` are the network with the params of the struck energy at zero."""

from __future__ import annotations

import pytest
import torch

import energyc
from benchmarks.images import variant

TINY = {"C": 1, "S": 6, "P": 2, "D": 8, "H": 2, "Y": 4, "K": 5}


@pytest.mark.abridged
@pytest.mark.parametrize(("name", "zero"), [("full", ()), ("no-memory", ("xi",)), ("no-attention", ("W_q", "W_k"))])
def test_a_variant_is_the_network_without_the_energy(name: str, zero: tuple[str, ...]) -> None:
    whole = energyc.load(variant("full"), dims=TINY, dtype=torch.float64)
    part = energyc.load(variant(name), dims=TINY, dtype=torch.float64)
    assert set(part.params) == set(whole.params) - set(zero)
    random = torch.Generator().manual_seed(1)
    for key, param in whole.params.items():
        drawn = torch.randn(param.shape, generator=random, dtype=torch.float64)
        param.data.copy_(torch.zeros_like(drawn) if key in zero else drawn)
        if key in part.params:
            part.params[key].data.copy_(drawn)
    clamps = {
        "img": torch.randn(3, 1, 6, 6, generator=random, dtype=torch.float64),
        "hidden": torch.eye(3, dtype=torch.float64).kron(torch.ones(2, 2, dtype=torch.float64)).expand(3, 6, 6),
    }
    found, expected = (net.relax(clamps).states["x"] for net in (part, whole))
    assert not torch.allclose(found, whole.relax(clamps, steps=0).states["x"])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
