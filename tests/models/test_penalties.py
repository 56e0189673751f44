"""Specs of penalties with kinks, beside what solves them: scikit-learn, conditions of optimality, a dual gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import ElasticNet, Lasso
from torch import Tensor

import energyc
from energyc.language.diagnostics import Source
from energyc.pipeline import Choices, resolve
from energyc.proofs.verdicts.in_notation import classes_of
from tests.models.test_models import MODELS

SETTINGS = {"relax.tolerance": 1e-13, "relax.steps": 1000, "relax.max_steps": 20000}


def loaded(name: str, **dims: int) -> Any:
    """A spec in float64, at other sizes."""
    path = MODELS / f"{name}.energy"
    return energyc.load(path, dims=dims, settings=SETTINGS, rules=["implicit"], dtype=torch.float64, seed=3).eval()


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


def fitted(model: Any, weights: Tensor, x: Tensor) -> np.ndarray:
    return np.stack([model.fit(weights.detach().numpy(), row.numpy()).coef_ for row in x])


@pytest.mark.slow
def test_lca_rests_where_lasso_is() -> None:
    net, x = loaded("lca", I=20, M=12), normal(4, 20)
    answer = net({"x": x})["code"].detach()
    exact = fitted(Lasso(alpha=0.1 / 20, fit_intercept=False, tol=1e-15, max_iter=10**6), net.params["D"], x)
    np.testing.assert_allclose(answer, exact, rtol=0, atol=1e-8)
    assert 0 < int((exact == 0).sum()) < exact.size


@pytest.mark.slow
def test_elastic_net_rests_where_it_is() -> None:
    net, x = loaded("elastic_net", I=20, N=12), normal(4, 20)
    rest = net.relax({"x": x})
    width = (0.05 + 0.5) / 20
    model = ElasticNet(alpha=width, l1_ratio=0.05 / 20 / width, fit_intercept=False, tol=1e-15, max_iter=10**6)
    exact = fitted(model, net.params["W"], x)
    np.testing.assert_allclose(rest.states["s"], exact, rtol=0, atol=1e-8)
    assert 0 < int((exact == 0).sum()) < exact.size


@pytest.mark.slow
def test_a_group_is_active_where_its_force_is_longer_than_lambda() -> None:
    net, x = loaded("group_lasso", I=20, G=4, D=3), 1 / 3 * normal(4, 20)
    s, w, level = net.relax({"x": x}).states["s"], net.params["W"].detach(), float(net.params["lambda"].detach())
    force = torch.einsum("igd,bi->bgd", w, x - torch.einsum("igd,bgd->bi", w, s)) - s / 10
    length, active = s.norm(dim=2, keepdim=True), (s != 0).any(2, keepdim=True)
    assert 0 < int(active.sum()) < active.numel()
    assert float(force.norm(dim=2).max()) <= level + 1e-9
    torch.testing.assert_close((force - level * s / length).masked_fill(~active, 0), 0 * s, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_total_variation_has_no_gap_to_its_dual() -> None:
    """``1/2 |x - z|^2 + w sum |z_src - z_dst|`` at the rest is the value of the dual there."""
    net, x = loaded("total_variation", N=8, E=12), normal(3, 8)
    random = torch.Generator().manual_seed(1)
    ends = {name: torch.randint(8, (3, 12), generator=random) for name in ("src", "dst")}
    z = net({"noisy": x, **ends})["smooth"].detach()
    weight = float(net.params["weight"].detach())
    jumps = z.gather(1, ends["src"]) - z.gather(1, ends["dst"])
    primal = 1 / 2 * (x - z).square().sum(1) + weight * jumps.abs().sum(1)
    torch.testing.assert_close(primal, 1 / 2 * (x.square() - z.square()).sum(1), rtol=0, atol=1e-8)
    assert 0 < int((jumps.abs() < 1e-8).sum()) < jumps.numel()


@pytest.mark.parametrize("set_of", ["", " in [-1, 1]"])
def test_kinks_of_two_entries_stay_in_the_force(set_of: str) -> None:
    """The variation itself is not separable: `check` says so, and shows no rest."""
    text = (
        f"network tv\ndim N = 6, E = 8\nclamp x[N], src[E] : N, dst[E] : N\nstate z[N]{set_of}\n"
        "energy fit = 1/2 * sum[n]((z[n] - x[n])^2)\nenergy tv = sum[e](abs(z[src[e]] - z[dst[e]]))\n"
        "readout y[n] = z[n]\n"
    )
    claims = {one.claim: one for one in classes_of(resolve(Source("tv.energy", text), Choices())).claims}
    assert claims["bounded below"].verdict == "proved"
    assert claims["an equilibrium exists"].verdict == "undecided"
    assert "the force jumps" in claims["an equilibrium exists"].evidence
