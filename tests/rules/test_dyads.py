"""Dyadic equilibrium propagation and dual propagation against backpropagation and one another."""

from __future__ import annotations

import pytest
import torch

from tests.quick import few
from tests.rules.networks import HOPFIELD, PREDICTIONS, TURNED, distance, drawn, gradient, loaded, scaled
from tests.rules.test_clamped_phases import backpropagation, feedforward


@pytest.mark.abridged
@pytest.mark.parametrize("alpha", [0.5, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("beta", few([0.5, 0.05], [0.05]))
def test_dual_propagation_is_backpropagation_times_a_factor(alpha: float, beta: float) -> None:
    """With half a squared error, at any beta: the mean is the free network, and the halves are apart by
    beta (t - m) / ((1 + alpha beta) (1 - (1 - alpha) beta)).
    """
    net = loaded(PREDICTIONS, nudge__alpha=alpha)
    clamps, targets = drawn(net)
    with torch.no_grad():
        error = targets["t"] - feedforward(net.params, clamps["x"])
    expected = backpropagation(net, clamps, error / ((1 + alpha * beta) * (1 - (1 - alpha) * beta)))
    found = gradient(net, "dual-propagation", (clamps, targets), beta=beta, nudge_steps=None)
    assert distance(found, expected) < 1e-9


@pytest.mark.slow
def test_its_error_goes_with_beta_squared_where_the_cost_is_not_quadratic() -> None:
    spec = PREDICTIONS.replace("1/2 * sum[k]((y[k] - t[k])^2)\nrelax", "sum[k](exp(y[k] - t[k]))\nrelax")
    net = loaded(spec)
    data = drawn(net, 0.3)
    exact = gradient(net, "implicit", data)
    apart = [distance(gradient(net, "dual-propagation", data, beta=b, nudge_steps=None), exact) for b in (0.04, 0.02)]
    assert apart[1] > 1e-9 and apart[0] / apart[1] == pytest.approx(4, rel=0.1)


@pytest.mark.slow
def test_precisions_weigh_errors() -> None:
    spec = PREDICTIONS.replace("energy second = 1/2", "energy second = 3/2")
    net = loaded(spec, v=0.5, relax__step=0.05)
    data = drawn(net, 0.3)
    found = gradient(net, "dual-propagation", data, beta=1e-4, nudge_steps=None)
    assert distance(found, gradient(net, "implicit", data)) < 1e-6


def test_dyads_of_an_energy_are_both_phases_of_centred_ep() -> None:
    net = loaded(HOPFIELD)
    data = drawn(net)
    dyadic = gradient(net, "dyadic-ep", data, beta=0.2, nudge_steps=None)
    assert distance(dyadic, gradient(net, "centered-ep", data, beta=0.1, nudge_steps=None)) < 1e-9


@pytest.mark.abridged
@pytest.mark.parametrize(("alpha", "order"), [(0.5, 2), (0.2, 1), (1.0, 1)])
def test_dyads_are_exact_for_any_force_as_beta_vanishes(alpha: float, order: int) -> None:
    net = loaded(TURNED, nudge__alpha=alpha)
    data = drawn(net)
    exact = gradient(net, "implicit", data)
    betas = (0.02, 0.01)
    found = [gradient(net, "dyadic-ep", data, beta=beta, nudge_steps=None) for beta in betas]
    apart = [distance(each, exact) for each in found]
    assert apart[0] / apart[1] == pytest.approx(2**order, rel=0.1)
    weight = 2**order / (2**order - 1)  # Richardson: the leading error cancels
    limit = {name: weight * found[1][name] + (1 - weight) * found[0][name] for name in exact}
    assert distance(limit, exact) < 0.1 * apart[1]
    assert distance(gradient(net, "vf", data, beta=0.01, nudge_steps=None), exact) > 0.01


def test_one_phase_from_the_start_is_enough() -> None:
    """No free phase comes first: what relaxes are the halves, and their mean answers."""
    net = loaded(TURNED)
    clamps, targets = drawn(net)
    found = net.gradients(clamps, targets, "dyadic-ep", beta=1e-3, steps=900, nudge_steps=50)
    assert int(found.steps.max()) == 950
    rest = net.relax(clamps, steps=2000)
    assert torch.allclose(found.states["z"], rest.states["z"], atol=1e-4)
    assert float(found.residual.max()) < 1e-6


@pytest.mark.slow
def test_auto_chooses_beta() -> None:
    for spec, rule in ((PREDICTIONS, "dual-propagation"), (TURNED, "dyadic-ep")):
        net = loaded(spec)
        data = drawn(net, 0.5)
        found = net.gradients(*data, rule, beta="auto", steps=3000, nudge_steps=None)
        assert 0 < found.beta < 1
        assert distance(found.params, gradient(net, "implicit", data)) < 1e-4


def test_the_gradient_of_the_cost_itself_is_added() -> None:
    spec = TURNED.replace("param A", "param g = 2\nparam A").replace("cost mse = 1/2", "cost mse = g/2")
    net = loaded(spec)
    data = drawn(net)
    exact = gradient(net, "implicit", data)["g"]
    assert torch.allclose(gradient(net, "dyadic-ep", data, beta=1e-3, nudge_steps=None)["g"], exact, rtol=1e-4)
    assert distance({"g": scaled({"g": exact}, 1.0)["g"]}, {"g": exact}) == 0
