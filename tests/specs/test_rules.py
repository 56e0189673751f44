"""The identities of the learning rules: the compiler's gradients against tests/independent/rules.py, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import energyc
from tests.independent import CONSERVATIVE, Network, Tensors, rules
from tests.independent.host import hosted
from tests.specs.judging import SHIPPED, Pair, assert_close, named, pair

EXACT = tuple(net for net in SHIPPED if net in CONSERVATIVE)
BETA = 1e-3
#: Those that take seconds where an equilibrium or a host is made for each.
LONG = ("cet", "thick", "thick_tied", "thin", "hopfield_conv")


def settled(net: Network, seed: int = 2) -> tuple[Pair, Tensors, dict[str, Any]]:
    """Both sides, the equilibrium, and the settings that make the compiler start and stay there."""
    sides = pair(net, seed)
    free = rules.converge(sides.problem)
    return sides, free, {"states": free, "steps": 0}


# ---------------------------------------------------------------- each rule against its own transcription


@pytest.mark.abridged(every=3)
@named(SHIPPED)
@pytest.mark.parametrize("seed", range(2))
def test_bptt(net: Network, seed: int) -> None:
    sides = pair(net, seed)
    assert_close(sides.gradient("bptt", steps=11), rules.bptt(sides.problem, 11), 1e-9)


@pytest.mark.parametrize("kept", ["[0, 1]", "nonnegative"])
def test_a_state_on_a_face_passes_the_slope_of_the_inside(kept: str, tmp_path: Path) -> None:
    """As torch's clamp does: a unit that starts at 0 and is not pushed learns in which direction to go."""
    text = f"""
        network face
        dim D = 3
        clamp x[D]
        target y[D]
        param w[D] = 0
        state z[D] in {kept}
        energy e = sum[d](1/2 * z[d]^2 - w[d] * x[d] * z[d])
        cost c = sum[d]((z[d] - y[d])^2)
        relax {{ step = 1/2, steps = 3 }}
        train {{ rule = bptt }}
    """
    (tmp_path / "face.energy").write_text(text)
    net: Any = energyc.load(tmp_path / "face.energy", dtype=torch.float64)
    x, y = torch.tensor([[1.0, 2.0, -1.0]], dtype=torch.float64), torch.full((1, 3), 0.5, dtype=torch.float64)
    w = net.params["w"].detach().clone().requires_grad_()
    z = torch.zeros_like(x)
    for _ in range(3):
        z = (z + (w * x - z) / 2).clamp(min=0)
    ((z - y) ** 2).sum().backward()
    assert w.grad is not None and bool((w.grad != 0).all())
    found = net.gradients({"x": x}, {"y": y}, "bptt").params["w"]
    assert torch.allclose(found, w.grad, atol=1e-12, rtol=0)


@named(SHIPPED)
def test_tbptt_is_the_last_steps(net: Network) -> None:
    sides = pair(net, 3)
    expected = rules.tbptt(sides.problem, rules.relax(sides.problem, 6), 5)
    assert_close(sides.gradient("tbptt", steps=11, nudge_steps=5), expected, 1e-9)


@pytest.mark.abridged(every=4)
@named(EXACT)
def test_ep(net: Network) -> None:
    sides, free, at_rest = settled(net)
    found = sides.gradient("ep", beta=0.01, nudge_steps=7, **at_rest)
    assert_close(found, rules.ep(sides.problem, free, 0.01, 7), 1e-9)


@pytest.mark.abridged(every=2)
@named(EXACT)
def test_centred_ep(net: Network) -> None:
    sides, free, at_rest = settled(net)
    found = sides.gradient("centered-ep", beta=0.01, nudge_steps=7, **at_rest)
    assert_close(found, rules.centered_ep(sides.problem, free, 0.01, 7), 1e-9)


@pytest.mark.abridged(every=6)
@named(SHIPPED)
def test_implicit(net: Network) -> None:
    sides, free, at_rest = settled(net)
    assert_close(sides.gradient("implicit", **at_rest), rules.implicit(sides.problem, free), 1e-8)


# ---------------------------------------------------------------- the rules against one another


@pytest.mark.abridged(every=3)
@named(EXACT)
def test_centred_ep_is_truncated_backpropagation_as_beta_vanishes(net: Network) -> None:
    sides, free, at_rest = settled(net)
    coarse, fine = (sides.gradient("centered-ep", beta=b, nudge_steps=7, **at_rest) for b in (BETA, BETA / 2))
    assert_close(rules.extrapolate(coarse, fine, 2), rules.tbptt(sides.problem, free, 7), 1e-7)


