"""Params that no derivative reaches are named, and only those: theirs are the gradients that are zero."""

from __future__ import annotations

import pytest
import torch

import energyc

SPEC = """\
network n
dim D = 3
clamp x[D]
target t[D]
param W[D, D] ~ normal(0.3), p[D] ~ normal(1)
state z[D]
energy e = 1/2 * sum[d]((z[d] - sum[i](W[d,i] * x[i]))^2)
force f on z[d] = FORCE
relax { step = 0.5, steps = 5 }
cost c = sum[d]((COST - t[d])^2)
metric m = METRIC
train { rule = bptt }
"""
LAYERED = """\
network n
dim D = 3, L = 2
clamp x[D]
target t[D]
param W[D, D] ~ normal(0.3)
repeat L {
  param q[D] ~ normal(1)
  state h[D]
  start h[d] = x[d]
  layer rest {
    param p[D] ~ normal(1)
    state z[D]
    energy e = 1/2 * sum[d]((z[d] - sum[i](W[d,i] * h[i]))^2)
    force f on z[d] = FORCE
    relax { step = 0.5, steps = 5 }
  }
  next h[d] = h[d] + rest.z[d]
}
readout out[d] = h[d]
cost c = sum[d]((h[d] - t[d])^2)
"""
MEAN, DETACH, NOTHING, CONDITION = "mean[batch](...)", "detach(...)", None, "a comparison"
UNREAD = "the readout `r`, which the cost does not read"
UNSEEN = "the force on `y`, on which the cost does not depend"
#: The force, the cost's answer, the metric; and what hides p. A param alone is its own mean, which trains it.
CASES = [
    ("-z[d] * mean[batch](p[d]^2 * z[d])", "z[d]", "0", MEAN),
    ("-z[d] * mean[batch](frozen(p[d]) * z[d])", "z[d]", "sum[d](p[d])", MEAN),
    ("-z[d] * detach(tanh(p[d]))", "z[d]", "0", DETACH),
    ("-z[d] * detach(p[d]) * mean[batch](p[d] * x[d])", "z[d]", "0", f"{DETACH} and {MEAN}"),
    ("-z[d]", "z[d]", "sum[d](p[d] * z[d])", NOTHING),
    ("-z[d] * mean[batch](p[d] * z[d])", "p[d] * z[d]", "0", "trained"),
    ("-z[d] * mean[batch](p[d])", "z[d]", "0", "trained"),
    ("-z[d] * frozen(tanh(p[d]))", "z[d]", "0", "trained"),
    ("-z[d] * p[d] * mean[batch](p[d] * z[d])", "z[d]", "0", "trained"),
    ("-z[d] * sign(p[d])", "z[d]", "0", "sign(...)"),
    ("-relu'(tanh(p[d])) * z[d]", "z[d]", "0", "relu'(...)"),
    ("-where(z[d] > p[d], z[d], x[d])", "z[d]", "0", CONDITION),
    ("-where(p[d] >= 0 and x[d] > 0, z[d], x[d])", "z[d]", "sum[d](p[d])", CONDITION),
    ("-where(z[d] > p[d], z[d], p[d])", "z[d]", "0", "trained"),
    ("-abs(p[d]) * z[d]", "z[d]", "0", "trained"),
    ("-z[d]", "sign(p[d]) * z[d]", "0", "sign(...)"),
    ("-z[d] * sign(p[d])", "z[d] * where(z[d] > p[d], 1, 2)", "0", f"{CONDITION} and sign(...)"),
]
#: Lines of a spec, and what hides p. Of a kink that moves proximally, and of the slope of a maximum by z, p is a part.
LINES = [
    ("energy a = sum[d](p[d] + z[d]^2)", "the energy `a`, whose slope by the states does not read it"),
    ("energy a = sum[d](frozen(p[d] * z[d]))", "the energy `a`, whose slope by the states does not read it"),
    ("energy a = sum[d](frozen(p[d]) * z[d])", "trained"),
    ("energy a = sum[d](abs(z[d] - p[d]))", "abs'(...)"),
    ("energy a = sum[d](max(z[d], p[d]))", CONDITION),
    ("energy a = sum[d](p[d]^2 * abs(z[d]))", "trained"),
    ("energy a = max[d](z[d] * p[d])", "trained"),
    ("tie q[d] = p[d]\nforce g on z[d] = sign(q[d])", "sign(...)"),
    ("tie q[d] = p[d]\nforce g on z[d] = q[d]", "trained"),
    ("readout r[d] = p[d] * z[d]", UNREAD),
    ("state y[D]\nenergy a = 1/2*sum[d](y[d]^2) - sum[d](p[d] * y[d])", UNSEEN),
    ("state y[D]\nforce g on y[d] = p[d] + z[d] - y[d]", UNSEEN),
    ("state y[D]\nforce g on y[d] = p[d] - y[d]\nforce h on z[d] = sign(y[d]) + detach(y[d])", UNSEEN),
    ("state y[D]\nforce g on y[d] = p[d] - y[d]\nforce h on z[d] = y[d]", "trained"),
    ("state y[D]\nforce g on y[d] = sign(p[d]) - y[d]\nforce h on z[d] = y[d]", "sign(...)"),
    ("start z[d] = p[d] * x[d]", "trained"),
    (
        "start z[d] = sign(p[d]) * x[d]\nreadout r[d] = p[d]",
        f"sign(...) and {UNREAD}",
    ),
    ("clamp k : D\nenergy a = p[k] * z[k]", "trained"),
    ("clamp k : D\nenergy a = sum[d | d == k](sign(p[d]) * z[d])", "sign(...)"),
]


