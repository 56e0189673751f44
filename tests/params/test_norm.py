"""Params whose operator norm is bounded: projection, training, messages, and steps that are certified."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import energyc
from energyc.language.diagnostics import SpecError
from energyc.pipeline import Choices, read, resolve
from energyc.runtime.tensors.params import norm_at_most
from tests.drawing import seeds

SHAPES = [
    ((4, 4), (0,), (1,)),
    ((2, 5), (0,), (1,)),
    ((3, 2, 4), (1,), (2,)),
    ((1, 1), (0,), (1,)),
    ((5, 2), (1,), (0,)),
]


def norms(x: torch.Tensor, rows: tuple[int, ...], columns: tuple[int, ...]) -> np.ndarray:
    flat = np.moveaxis(x.double().numpy(), (*rows, *columns), (-2, -1))
    return np.linalg.norm(flat, 2, axis=(-2, -1))


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(("shape", "rows", "columns"), SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_the_nearest_matrix(
    seed: int, shape: tuple[int, ...], rows: tuple[int, ...], columns: tuple[int, ...], dtype: torch.dtype
) -> None:
    """Nearer than any of many points of the set, at most c exactly, and where it was if that is on the set."""
    print(f"seed {seed}")
    random = torch.Generator().manual_seed(seed)
    x = 2 * torch.randn(shape, generator=random, dtype=torch.float64).to(dtype)
    found = norm_at_most(x, rows, columns, 0.9)
    assert found.dtype == dtype and np.all(norms(found, rows, columns) <= 0.9)
    assert torch.equal(norm_at_most(found, rows, columns, 0.9), found)
    distance = float((found - x).double().norm())
    for _ in range(50):
        other = found + 0.3 * torch.randn(shape, generator=random, dtype=torch.float64).to(dtype)
        other = norm_at_most(other, rows, columns, 0.9)
        assert float((other - x).double().norm()) >= distance * (1 - 1e-6)


def test_what_is_symmetric_stays_so() -> None:
    x = torch.randn(5, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    found = norm_at_most(x + x.T, (0,), (1,), 0.5)
    assert float((found - found.T).abs().max()) < 1e-14 and np.all(norms(found, (0,), (1,)) <= 0.5)


def test_what_is_not_finite_stays() -> None:
    x = torch.tensor([[float("nan"), 1.0], [0.0, 3.0]])
    assert torch.equal(norm_at_most(x, (0,), (1,), 0.5), x) is False and bool(
        norm_at_most(x, (0,), (1,), 0.5).isnan().any()
    )


SPEC = """network bounded
dim I = 3, J = 4, K = 2
clamp x[I]
target t[K]
param W[J, K] ~ normal(3) in norm[1/2], S[J, J] ~ normal(3) in symmetric and norm[1/4]
param H[K, I, J] ~ normal(2) in norm[2, I, J]
state s[J] in [-1, 1]
state y[K]
energy own = 1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)
energy pair = -sum[j,k](s[j] * W[j,k] * y[k]) - 1/2 * sum[i,j](S[i,j] * s[i] * s[j])
energy input = -sum[k,i,j](H[k,i,j] * x[i] * s[j]) / 10
cost c = sum[k]((y[k] - t[k])^2)
relax { step = certified, tolerance = 1e-6 }
train { rule = centered-ep, optimizer = sgd, lr = 5 }
"""


def _resolved(text: str) -> object:
    return resolve(read(text), Choices())


def test_a_network_stays_on_its_sets_as_it_trains(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    data = {"x": random.standard_normal((32, 3)), "t": random.standard_normal((32, 2))}
    run = energyc.train(SPEC, data, settings={"train.steps": 5, "train.batch": 8}, out=tmp_path / "run")
    for name, rows, columns, bound in (("W", (0,), (1,), 0.5), ("S", (0,), (1,), 0.25), ("H", (1,), (2,), 2.0)):
        assert np.all(norms(run.network.params[name].detach(), rows, columns) <= bound)
    found = run.network.params["S"]
    assert float((found - found.T).abs().max()) < 1e-7


@pytest.mark.parametrize(
    "written, code",
    [
        ("norm", "E0426"),
        ("norm[0]", "E0426"),
        ("norm[-1/2]", "E0426"),
        ("norm[1/2, J]", "E0218"),
        ("norm[1/2, J, I]", "E0426"),
        ("norm[1/2] and [-1, 1]", "E0445"),
        ("norm[1/2] and norm[1/3]", "E0445"),
        ("norm[1/2] and orthogonal", "E0445"),
        ("sphere[2]", "E0426"),
        ("orthogonal[1/2, J]", "E0426"),
    ],
)
def test_mistakes_are_answered(written: str, code: str) -> None:
    with pytest.raises(SpecError) as caught:
        _resolved(SPEC.replace("W[J, K] ~ normal(3) in norm[1/2]", f"W[J, K] ~ normal(3) in {written}"))
    assert code in {d.code for d in caught.value.diagnostics}


def test_a_bound_may_be_a_const() -> None:
    text = SPEC.replace("dim I = 3", "const half = 1/2\ndim I = 3").replace("norm[1/2]", "norm[half]")
    assert resolve(read(text), Choices()).params["W"].structure[0].bound == 0.5


def test_a_name_called_norm_is_still_one() -> None:
    text = SPEC.replace("state y[K]", "state y[K]\nlet norm[j] = s[j]").replace("sum[j](s[j]^2)", "sum[j](norm[j]^2)")
    assert "norm" in resolve(read(text), Choices()).lets


# ---------------------------------------------------------------- relax.step = certified


def test_the_step_is_two_over_m_and_most() -> None:
    """m = 1 - 1/4 - 1/2 by the block [[1 - |S|, -|W|], [-|W|, 1]], L = 1 + ... in the same way."""
    low, high = (np.linalg.eigvalsh([[1 + s * 0.25, s * 0.5], [s * 0.5, 1.0]]) for s in (-1, 1))
    assert resolve(read(SPEC), Choices()).relax.step == pytest.approx(2 / (low[0] + high[-1]), rel=1e-9)


@pytest.mark.parametrize(
    "old, new, said",
    [
        (" in norm[1/2],", ",", "the curvature of pair has no known lower bound"),
        ("state s[J] in [-1, 1]", "state s[J] in sphere[J]", "the set of s is not convex"),
        ("sum[k](y[k]^2)", "sum[k](y[k]^2) + sum[k](exp(y[k]))", "the slope of own has no bound"),
    ],
)
def test_what_forbids_a_step_is_named(old: str, new: str, said: str) -> None:
    assert old in SPEC
    with pytest.raises(SpecError) as caught:
        resolve(read(SPEC.replace(old, new)), Choices())
    (found,) = caught.value.diagnostics
    assert found.code == "E0504" and said in found.message and found.span is not None


def test_a_layer_has_a_certified_step_of_its_own() -> None:
    text = """network outer
dim I = 4, J = 3
clamp x[I]
target t[J]
layer inner {
    param W[I, J] ~ normal(1), S[J, J] ~ normal(1) in symmetric and norm[1/2]
    state s[J]
    energy e = 1/2 * sum[j](s[j]^2) - 1/2 * sum[j,k](S[j,k] * s[j] * s[k]) - sum[i,j](x[i] * W[i,j] * s[j])
    relax { step = certified }
}
cost c = sum[j]((inner.s[j] - t[j])^2)
"""
    network = resolve(read(text), Choices())
    assert network.layers["inner"].network.relax.step == pytest.approx(1.0)