@pytest.mark.abridged(every=3)
@named(EXACT)
def test_one_sided_ep_is_too(net: Network) -> None:
    sides, free, at_rest = settled(net)
    coarse, fine = (sides.gradient("ep", beta=b, nudge_steps=7, **at_rest) for b in (BETA / 16, BETA / 32))
    assert_close(rules.extrapolate(coarse, fine, 1), rules.tbptt(sides.problem, free, 7), 1e-6)


@pytest.mark.abridged(every=2)
@named(tuple(net for net in EXACT if net.name in ("modern_hopfield", "predictive_coding", "resistive")))
@pytest.mark.parametrize(("rule", "order"), [("ep", 1), ("centered-ep", 2)])
def test_the_bias_goes_with_a_power_of_beta(net: Network, rule: str, order: int) -> None:
    """Halving beta divides the error by 2^order; on networks without kinks and whose forces are not linear."""
    sides, free, at_rest = settled(net)
    exact = rules.tbptt(sides.problem, free, 7)
    errors = [
        max(rules.distance(sides.gradient(rule, beta=beta, nudge_steps=7, **at_rest), exact).values())
        for beta in (8 * BETA, 4 * BETA)
    ]
    assert errors[1] > 1e-9
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.05)


@pytest.mark.abridged
@named(EXACT, slow=LONG)
def test_ep_run_to_convergence_is_implicit(net: Network) -> None:
    sides, free, at_rest = settled(net)
    coarse, fine = (sides.gradient("centered-ep", beta=b, nudge_steps=None, **at_rest) for b in (BETA, BETA / 2))
    assert_close(rules.extrapolate(coarse, fine, 2), rules.implicit(sides.problem, free), 1e-7)


@pytest.mark.abridged
@named(SHIPPED, slow=LONG)
def test_implicit_is_the_slope_of_the_cost_at_equilibrium(net: Network) -> None:
    sides, _, at_rest = settled(net)
    direction = {name: sides.random.normal(*value.shape) for name, value in sides.problem.params.items()}
    gradient = sides.gradient("implicit", **at_rest)
    found = sum((gradient[name] * direction[name]).sum().item() for name in gradient)
    assert found == pytest.approx(rules.slope_by_differences(sides.problem, direction), rel=1e-6, abs=1e-8)


# ---------------------------------------------------------------- from the start, to convergence


@pytest.mark.abridged
@named(SHIPPED)
def test_the_free_phase_runs_to_its_tolerance(net: Network) -> None:
    sides = pair(net, 4)
    found = sides.module.gradients(*sides.given, rule="implicit", steps=200, tolerance=1e-13)
    free = rules.converge(sides.problem)
    assert (found.residual <= 1e-13).all()
    assert_close(found.states, free, 1e-9)
    assert_close(found.params, rules.implicit(sides.problem, free), 1e-7)
    assert torch.allclose(found.cost, sides.problem.cost(free), rtol=1e-9)


STOPS = {"relax.chunk": 1, "relax.max_steps": 3000}


def stopping(net: Network, seed: int = 6) -> tuple[Pair, float, list[int]]:
    """Samples that stop at different steps: both sides, a tolerance for which they do, and the steps they take."""
    sides = pair(net, seed, batch=4, relax=STOPS)
    for tolerance in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8):
        counts = sides.module.relax(sides.problem.clamps, steps=2, tolerance=tolerance).steps.tolist()
        if len(set(counts)) > 1:
            return sides, tolerance, counts
    pytest.skip("all samples take the same steps")


def alone(problem: rules.Problem, k: int) -> rules.Problem:
    """The problem of one of the samples."""
    clamps, targets = ({n: v[k : k + 1] for n, v in values.items()} for values in (problem.clamps, problem.targets))
    return replace(problem, clamps=clamps, targets=targets)


def averaged(parts: Sequence[Tensors]) -> Tensors:
    """The mean of gradients."""
    return {name: torch.stack([part[name] for part in parts]).mean(0) for name in parts[0]}


@pytest.mark.abridged(every=2)
@named(SHIPPED, slow=LONG)
def test_backpropagation_through_the_steps_that_each_sample_took(net: Network) -> None:
    sides, tolerance, counts = stopping(net)
    each = [rules.bptt(alone(sides.problem, k), count) for k, count in enumerate(counts)]
    assert_close(sides.gradient("bptt", steps=2, tolerance=tolerance), averaged(each), 1e-9)