def hidden_by(spec: str) -> dict[str, str | None]:
    """The params that are warned of, each with what hides it."""
    found = {}
    for warning in energyc.check(spec).diagnostics:
        if warning.code == "W0401":
            _, name, rest = warning.message.split("`", 2)
            why = rest.removeprefix(" is never trained: ")
            assert warning.span is not None
            assert warning.help
            found[name] = why.removeprefix("it is read only in ") if "only" in why else NOTHING
    return found


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize(("force", "answer", "metric", "hidden"), CASES)
def test_a_param_that_no_derivative_reaches_is_named(force: str, answer: str, metric: str, hidden: str | None) -> None:
    parts = {"FORCE": force, "COST": answer, "METRIC": metric}
    spec = SPEC
    for word, text in parts.items():
        spec = spec.replace(word, text)
    assert hidden_by(spec) == ({} if hidden == "trained" else {"p": hidden})
    gradients = by_all_steps(spec)
    assert bool(gradients["p"].any()) == (hidden == "trained")
    assert bool(gradients["W"].any())


def by_all_steps(spec: str) -> dict[str, torch.Tensor]:
    """The gradients of bptt at random values."""
    net = energyc.load(spec, dtype=torch.float64, seed=3)
    random = torch.Generator().manual_seed(1)
    x, t = (torch.randn(4, 3, generator=random, dtype=torch.float64) for _ in range(2))
    given = {"x": x, "k": torch.tensor([0, 1, 2, 1])} if "clamp k" in spec else {"x": x}
    return dict(net.gradients(given, {"t": t}, rule="bptt").params)


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize(("lines", "hidden"), LINES)
def test_a_param_that_the_cost_does_not_depend_on_is_named(lines: str, hidden: str) -> None:
    spec = SPEC.replace("metric m = METRIC\n", "").replace("COST", "z[d]").replace("force f on z[d] = FORCE", lines)
    assert hidden_by(spec) == ({} if hidden == "trained" else {"p": hidden})
    assert bool(by_all_steps(spec)["p"].any()) == (hidden == "trained")


@pytest.mark.parametrize("rule", ["bptt", "tbptt", "implicit", "ep", "centered-ep", "vf", "adjoint"])
def test_a_start_is_trained_by_all_steps_alone(rule: str) -> None:
    lines = "start z[d] = p[d] * x[d]"
    spec = SPEC.replace("metric m = METRIC\n", "").replace("COST", "z[d]").replace("force f on z[d] = FORCE", lines)
    spec = spec.replace("rule = bptt", f"rule = {rule}")
    warned = [each.message for each in energyc.check(spec).diagnostics if each.code == "W0404"]
    said = f"param `p` is not trained by {rule}: the cost depends on it only through the start of `z`"
    assert warned == ([] if rule == "bptt" else [said])
    net = energyc.load(spec, dtype=torch.float64, seed=3)
    x = torch.ones(2, 3, dtype=torch.float64)
    gradient = net.gradients({"x": x}, {"t": 2 * x}, rule=rule).params["p"]
    assert bool(gradient.any()) == (rule == "bptt")


def test_the_penalty_trains_what_the_jacobian_reads() -> None:
    lines = "state y[D]\nparam q[D] ~ normal(1)\nforce g on y[d] = z[d]^2 - p[d] * y[d] + q[d]"
    spec = SPEC.replace("metric m = METRIC\n", "").replace("COST", "z[d]").replace("force f on z[d] = FORCE", lines)
    assert hidden_by(spec) == {"p": UNSEEN, "q": UNSEEN}
    spec = spec.replace("rule = bptt", "rule = implicit, penalty = jacobian(target = 0.1)")
    assert hidden_by(spec) == {"q": UNSEEN}


@pytest.mark.parametrize(
    ("force", "hidden"),
    [
        ("-z[d] * p[d] * q[d]", {}),
        ("-z[d] * mean[batch](p[d] * z[d]) * q[d]", {"rest.p": MEAN}),
        ("-z[d] * mean[batch](p[d] * q[d] * z[d])", {"rest.p": MEAN, "q": MEAN}),
        ("-z[d] * detach(p[d]) * mean[batch](q[d] * z[d])", {"rest.p": DETACH, "q": MEAN}),
        ("-z[d] * sign(p[d]) + where(q[d] > 0, z[d], 0)", {"rest.p": "sign(...)", "q": CONDITION}),
        ("sign(p[d]) * q[d] + p[d]", {}),
    ],
)
def test_params_of_layers_and_around_them_are_named(force: str, hidden: dict[str, str]) -> None:
    assert hidden_by(LAYERED.replace("FORCE", force)) == hidden
