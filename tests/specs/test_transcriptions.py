"""The judges judged: the transcriptions and the rules of tests/independent agree with one another."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.independent import ALL, CONSERVATIVE, NOT_CONSERVATIVE, Network, Random, Tensors, rules
from tests.specs.judging import assert_close, named

Rule = Callable[[rules.Problem, Tensors, float, int], Tensors]
CONSTRAINED = tuple(net for net in CONSERVATIVE if net.name in ("hopfield", "hopfield_conv", "cet"))


@pytest.mark.abridged(every=6)
@named(ALL)
def test_every_param_has_a_gradient(net: Network) -> None:
    p = rules.problem(net, Random(0))
    gradient = rules.implicit(p, rules.converge(p))
    assert all(torch.isfinite(value).all() and value.norm() > 0 for value in gradient.values())


@pytest.mark.abridged
@named(ALL, slow=("hopfield_conv", "thick_tied", "cet"))
def test_implicit_is_the_slope_of_the_cost_at_equilibrium(net: Network) -> None:
    random = Random(1)
    p = rules.problem(net, random)
    direction = {name: random.normal(*value.shape) for name, value in p.params.items()}
    gradient = rules.implicit(p, rules.converge(p))
    expected = sum((gradient[name] * direction[name]).sum().item() for name in gradient)
    assert rules.slope_by_differences(p, direction) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.abridged(every=2)
@named(CONSERVATIVE)
def test_centred_ep_is_truncated_backpropagation(net: Network) -> None:
    p = rules.problem(net, Random(2))
    free = rules.converge(p)
    coarse, fine = (rules.centered_ep(p, free, beta, 7) for beta in (1e-3, 5e-4))
    assert_close(rules.extrapolate(coarse, fine, 2), rules.tbptt(p, free, 7), 1e-8)


@pytest.mark.abridged
@named(NOT_CONSERVATIVE)
@pytest.mark.parametrize("rule", [rules.aep, rules.tracking_aep])
def test_asymmetric_ep_is_truncated_backpropagation(net: Network, rule: Rule) -> None:
    p = rules.problem(net, Random(2))
    free = rules.converge(p)
    coarse, fine = (rule(p, free, beta, 7) for beta in (1e-3, 5e-4))
    assert_close(rules.extrapolate(coarse, fine, 2), rules.tbptt(p, free, 7), 1e-8)


@pytest.mark.abridged
@named(NOT_CONSERVATIVE)
def test_plain_ep_is_biased_without_an_energy(net: Network) -> None:
    p = rules.problem(net, Random(2))
    free = rules.converge(p)
    errors = rules.distance(rules.centered_ep(p, free, 1e-3, 60), rules.tbptt(p, free, 60))
    assert min(errors[name] for name in ("W_q", "W_k", "W_v")) > 0.05


@pytest.mark.abridged
@named(CONSTRAINED)
def test_long_truncation_tends_to_implicit(net: Network) -> None:
    p = rules.problem(net, Random(3))
    free = rules.converge(p)
    assert_close(rules.tbptt(p, free, 500), rules.implicit(p, free), 1e-9)


@named(CONSTRAINED)
def test_projections_are_nearest_points(net: Network) -> None:
    random = Random(4)
    states = net.draw_states(random, 2)
    nearest = rules.flatten(net.project(states))
    for _ in range(200):
        other = rules.flatten(net.project(net.draw_states(random, 2)))
        assert ((rules.flatten(states) - nearest).norm(dim=1) <= (rules.flatten(states) - other).norm(dim=1)).all()
    assert torch.allclose(rules.flatten(net.project(net.project(states))), nearest, rtol=0, atol=1e-12)


def test_a_wrong_gradient_is_seen() -> None:
    p = rules.problem(ALL[0], Random(5))
    right = rules.bptt(p, 10)
    for name in right:
        wrong = right | {name: right[name] * (1 + 1e-6)}
        assert max(rules.distance(wrong, right).values()) > 1e-7
