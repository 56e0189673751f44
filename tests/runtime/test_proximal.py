"""Kinks that move by proximal steps: the operators, where states rest, and gradients there."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import ElasticNet, Lasso
from torch import Tensor

import energyc
from energyc.runtime.equations.proximal import Corner, at_corners, corners_adjoint, shrunk, shrunk_adjoint
from tests.emit.kernels import KINKS

CODING = """\
network coding
dim I = 20, N = 12
clamp x[I]
target y[I]
param W[I, N] ~ normal(0.3), l = 0.3 in nonnegative
state s[N]
energy fit = 1/2 * sum[i]((x[i] - sum[n](W[i,n] * s[n]))^2)
energy sparsity = l * sum[n](abs(s[n]))
readout code[n] = s[n]
cost error = 1/2 * sum[i]((y[i] - sum[n](W[i,n] * s[n]))^2) + 1/3 * sum[n](s[n]^3)
relax { step = 0.2, steps = 200, tolerance = 1e-14, max_steps = 5000 }
nudge { beta = 1e-5, steps = 2000 }
train { rule = centered-ep }
"""
EACH = pytest.mark.parametrize("text", [CODING, pytest.param(KINKS, marks=pytest.mark.slow)], ids=["coding", "kinks"])
RULES = ("implicit", "adjoint", "bptt", "centered-ep", "tracking-aep", "aep", "dyadic-ep")


def loaded(text: str, *rules: str, **settings: Any) -> Any:
    """A network in float64 with the same params each time."""
    given = {f"relax.{name}": value for name, value in settings.items()}
    return energyc.load(text, rules=rules or ["implicit"], settings=given, dtype=torch.float64, seed=3).eval()


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ------------------------------------------------------------------ operators


def least(value: Callable[[np.ndarray], np.ndarray]) -> float:
    """Where a convex function of one number is least, by ever finer grids."""
    low, high = -20.0, 20.0
    for _ in range(12):
        grid = np.linspace(low, high, 201)
        best, width = grid[np.argmin(value(grid))], (high - low) / 200
        low, high = best - width, best + width
    return float(best)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_corners_are_minimised(count: int) -> None:
    random = np.random.default_rng(count)
    for _ in range(20):
        places = np.sort(random.normal(size=count)).tolist()
        corners = [Corner(at, *random.uniform(0, 1, 2).tolist()) for at in places]
        x = float(random.normal(scale=2))

        def value(z: np.ndarray, x: float = x, corners: list[Corner] = corners) -> np.ndarray:
            kinks = [c.above * np.maximum(z - c.at, 0) + c.below * np.maximum(c.at - z, 0) for c in corners]
            return np.asarray((z - x) ** 2 / 2 + sum(kinks))

        found = at_corners(torch.tensor([x], dtype=torch.float64), corners)
        assert abs(float(found) - least(value)) < 1e-7


def test_a_point_on_a_corner_is_it_exactly() -> None:
    x = torch.linspace(-2, 2, 401, dtype=torch.float64)
    found = at_corners(x, [Corner(-1 / 3, 0.1, 0.3), Corner(0.7, 0.2, 0.0)])
    assert (found == -1 / 3).sum() > 30 and (found == 0.7).sum() > 15


@pytest.mark.parametrize("corners", [[Corner(0.0, 0.3, 0.3)], [Corner(-0.2, 0.1, 0.4), Corner(0.5, 0.3, 0.0)]])
def test_the_adjoint_of_corners(corners: list[Corner]) -> None:
    x = normal(200, seed=1).requires_grad_()
    seed = normal(200, seed=2)
    (expected,) = torch.autograd.grad(at_corners(x, corners), x, seed)
    torch.testing.assert_close(corners_adjoint(x.detach(), seed, corners), expected)


def test_the_adjoint_of_a_norm() -> None:
    x, seed, threshold = normal(6, 5, 3, seed=1).requires_grad_(), normal(6, 5, 3, seed=2), torch.tensor(1.5)
    (expected,) = torch.autograd.grad(shrunk(x, threshold, (2,)), x, seed)
    found = shrunk_adjoint(x.detach(), seed, threshold, (2,))
    torch.testing.assert_close(found, expected)
    assert 0 < int((found == 0).all(2).sum()) < 30
    zero = torch.zeros(1, 3)
    assert torch.equal(shrunk_adjoint(zero, torch.ones(1, 3), torch.tensor(0.0), (1,)), torch.ones(1, 3))
    assert torch.equal(shrunk(zero, torch.tensor(0.0), (1,)), zero)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_stays_so(bad: float) -> None:
    x = torch.tensor([[bad, 1.0]])
    assert not bool(at_corners(x, [Corner(0.0, 0.3, 0.3)])[0, 0].isfinite())
    assert not bool(shrunk(x, torch.tensor(0.5), (1,)).isfinite().all())


# ------------------------------------------------------------------ rest


def test_it_rests_where_lasso_is() -> None:
    net, x = loaded(CODING), normal(4, 20)
    rest = net.relax({"x": x})
    assert float(rest.residual.max()) < 1e-13
    exact = [
        Lasso(alpha=0.3 / 20, fit_intercept=False, tol=1e-15, max_iter=10**6).fit(net.params["W"].detach(), row).coef_
        for row in x
    ]
    np.testing.assert_allclose(rest.states["s"], np.stack(exact), rtol=0, atol=1e-8)
    assert torch.equal(rest.states["s"] == 0, torch.from_numpy(np.stack(exact) == 0))


def test_it_rests_where_an_elastic_net_is() -> None:
    net, x = loaded(CODING + "energy ridge = 1/8 * sum[n](s[n]^2)"), normal(4, 20)
    rest, width = net.relax({"x": x}), 0.3 / 20 + 1 / 4 / 20
    model = ElasticNet(alpha=width, l1_ratio=0.015 / width, fit_intercept=False, tol=1e-15, max_iter=10**6)
    exact = np.stack([model.fit(net.params["W"].detach(), row).coef_ for row in x])
    np.testing.assert_allclose(rest.states["s"], exact, rtol=0, atol=1e-8)


def test_a_group_lasso_rests_at_its_optimum() -> None:
    text = CODING.replace("N = 12", "G = 4, D = 3").replace("[I, N]", "[I, G, D]").replace("s[N]", "s[G, D]")
    text = text.replace("sum[n](W[i,n] * s[n])", "sum[g,d](W[i,g,d] * s[g,d])").replace("s[n]^3", "s[g,d]^3")
    text = text.replace("l * sum[n](abs(s[n]))", "l * sum[g](sqrt(sum[d](s[g,d]^2)))").replace(
        "1/3 * sum[n]", "sum[g,d]"
    )
    net, x = loaded(text.replace("code[n] = s[n]", "code[g,d] = s[g,d]").replace("l = 0.3", "l = 3")), normal(4, 20)
    s, w = net.relax({"x": x}).states["s"], net.params["W"].detach()
    force = torch.einsum("igd,bi->bgd", w, x - torch.einsum("igd,bgd->bi", w, s))
    length, active = s.norm(dim=2, keepdim=True), (s != 0).any(2, keepdim=True)
    assert 0 < int(active.sum()) < active.numel()
    torch.testing.assert_close(force.norm(dim=2).clamp(max=3), force.norm(dim=2), rtol=0, atol=1e-9)
    torch.testing.assert_close((force - 3 * s / length).masked_fill(~active, 0), torch.zeros_like(s), rtol=0, atol=1e-9)


def test_a_locally_competitive_algorithm_rests_at_the_nonnegative_optimum() -> None:
    net, x = loaded(CODING.replace("state s[N]", "state s[N] in nonnegative")), normal(4, 20)
    model = Lasso(alpha=0.3 / 20, fit_intercept=False, positive=True, tol=1e-15, max_iter=10**6)
    exact = np.stack([model.fit(net.params["W"].detach(), row).coef_ for row in x])
    np.testing.assert_allclose(net.relax({"x": x}).states["s"], exact, rtol=0, atol=1e-8)


def test_the_energy_falls_and_plain_steps_chatter() -> None:
    net, plain, x = loaded(CODING, step=0.1), loaded(CODING, step=0.1, proximal="off"), normal(4, 20)
    energies = [net.energy(net.relax({"x": x}, steps=k).states, {"x": x}) for k in range(0, 200, 5)]
    assert all(bool((after <= before + 1e-14).all()) for before, after in itertools.pairwise(energies))
    assert float(net.relax({"x": x}).residual.max()) < 1e-13
    assert float(plain.relax({"x": x}, steps=5000).residual.max()) > 1e-4


@pytest.mark.abridged
@pytest.mark.parametrize(
    "settings",
    [{"step": "auto"}, {"solver": "anderson"}, {"solver": "newton"}, {"solver": "anderson", "step": "auto"}],
    ids=lambda settings: " ".join(map(str, settings.values())),
)
@EACH
def test_every_solver_rests_there(settings: Mapping[str, Any], text: str) -> None:
    clamps = {"x": 2 * normal(4, 20 if text is CODING else 7)}
    rest = loaded(text).relax(clamps).states
    found = loaded(text, steps=50, **settings).relax(clamps)
    assert float(found.residual.max()) < 1e-12
    for name, value in rest.items():
        torch.testing.assert_close(found.states[name], value, rtol=0, atol=1e-9)


# ------------------------------------------------------------------ gradients


def slopes(net: Any, given: Mapping[str, Tensor], aims: Mapping[str, Tensor], cost: Callable[[], float]) -> Any:
    """Of each param its entry where the gradient is largest: the place, and the difference of the cost there."""
    gradients = net.gradients(given, aims, rule="implicit").params
    for name, slope in gradients.items():
        place = int(slope.abs().argmax())
        entry = net.params[name].data.view(-1)[place : place + 1]
        before, values = entry.clone(), []
        for width in (1e-5, -1e-5):
            entry.copy_(before + width)
            values.append(cost())
        entry.copy_(before)
        yield name, place, (values[0] - values[1]) / 2e-5


@pytest.mark.slow
@EACH
def test_gradients_are_the_differences_of_the_cost(text: str) -> None:
    net, size = loaded(text, *RULES), 20 if text is CODING else 7
    given, aims = {"x": 2 * normal(3, size)}, {("y" if text is CODING else "t"): normal(3, size, seed=1)}

    def cost() -> float:
        return float(net.cost(net.relax(given).states, given, aims).mean())

    expected = list(slopes(net, given, aims, cost))
    assert all(abs(value) > 1e-3 for _, _, value in expected)
    for rule in RULES:
        found = net.gradients(given, aims, rule=rule).params
        for name, place, value in expected:
            assert float(found[name].reshape(-1)[place]) == pytest.approx(value, rel=1e-6, abs=1e-7), (rule, name)


@pytest.mark.parametrize("smooth", ["", " + 1/4 * l * sum[n](s[n]^4)"])
def test_bptt_is_exact_before_it_rests(smooth: str) -> None:
    """Also where the weight of a kink is read by a smooth term."""
    kink = "energy sparsity = l * sum[n](abs(s[n]))"
    text = CODING.replace(kink, kink + smooth) if smooth else KINKS
    net = loaded(text, "bptt", steps=9, tolerance="none")
    size, target = (20, "y") if smooth else (7, "t")
    given, aims = {"x": 3 * normal(3, size)}, {target: normal(3, size, seed=1)}

    def cost() -> float:
        return float(net.cost(net.relax(given).states, given, aims).mean())

    found = net.gradients(given, aims, rule="bptt").params
    for name, place, value in slopes(net, given, aims, cost):
        assert float(found[name].reshape(-1)[place]) == pytest.approx(value, rel=1e-6, abs=1e-8), name


@pytest.mark.abridged
@pytest.mark.parametrize("rule", ["implicit", "bptt"])
def test_a_host_goes_through_a_proximal_layer(rule: str) -> None:
    net, x = loaded(CODING, "bptt"), (2 * normal(2, 20)).requires_grad_()
    net(x, rule=rule)["code"].pow(3).sum().backward()
    way = normal(2, 20, seed=4)
    up, down = (net.relax({"x": x.detach() + width * way}).states["s"].pow(3).sum() for width in (1e-5, -1e-5))
    assert x.grad is not None
    assert float((x.grad * way).sum()) == pytest.approx(float(up - down) / 2e-5, rel=1e-6)


def test_the_edge_of_a_kink_is_said() -> None:
    text = CODING.replace("I = 20, N = 12", "I = 2, N = 2").replace("~ normal(0.3)", "= 1/2")
    net = loaded(text)
    with torch.no_grad():
        net.params["W"].copy_(torch.eye(2))
    aims = {"y": torch.ones(1, 2)}
    with pytest.warns(RuntimeWarning, match="1 entries of states rest at the edge of a kink"):
        net.gradients({"x": torch.tensor([[0.3, 1.0]], dtype=torch.float64)}, aims, rule="implicit")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.gradients({"x": torch.tensor([[0.2, 1.0]], dtype=torch.float64)}, aims, rule="implicit")


def test_the_force_is_that_of_the_whole_energy() -> None:
    net, given = loaded(KINKS), {"x": normal(3, 7)}
    states = {name: normal(3, *shape, seed=5).requires_grad_() for name, shape in net.state_shapes.items()}
    with torch.enable_grad():
        energy = sum(term.sum() for term in net._terms(list(states.values()), net._prepare(given["x"])))
        expected = torch.autograd.grad(energy, list(states.values()))
    found = net.force({name: value.detach() for name, value in states.items()}, given)
    for slope, value in zip(expected, found.values(), strict=True):
        torch.testing.assert_close(value, -slope)


def test_a_residual_defence_says_that_it_cannot() -> None:
    net, given, aims = loaded(CODING, "centered-ep"), {"x": normal(2, 20)}, {"y": normal(2, 20)}
    with pytest.raises(ValueError, match="a residual defence reads the whole force, and coding has kinks"):
        net.gradients(given, aims, residual_defence=0.1)
