"""Integer clamps read at the number of the step: which element of a sample each step compares, gathers, adds to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import energyc
from energyc import pipeline
from tests.emit.kernels import needs_compiler
from tests.fuzz.differential import in_float64

SITE = """
network site
dim N = 3, T = 2
clamp x[N], site[T] : N
target y[N]
param g = 1
state s[N]
next s[i] = where(i == site[t], g * x[i], s[i])
readout out[i] = s[i]
cost c = mean[i]((s[i] - y[i])^2)
relax t in T { }
train { rule = bptt }
"""
STREAM = """
network stream
dim N = 4, T = 5, V = 6
clamp tok[T] : V
target y[N]
param emb[V, N] ~ normal(1)
state s[N]
next s[i] = 1/2 * s[i] + emb[tok[t], i]
readout out[i] = s[i]
cost c = mean[i]((s[i] - y[i])^2)
relax t in T { }
nudge { steps = 5 }
train { rule = bptt }
"""
#: A table with another axis beside the steps, a place that another clamp gives, and a clamp without axes.
WALK = """
network walk
dim N = 3, T = 4, V = 2
clamp x[N, T], row[T, N] : V, column[N, T] : V, order[T] : T, site[T] : N, home : N
target y[N]
param emb[V, N] ~ normal(1), w[T, N] ~ normal(1)
state s[N]
next s[i] = 1/2 * s[i] + emb[row[t, i], i] + emb[column[i, t], home] * x[site[t], t] + w[order[t], site[t]]
  + where(site[order[t]] == i or site[t] == home, x[i, order[t]], 0)