@pytest.mark.abridged(every=6)
@named(SHIPPED)
def test_truncated_backpropagation_through_the_last_steps_of_each_sample(net: Network) -> None:
    sides, tolerance, counts = stopping(net)
    last = max(2, min(counts) - 1)
    each = []
    for problem, count in ((alone(sides.problem, k), count) for k, count in enumerate(counts)):
        before = max(0, count - last)
        each.append(rules.tbptt(problem, rules.relax(problem, before), count - before))
    assert_close(sides.gradient("tbptt", steps=2, tolerance=tolerance, nudge_steps=last), averaged(each), 1e-9)


# ---------------------------------------------------------------- inside a host network


TIGHT = {"relax.steps": 100, "relax.tolerance": 1e-13, "relax.max_steps": 20_000}
NINE = {"relax.steps": 9, "relax.tolerance": 1e9}  # always reached


def in_host(net: Network, rule: str, relax: dict[str, Any]) -> tuple[rules.Problem, Tensors]:
    """The problem with a host's cost, and the gradients that autograd finds through the compiled module."""
    return weighted(pair(net, 5, relax=relax), rule)[:2]


def weighted(sides: Pair, rule: str) -> tuple[rules.Problem, Tensors, Tensors]:
    """The problem with a host's cost, the gradients through the compiled module, and the weights of the cost."""
    clamps = {name: c.clone().requires_grad_(c.is_floating_point()) for name, c in sides.problem.clamps.items()}
    answers = sides.module(clamps, rule=rule)
    weights = {name: sides.random.normal(*answer.shape) for name, answer in answers.items()}
    problem = hosted(sides.problem, weights)
    by = {name: clamps[name] if name in clamps else sides.module.params[name] for name in problem.params}
    value = torch.stack([(answers[name] * weights[name]).sum() for name in answers]).sum()
    return problem, rules.differentiate(value, by), weights


@pytest.mark.abridged(every=3)
@named(SHIPPED, slow=LONG)
def test_backpropagation_through_a_network_in_a_host(net: Network) -> None:
    problem, found = in_host(net, "bptt", NINE)
    assert_close(found, rules.bptt(problem, 9), 1e-9)


@pytest.mark.abridged(every=2)
@named(SHIPPED, slow=LONG)
def test_in_a_host_each_sample_has_its_own_steps(net: Network) -> None:
    _, tolerance, _ = stopping(net)
    sides = pair(net, 6, batch=4, relax={**STOPS, "relax.steps": 2, "relax.tolerance": tolerance})
    counts = sides.module.relax(sides.problem.clamps).steps.tolist()
    _, found, weights = weighted(sides, "bptt")
    parts = []
    for k, count in enumerate(counts):
        its = {name: w * (torch.arange(len(counts)) == k).view(-1, *[1] * (w.dim() - 1)) for name, w in weights.items()}
        parts.append(rules.bptt(hosted(sides.problem, its), count))
    assert_close(found, {name: sum(part[name] for part in parts) for name in found}, 1e-9)


@pytest.mark.abridged(every=3)
@named(SHIPPED, slow=LONG)
def test_implicit_gradient_through_a_network_in_a_host(net: Network) -> None:
    problem, found = in_host(net, "implicit", TIGHT)
    assert_close(found, rules.implicit(problem, rules.converge(problem)), 1e-7)


# ---------------------------------------------------------------- the tests themselves


def test_a_gradient_that_is_slightly_off_is_seen() -> None:
    sides, free, at_rest = settled(EXACT[0])
    right = rules.centered_ep(sides.problem, free, 0.01, 7)
    found = sides.gradient("centered-ep", beta=0.01, nudge_steps=7, **at_rest)
    for name in right:
        with pytest.raises(AssertionError):
            assert_close(found | {name: found[name] * (1 + 1e-6)}, right, 1e-7)


def test_a_beta_that_is_not_small_is_seen() -> None:
    sides, free, at_rest = settled(next(net for net in EXACT if net.name == "predictive_coding"))
    found = sides.gradient("centered-ep", beta=0.05, nudge_steps=7, **at_rest)
    with pytest.raises(AssertionError):
        assert_close(found, rules.tbptt(sides.problem, free, 7), 1e-7)
