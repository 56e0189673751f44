"""States so large that their squares are not numbers: how they read, and that no gradient is made of them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import energyc
from energyc.runtime.tensors.states import norm, relative_change
from tests.specs.judging import assert_close

#: Sample by sample a linear network with the eigenvalue -k: it explodes where k is negative.
LINEAR = """\
network linear
dim J = 3
clamp x[J], k[J]
target y[J]
param W[J,J] ~ normal(0.5), b[J] = 1/10
state s[J]
energy hold = 1/2 * sum[j](k[j] * s[j]^2) - sum[i,j](x[i] * W[i,j] * s[j])
force bias on s[j] = b[j]
cost c = 1/2 * sum[j]((s[j] - y[j])^2)
relax { step = 0.4, steps = 100, tolerance = 1e-5, chunk = 50, max_steps = 600 }
nudge { beta = 1/100, steps = 20 }
train { rule = implicit }
"""
RULES = (
    "ep",
    "centered-ep",
    "vf",
    "aep",
    "tracking-aep",
    "adjoint",
    "holomorphic-ep",
    "holomorphic-aep",
    "tbptt",
    "bptt",
    "implicit",
)
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])


def inputs(dtype: torch.dtype, *rates: float) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """A sample for each rate."""
    random = torch.Generator().manual_seed(3)
    x, y = (torch.rand((len(rates), 3), generator=random, dtype=torch.float64).to(dtype) for _ in range(2))
    return {"x": x, "k": torch.tensor(rates, dtype=dtype)[:, None].expand(-1, 3)}, {"y": y}


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("growth", [-0.5, -3.0], ids=["squares overflow", "states overflow"])
def test_a_sample_that_exploded_takes_no_part(rule: str, growth: float) -> None:
    """In float32 the states end near 1e28, or past the largest number."""
    net = energyc.load(LINEAR, rules=["all"], dtype=torch.float32, settings={"relax.max_steps": 350})
    clamps, targets = inputs(torch.float32, 1.0, growth, 0.5)
    settled = {name: value[[0, 2]] for name, value in clamps.items()}
    both = net.gradients(clamps, targets, rule)
    alone = net.gradients(settled, {"y": targets["y"][[0, 2]]}, rule)
    assert both.kept.tolist() == [True, False, True] and alone.kept.tolist() == [True, True]
    assert not both.residual[1] <= 1e-5
    assert_close(both.params, alone.params, 1e-5)
    assert float(both.params["W"].norm()) > 1e-3


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("rule", RULES)
def test_where_all_exploded_there_is_no_gradient(rule: str) -> None:
    net = energyc.load(LINEAR, rules=["all"], dtype=torch.float32)
    found = net.gradients(*inputs(torch.float32, -0.5, -2.0), rule)
    assert found.kept.tolist() == [False, False]
    assert all(bool((value == 0).all()) for value in found.params.values())


@DTYPES
def test_a_residual_is_that_of_the_linear_growth(dtype: torch.dtype) -> None:
    """s <- 1.2 s + c: past 1e19 in float32, and 1e154 in float64, the square of s is not a number."""
    net = energyc.load(LINEAR, dtype=dtype)
    clamps, _ = inputs(dtype, -0.5)
    steps = 250 if dtype is torch.float32 else 2500
    found = net.relax(clamps, steps=steps)
    assert bool(found.states["s"].isfinite().all()) and not bool(found.states["s"].square().isfinite().all())
    assert found.residual.tolist() == pytest.approx([0.2], rel=1e-5)


@DTYPES
def test_what_is_no_number_has_not_settled(dtype: torch.dtype) -> None:
    """Nor is it relaxed on until the steps are used up."""
    net = energyc.load(LINEAR, dtype=dtype, settings={"relax.max_steps": 100_000})
    found = net.relax(inputs(dtype, -3.0, 1.0)[0])
    assert found.residual[0] == torch.inf and found.residual[1] <= 1e-5
    assert int(found.steps[0]) < 5_000


@DTYPES
@pytest.mark.parametrize("exponent", [-3, 0, 3, 30, 37])
def test_the_norm_of_large_numbers(dtype: torch.dtype, exponent: int) -> None:
    exponent *= 1 if dtype is torch.float32 else 8
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]], dtype=dtype)
    found = norm(x * 10.0**exponent) / 10.0**exponent
    torch.testing.assert_close(found, torch.tensor([5.0, 0.0, 1.0], dtype=dtype))


def test_a_change_that_is_no_number_is_infinite() -> None:
    x = torch.tensor([[1.0], [torch.inf], [torch.nan], [2.0]])
    moved = torch.tensor([[1.5], [torch.inf], [1.0], [torch.inf]])
    assert relative_change([moved], [x]).tolist() == [0.5, torch.inf, torch.inf, torch.inf]
