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
MEAN, DETACH, NOTHING = "mean[batch](...)", "detach(...)", None
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
]


def hidden_by(spec: str) -> dict[str, str | None]:
    """The params that are warned of, each with what hides it."""
    found = {}
    for warning in energyc.check(spec).diagnostics:
        if warning.code == "W0401":
            _, name, rest = warning.message.split("`")
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
    net = energyc.load(spec, dtype=torch.float64, seed=3)
    random = torch.Generator().manual_seed(1)
    x, t = (torch.randn(4, 3, generator=random, dtype=torch.float64) for _ in range(2))
    gradients = net.gradients({"x": x}, {"t": t}, rule="bptt").params
    assert bool(gradients["p"].any()) == (hidden == "trained")
    assert bool(gradients["W"].any())


@pytest.mark.parametrize(
    ("force", "hidden"),
    [
        ("-z[d] * p[d] * q[d]", {}),
        ("-z[d] * mean[batch](p[d] * z[d]) * q[d]", {"rest.p": MEAN}),
        ("-z[d] * mean[batch](p[d] * q[d] * z[d])", {"rest.p": MEAN, "q": MEAN}),
        ("-z[d] * detach(p[d]) * mean[batch](q[d] * z[d])", {"rest.p": DETACH, "q": MEAN}),
    ],
)
def test_params_of_layers_and_around_them_are_named(force: str, hidden: dict[str, str]) -> None:
    assert hidden_by(LAYERED.replace("FORCE", force)) == hidden