readout out[i] = s[i]
cost c = mean[i]((s[i] - y[i])^2)
relax t in T { }
nudge { steps = 4 }
train { rule = bptt }
"""
TARGETS = [
    "torch",
    pytest.param("cpp", marks=[needs_compiler, pytest.mark.slow]),
    pytest.param("jax", marks=pytest.mark.slow),
]
BATCHES = (1, 2, 3, 4, 5)


@pytest.fixture(autouse=True)
def float64(request: pytest.FixtureRequest) -> Iterator[None]:
    """JAX in float64, where a test uses it."""
    if getattr(request.node, "callspec", None) is None or request.node.callspec.params.get("target") != "jax":
        yield
        return
    pytest.importorskip("jax")
    with in_float64():
        yield


def loaded(text: str, target: str, **params: torch.Tensor) -> Any:
    net = energyc.load(text, dtype=torch.float64, target=target, rules=["bptt", "tbptt"])
    for name, value in params.items():
        if target == "jax":
            net.params[name][...] = value.detach().numpy()
        else:
            with torch.no_grad():
                net.params[name].copy_(value)
    return net


def states(net: Any, clamps: dict[str, torch.Tensor]) -> Any:
    """Where s is after all steps."""
    if net.target != "jax":
        return net.relax(clamps, steps=None).states["s"]
    (found,) = sys.modules[type(net).__module__].relax(*net.given(clamps)).states
    return found


def gradients(net: Any, clamps: dict[str, torch.Tensor], y: torch.Tensor, rule: str) -> dict[str, Any]:
    """The gradient of the mean cost by the params."""
    if net.target != "jax":
        return net.gradients(clamps, {"y": y}, rule=rule, allow_biased=True).params
    module = sys.modules[type(net).__module__]
    return getattr(module, rule)(*net.given(clamps), module.Targets(y.numpy())).params._asdict()


def tensor(values: Any) -> torch.Tensor:
    return values.detach() if isinstance(values, torch.Tensor) else torch.from_numpy(np.array(values))


def close(found: Any, expected: torch.Tensor) -> None:
    torch.testing.assert_close(tensor(found), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
def test_where_a_position_is_that_of_the_step(target: str) -> None:
    """Also where a batch is as large as the dim that is compared."""
    net = loaded(SITE, target, g=torch.ones(()))
    x = torch.tensor([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]], dtype=torch.float64)
    site = torch.tensor([[0, 1], [2, 1], [1, 1]])
    right = torch.tensor([[1.0, 2, 0], [0, 5, 6], [0, 8, 0]], dtype=torch.float64)
    for rows in ([0, 1, 2], [0], [1, 2], [2, 0, 1, 1]):
        close(states(net, {"x": x[rows], "site": site[rows]}), right[rows])


def stream(emb: torch.Tensor, tok: torch.Tensor) -> torch.Tensor:
    """The states of STREAM: [samples, N]."""
    s = torch.zeros(len(tok), emb.shape[1], dtype=emb.dtype)
    for t in range(tok.shape[1]):
        s = s / 2 + emb[tok[:, t]]
    return s


def walk(emb: torch.Tensor, w: torch.Tensor, c: dict[str, torch.Tensor]) -> torch.Tensor:
    """The states of WALK: [samples, N], sample by sample, entry by entry."""
    samples, n, steps = c["x"].shape
    found = []
    for k in range(samples):
        s = [torch.zeros((), dtype=emb.dtype)] * n
        for t in range(steps):
            place, order, home = c["site"][k, t], c["order"][k, t], c["home"][k]
            for i in range(n):
                s[i] = s[i] / 2 + emb[c["row"][k, t, i], i] + w[order, place]
                s[i] = s[i] + emb[c["column"][k, i, t], home] * c["x"][k, place, t]
                if c["site"][k, order] == i or place == home:
                    s[i] = s[i] + c["x"][k, i, order]
        found.append(torch.stack(s))
    return torch.stack(found)


@pytest.mark.parametrize("target", TARGETS)
def test_a_row_that_the_step_names(target: str) -> None:
    random = torch.Generator().manual_seed(0)
    emb = torch.randn(6, 4, generator=random, dtype=torch.float64, requires_grad=True)
    net = loaded(STREAM, target, emb=emb)
    for batch in BATCHES if target != "jax" else (1, 4):
        tok = torch.randint(6, (batch, 5), generator=random)
        y = torch.randn(batch, 4, generator=random, dtype=torch.float64)
        right = stream(emb, tok)
        (slope,) = torch.autograd.grad((right - y).square().mean(), emb)
        close(states(net, {"tok": tok}), right.detach())
        for rule in ("bptt", "tbptt"):
            close(gradients(net, {"tok": tok}, y, rule)["emb"], slope)


@pytest.mark.parametrize("target", TARGETS)
def test_places_among_other_axes_and_places_of_places(target: str) -> None:
    random = torch.Generator().manual_seed(1)
    emb, w = (
        torch.randn(*shape, generator=random, dtype=torch.float64, requires_grad=True) for shape in ((2, 3), (4, 3))
    )
    net = loaded(WALK, target, emb=emb, w=w)
    shapes = {"row": (4, 3, 2), "column": (3, 4, 2), "order": (4, 4), "site": (4, 3), "home": (3,)}
    for batch in BATCHES if target != "jax" else (1, 3):
        clamps = {name: torch.randint(over, (batch, *dims), generator=random) for name, (*dims, over) in shapes.items()}
        x = torch.randn(batch, 3, 4, generator=random, dtype=torch.float64, requires_grad=True)
        y = torch.randn(batch, 3, generator=random, dtype=torch.float64)
        right = walk(emb, w, {**clamps, "x": x})
        slopes = torch.autograd.grad((right - y).square().mean(), [emb, w], retain_graph=True)
        given = {**clamps, "x": x.detach()}
        close(states(net, given), right.detach())
        found = gradients(net, given, y, "bptt")
        for name, slope in zip(("emb", "w"), slopes, strict=True):
            close(found[name], slope)
        if target != "jax":
            (own,) = torch.autograd.grad(net({**clamps, "x": x}, rule="bptt")["out"].sin().sum(), x)
            close(own, torch.autograd.grad(right.sin().sum(), x)[0])


def test_the_slopes_of_a_row_are_added_to_it_without_a_table() -> None:
    """A table of samples by rows by entries grows with the vocabulary."""
    network = pipeline.resolve(pipeline.read(STREAM))
    written = {"torch": "scatter_add(cot_s, fixed.tok[:, fixed.t], V)", "jax": "params.emb[fixed.tok[:, fixed.t]]"}
    for target, line in written.items():
        text = pipeline.emit(network, ("bptt",), target=target).text
        assert line in text and "one_hot" not in text
