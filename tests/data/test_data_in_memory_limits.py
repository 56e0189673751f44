"""Data of a program at the limits of what can be taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import energyc
from energyc.language.diagnostics import UserError

SPEC = """network n
dim D = 3, K = 4
clamp x[D]
target y : K
param W[K, D] ~ normal
state z[K]
energy e = 1/2 * sum[k](z[k]^2) - sum[k,d](z[k] * W[k,d] * x[d])
readout o[k] = z[k]
cost c = cross_entropy[k](o[k], y)
relax { step = 1/2, steps = 10 }
train { rule = centered-ep, steps = 3, batch = 4 }
"""


class Samples:
    """Twenty samples, of which number 17 is ``odd``; or as many as it is told to claim."""

    def __init__(self, odd: dict[str, Any], length: int = 20) -> None:
        self.odd, self.length = odd, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {"x": np.ones(3, np.float32), "y": 0, **(self.odd if number == 17 else {})}


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"x": np.array([0, np.nan, 0], np.float32)}, r"data \(train\)\.x is nan in sample 17 at \[1\]"),
        ({"y": 9}, r"data \(train\)\.y is 9 in sample 17"),
        ({"y": np.uint64(2**63)}, "sample 17: y holds 9223372036854775808, which no int64 holds"),
        ({"x": np.ones(2)}, r"sample 17: x has shape \[2\]"),
    ],
)
def test_a_sample_is_named_by_its_own_number(odd: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        energyc.train(SPEC, data=Samples(odd), out=tmp_path / "run")


def test_more_samples_than_can_be_shuffled(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="data has 1,000,000,000,000 samples, and their order is held in memory"):
        energyc.train(SPEC, data=Samples({}, 10**12), out=tmp_path / "run")


def test_numbers_beyond_int64(tmp_path: Path) -> None:
    data = {"x": np.ones((8, 3)), "y": np.full(8, 2**63, np.uint64)}
    with pytest.raises(UserError, match="y holds 9223372036854775808"):
        energyc.train(SPEC, data=data, out=tmp_path / "run")


def test_an_array_that_is_read_backwards() -> None:
    net = energyc.load(SPEC)
    x = np.random.default_rng(0).normal(size=(5, 3))
    backwards = net.relax({"x": x[::-1, ::-1]}).states["z"]
    assert (backwards == net.relax({"x": x[::-1, ::-1].copy()}).states["z"]).all()
