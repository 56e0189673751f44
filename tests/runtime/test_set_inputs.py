"""Inputs that the runtime sets: the number of the step, noise, whether the network is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import energyc
from energyc import pipeline
from energyc.language.diagnostics import UserError
from tests.emit.judge import disagreements, judged, resolved

SPEC = """\
network stepped
dim D = 4, I = 3, M = 2, T = 5
clamp x[I]
clamp which : T
target y[D]
param W[D, I] ~ normal(0.5), V[M, D] ~ normal(0.7)
param rate[T] = 0.3, gain[T, D] ~ normal(1)
noise eps[T, D] ~ normal(0.1)
state z[D] in [-1, 1], u[M]
start u[m] = sum[d](V[m,d])
let a[d] = sum[i](W[d,i] * x[i])
let pushed = where(training, rate[which], 0) + where(t == 2, 1, 0) / (1 + t)
energy E = 1/2 * sum[d]((z[d] - a[d])^2) + 1/4 * sum[d](z[d]^4) + sum[m,d](u[m] * V[m,d] * tanh(z[d]))
flow z[d] = -rate[t] * gain[t,d] * grad(E, z[d]) + eps[t,d] + pushed
flow u[m] = -rate[t] * grad(E, u[m]) - rate[T - 1] * u[m] * where(t < 3, 1, 2)
relax t in T { step = 1 }
readout out[d] = z[d] + sum[m](V[m,d] * u[m])
cost mse = sum[d]((z[d] + sum[m](V[m,d] * u[m]) - y[d])^2)
train { rule = bptt }
"""
LAST = 2
BATCH = 6


@dataclass(frozen=True)
class Case:
    """A module in float64 with inputs of a batch."""

    net: Any
    clamps: dict[str, Tensor]
    target: Tensor

    @property
    def params(self) -> list[Tensor]:
        return [self.net.params[name] for name in ("W", "V", "rate", "gain")]


@pytest.fixture(params=[True, False], ids=["training", "evaluation"])
def case(request: pytest.FixtureRequest) -> Case:
    seed = 5 + request.param
    random = torch.Generator().manual_seed(seed)
    settings = {"nudge.steps": LAST}
    net = energyc.load(SPEC, dtype=torch.float64, seed=seed, rules=["bptt", "tbptt"], settings=settings)
    net.train(request.param)

    def normal(*shape: int) -> Tensor:
        return torch.randn(BATCH, *shape, generator=random, dtype=torch.float64)

    which = torch.randint(5, (BATCH,), generator=random)
    return Case(net, {"x": normal(3), "which": which, "eps": 0.3 * normal(5, 4)}, normal(4))


def states_of(case: Case, first: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
    """The states after each step, written out; autograd goes through all of it from the ``first`` one on."""
    weight, v, rate, gain = case.params
    x, which, eps = case.clamps["x"], case.clamps["which"], case.clamps["eps"]
    z, u = torch.zeros(BATCH, 4, dtype=torch.float64), v.sum(1).expand(BATCH, 2)
    for t in range(5):
        if 0 < t == first:
            z, u = z.detach(), u.detach()
        slope = z - x @ weight.T + z**3 + (u @ v) * (1 - torch.tanh(z) ** 2)
        move = eps[:, t] - rate[t] * gain[t] * slope
        move = move + (rate[which][:, None] if case.net.training else 0)
        move = move + (1 / 3 if t == 2 else 0)
        z, u = (
            (z + move).clamp(-1, 1),
            u - rate[t] * torch.tanh(z) @ v.T - rate[4] * u * (1 if t < 3 else 2),
        )
        yield z, u


def cost_of(case: Case, first: int = 0) -> Tensor:
    """The mean cost."""
    *_, (z, u) = states_of(case, first)
    return (z + u @ case.params[1] - case.target).square().sum(1).mean()


def test_every_routine_agrees_with_the_interpreter() -> None:
    network = resolved(SPEC)
    assert disagreements(judged(network, np.random.default_rng(0))) == {}


def test_the_trajectory(case: Case) -> None:
    found = case.net.relax(case.clamps, record=("z", "u")).trace
    for k, (z, u) in enumerate(states_of(case)):
        torch.testing.assert_close(found["z"][k + 1], z, rtol=0, atol=1e-12)
        torch.testing.assert_close(found["u"][k + 1], u, rtol=0, atol=1e-12)


def test_bptt_is_autograd_through_the_numbered_steps(case: Case) -> None:
    wanted = torch.autograd.grad(cost_of(case), case.params)
    found = case.net.gradients(case.clamps, {"y": case.target}, rule="bptt")
    for name, want in zip(("W", "V", "rate", "gain"), wanted, strict=True):
        torch.testing.assert_close(found.params[name], want, rtol=1e-10, atol=1e-12)


def test_tbptt_takes_back_the_last_numbers(case: Case) -> None:
    wanted = torch.autograd.grad(cost_of(case, 5 - LAST), case.params)
    found = case.net.gradients(case.clamps, {"y": case.target}, rule="tbptt", allow_biased=True)
    for name, want in zip(("W", "V", "rate", "gain"), wanted, strict=True):
        torch.testing.assert_close(found.params[name], want, rtol=1e-10, atol=1e-12)


def test_inside_a_host(case: Case) -> None:
    case.clamps["x"].requires_grad_()
    wanted = torch.autograd.grad(cost_of(case), [case.clamps["x"], *case.params])
    out = case.net(case.clamps)["out"]
    cost = (out - case.target).square().sum(1).mean()
    for found, want in zip(torch.autograd.grad(cost, [case.clamps["x"], *case.params]), wanted, strict=True):
        torch.testing.assert_close(found, want, rtol=1e-10, atol=1e-12)


def test_noise_is_drawn_in_training_alone_and_once_for_both_passes(case: Case) -> None:
    clamps = {name: value for name, value in case.clamps.items() if name != "eps"}
    torch.manual_seed(1)
    drawn = torch.randn(BATCH, 5, 4, dtype=torch.float64) * 0.1 if case.net.training else torch.zeros(BATCH, 5, 4)
    given = Case(case.net, {**clamps, "eps": drawn.double()}, case.target)
    wanted = torch.autograd.grad(cost_of(given), case.params)
    torch.manual_seed(1)
    found = case.net.gradients(clamps, {"y": case.target}, rule="bptt")
    for name, want in zip(("W", "V", "rate", "gain"), wanted, strict=True):
        torch.testing.assert_close(found.params[name], want, rtol=1e-10, atol=1e-12)


def test_noise_by_seeds_does_not_hang_on_batch_mates(case: Case) -> None:
    both, alone = case.net.draw_noise([7, 8])["eps"], case.net.draw_noise([8])["eps"]
    assert both.shape == (2, 5, 4)
    assert torch.equal(both[1:], alone)
    assert not torch.equal(both[0], both[1])


def test_there_are_as_many_steps_as_numbers(case: Case) -> None:
    with pytest.raises(ValueError, match="stepped numbers its steps: there are 5, not 6"):
        case.net.relax(case.clamps, steps=6)
    assert torch.equal(case.net.relax(case.clamps, steps=3).steps, torch.full((BATCH,), 3))


def test_nothing_is_at_rest_where_the_force_reads_the_step(case: Case) -> None:
    with pytest.raises(ValueError, match="nothing is at rest in stepped"):
        case.net(case.clamps, rule="implicit")
    verdicts = {name: rule.verdict for name, rule in pipeline.classify(resolved(SPEC)).rules.items()}
    assert {name for name, verdict in verdicts.items() if verdict != "inadmissible"} == {"bptt", "tbptt"}
    why = pipeline.classify(resolved(SPEC)).rules["implicit"].why
    assert why == "the force depends on the step number, so there is no equilibrium: z reads t, u reads t"


def test_verify_says_that_there_is_no_equilibrium() -> None:
    from energyc.studies.verify import verify

    with pytest.raises(UserError, match="stepped has none: z reads t"):
        verify(SPEC)


def test_a_number_that_nothing_reads_changes_nothing() -> None:
    """The index alone: T steps, every rule, no word of it in the module."""
    lines = SPEC.replace("[t]", "[0]").replace("[t,d]", "[0,d]").replace("where(t == 2, 1, 0) / (1 + t)", "0")
    network = resolved(lines.replace("where(t < 3, 1, 2)", "1"))
    assert (network.relax.steps, network.relax.max_steps, network.numbered) == (5, 5, ())
    assert pipeline.classify(network).rules["implicit"].verdict == "exact"
    assert "_at" not in pipeline.emit(network, ["bptt"]).text


REPLACED: list[tuple[Callable[[str], str], str, str]] = [
    (lambda s: s.replace("{ step = 1 }", "{ step = 1, steps = 7 }"), "E0503", "makes 5 steps, and `relax.steps` is 7"),
    (lambda s: s.replace("1/2 * sum[d]((z", "rate[t] * sum[d]((z"), "E0432", "an energy may not read a step number"),
    (lambda s: s.replace("= sum[d](V[m,d])", "= rate[t] * V[m,0]"), "E0434", "the start of `u` may not read a step"),
    (lambda s: s.replace("out[d] = z[d]", "out[d] = rate[t]"), "E0432", "a readout may not read a step number"),
    (lambda s: s.replace("mse = sum[d]", "mse = rate[t] + sum[d]"), "E0432", "a cost may not read a step number"),
    (
        lambda s: s.replace("sum[d](V[m,d])\nlet", "sum[t in T](rate[t])\nlet"),
        "E0204",
        "both a step number and an index",
    ),
    (lambda s: s.replace("~ normal(0.1)", "~ glorot"), "E0421", "noise follows normal or uniform"),
    (lambda s: s.replace("where(training, rate[which], 0)", "training"), "E0401", "found a condition"),
    (lambda s: s.replace("eps[t,d] +", "eps[t,which] +"), "E0309", "positions in T"),
]


@pytest.mark.parametrize(("change", "code", "message"), REPLACED, ids=[message for _, _, message in REPLACED])
def test_what_is_refused(change: Callable[[str], str], code: str, message: str) -> None:
    report = energyc.check(change(SPEC))
    assert [d.code for d in report.diagnostics if d.severity == "error"] == [code]
    assert message in report.diagnostics[0].message
