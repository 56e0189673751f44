"""Training of params on sets: they stay there with every optimiser, resume bit for bit, and learn."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc
from energyc.language.diagnostics import Source
from energyc.language.settings import TrainOptions
from energyc.language.settings.train import OPTIMIZERS
from energyc.pipeline import Choices, emit, resolve
from energyc.running.training.feeds import Feeds
from energyc.running.training.loop import train
from energyc.running.training.network import off_sets
from energyc.running.training.precision import Precision, held
from energyc.running.training.session import Session
from tests.emit.test_text import lint
from tests.train.tiny import TinyData

#: A network with a param on each set; x and t are six numbers.
TEXT = """# Sets.
network sets
dim I = 6, N = 5, K = 3, L = 2
clamp x[I]
target t[I]
param W[N, N] ~ normal(0.1) in symmetric and zero_diagonal and [-1/2, 1/2]
param H[L, N, N] ~ uniform(0.1) in symmetric
param Q[N, N] in orthogonal, R[K, N] in orthogonal, P[K, N] in sphere[N]
param A[N, I], B[I, N], C[K, N] ~ normal(0.3)
state z[N] in [-2, 2]
let u[n] = sum[i](A[n,i] * x[i])
energy leak = sum[n]((z[n] - sum[m](Q[n,m] * u[m]))^2) - 1/2 * sum[n,m](W[n,m] * z[n] * z[m])
energy heads = -1/8 * sum[l,n,m](H[l,n,m] * tanh(z[n]) * tanh(z[m]))
energy rows = 1/4 * sum[k](softplus(sum[n](R[k,n] * z[n])) + tanh(sum[n](P[k,n] * z[n])) * sum[n](C[k,n] * z[n]))
readout o[i] = sum[n](B[i,n] * z[n])
cost mse = mean[i]((o[i] - t[i])^2)
relax { step = 0.2, steps = 30 }
nudge { beta = 0.1, steps = 8 }
"""
HOPFIELD = """# A Hopfield network whose weights are symmetric, without self-connections.
network hopfield
dim I = 6, N = 12
clamp x[I]
target t[I]
param W[N, N] ~ normal(0.1) in symmetric and zero_diagonal
param A[N, I], B[I, N] ~ glorot
param b[N] = 0
state s[N] in [-1, 1]
energy leak = 1/2 * sum[n](s[n]^2)
energy stored = -1/2 * sum[n,m](W[n,m] * s[n] * s[m]) - sum[n]((b[n] + sum[i](A[n,i] * x[i])) * s[n])
readout o[i] = sum[n](B[i,n] * s[n])
cost mse = mean[i]((o[i] - t[i])^2)
relax { step = 0.2, steps = 40 }
nudge { beta = 0.1, steps = 10 }
"""


def session(out: Path, net: Any, settings: dict[str, Any]) -> Session:
    feeds = Feeds({"pairs": TinyData((6,))}, {"x": ("pairs", "x")}, {"t": ("pairs", "t")})
    options = TrainOptions.from_settings({"batch": 8, "rule": "centered-ep", **settings})
    return Session(net, feeds, options, out, {"spec.energy": "network tiny\n"}, {"energyc": "0.0"})


def loaded(text: str = TEXT, dtype: torch.dtype = torch.float32) -> Any:
    return copy.deepcopy(_compiled(text, dtype))


@cache
def _compiled(text: str, dtype: torch.dtype) -> Any:
    return energyc.load(text, rules=["centered-ep"], dtype=dtype)


def gaps(params: dict[str, Tensor]) -> dict[str, float]:
    """How far params of TEXT are from their sets, straight from the definitions."""
    wide = {name: param.detach().double() for name, param in params.items()}
    one = {name: torch.eye(len(wide[name]), dtype=torch.float64) for name in "QR"}
    return {
        "W mirrored": float((wide["W"] - wide["W"].T).abs().max()),
        "W diagonal": float(wide["W"].diagonal().abs().max()),
        "W box": max(0.0, float(wide["W"].abs().max()) - 0.5),
        "H": float((wide["H"] - wide["H"].transpose(1, 2)).abs().max()),
        **{name: float((wide[name] @ wide[name].T - one[name]).abs().max()) for name in "QR"},
        "P": float((wide["P"].norm(dim=1) - 1).abs().max()),
    }


def assert_on_sets(params: dict[str, Tensor], rounding: float) -> None:
    found = gaps(params)
    exact = {name: found.pop(name) for name in ("W mirrored", "W diagonal", "W box", "H")}
    assert set(exact.values()) == {0.0}, exact
    assert max(found.values()) < rounding, found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_params_start_on_their_sets(dtype: torch.dtype) -> None:
    net = loaded(dtype=dtype)
    assert_on_sets(net.params, 10 * torch.finfo(dtype).eps)
    other = energyc.load(TEXT, rules=["centered-ep"], dtype=dtype, seed=1)
    assert not torch.equal(net.params["Q"], other.params["Q"])


@pytest.mark.abridged
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_params_stay_on_their_sets(optimizer: str, tmp_path: Path) -> None:
    """In float32, to ten roundings; the symmetric ones and the diagonal exactly. All of them move."""
    net = loaded()
    before = {name: param.detach().clone() for name, param in net.params.items()}
    settings: dict[str, Any] = {"steps": 12, "optimizer": optimizer, "lr": 0.05, "weight_decay": 0.01, "clip": 1.0}
    train(session(tmp_path / "run", net, settings))
    assert_on_sets(net.params, 10 * torch.finfo(torch.float32).eps)
    for name, start in before.items():
        assert float((net.params[name].detach() - start).abs().max()) > 1e-5, name


def test_a_resumed_run_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    settings = {"steps": 10, "optimizer": "adam", "lr": 0.02, "schedule": "constant", "save_every": 3, "eval_every": 6}
    whole, first, second = loaded(), loaded(), loaded()
    train(session(tmp_path / "whole", whole, settings))
    train(session(tmp_path / "parts", first, {**settings, "steps": 6}))
    train(session(tmp_path / "parts", second, settings), resume=True)
    for name, value in whole.params.items():
        assert torch.equal(value, second.params[name]), name
    logs = [(tmp_path / name / "metrics.jsonl").read_bytes() for name in ("whole", "parts")]
    assert logs[0] == logs[1]


@pytest.mark.slow
def test_a_hopfield_network_learns_with_symmetric_weights_without_self_connections(tmp_path: Path) -> None:
    net = loaded(HOPFIELD)
    train(session(tmp_path / "run", net, {"steps": 150, "optimizer": "adam", "lr": 0.02, "eval_every": 50}))
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    costs = [row["cost"] for row in rows if row["kind"] == "eval"]
    assert costs[-1] < costs[0] / 3
    w = net.params["W"].detach()
    assert torch.equal(w, w.T) and not w.diagonal().any() and float(w.abs().max()) > 0.05


def test_a_step_of_sgd_goes_down_the_gradient_along_the_sets() -> None:
    """A small step changes the cost by minus the rate times the squared norm of the gradient along the sets."""
    net = energyc.load(TEXT, rules=["implicit"], dtype=torch.float64, settings={"relax.steps": 400})
    random = torch.Generator().manual_seed(4)
    clamps = {"x": torch.randn((4, 6), generator=random, dtype=torch.float64)}
    targets = {"t": torch.randn((4, 6), generator=random, dtype=torch.float64)}

    def cost() -> float:
        return float(net.cost(net.relax(clamps).states, clamps, targets).mean())

    found = net.gradients(clamps, targets, rule="implicit").params
    along = net.project_gradients(found)
    starts = {name: param.detach().clone() for name, param in net.params.items()}
    for name in ("Q", "R", "P", "W", "H", None):
        h = 1e-6
        ends = []
        for step in (h, -h):
            with torch.no_grad():
                for other, param in net.params.items():
                    param.copy_(starts[other] - step * along[other] * (name in (None, other)))
            net.project_params()
            ends.append(cost())
        expected = -sum(float(along[n].square().sum()) for n in starts if name in (None, n))
        assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(expected, rel=1e-5, abs=1e-9), name
    assert all(torch.equal(found[name], along[name]) for name in ("A", "B", "C"))
    assert not torch.allclose(found["Q"], along["Q"])


CALLED = ("mirrored", "symmetric", "zero_diagonal", "unit", "orthogonal", "along_orthogonal")


@pytest.mark.abridged
@pytest.mark.parametrize("target", ["torch", "cpp", "triton"])
def test_a_module_calls_what_its_sets_need_and_no_more(target: str, tmp_path: Path) -> None:
    text = module_text(TEXT, target)
    assert all(f"rt.ops.{name}(" in text for name in CALLED)
    (tmp_path / "module.py").write_text(text, encoding="utf-8")
    assert lint(tmp_path, "RUF012,B905,E741") == ""
    free = module_text(HOPFIELD.replace(" in symmetric and zero_diagonal", ""), target)
    assert not any(f"rt.ops.{name}(" in free for name in CALLED)


def module_text(text: str, target: str) -> str:
    return emit(resolve(Source("spec.energy", text), Choices()), ["centered-ep"], target=target).text


IN_A_REPEAT = """network test
dim I = 3, D = 4, L = 2
clamp x[I]
target y[D]
param V[D, I] ~ normal
repeat L {
  param S[D, D] ~ normal(0.5) in symmetric and zero_diagonal
  state h[D]
  start h[d] = sum[i](V[d,i] * x[i])
  layer cell {
    param Q[D, D] in orthogonal
    param P[D] in sphere[D]
    state z[D]
    energy well = 1/2 * sum[d]((z[d] - sum[e](Q[d,e] * h[e]))^2) + sum[d](P[d] * tanh(z[d]))
    relax { step = 0.3, steps = 4 }
  }
  next h[d] = h[d] + sum[e](S[d,e] * cell.z[e])
}
readout out[d] = h[d]
cost c = mean[d]((out[d] - y[d])^2)
"""


def test_each_copy_of_a_repeat_is_on_its_sets() -> None:
    net = energyc.load(IN_A_REPEAT, dtype=torch.float64)
    assert tuple(net.params["cell.Q"].shape) == (2, 4, 4)
    for change in (0.0, 0.7):
        with torch.no_grad():
            for param in net.parameters():
                param.add_(
                    change * torch.randn(param.shape, generator=torch.Generator().manual_seed(1), dtype=param.dtype)
                )
        net.project_params()
        s, q, p = (net.params[name].detach() for name in ("S", "cell.Q", "cell.P"))
        assert torch.equal(s, s.mT) and not s.diagonal(dim1=1, dim2=2).any() and s.any()
        torch.testing.assert_close(q @ q.mT, torch.eye(4, dtype=q.dtype).expand(2, 4, 4), rtol=0, atol=1e-13)
        torch.testing.assert_close(p.norm(dim=1), torch.ones(2, dtype=p.dtype), rtol=0, atol=1e-13)
    along = net.project_gradients({"S": torch.ones(2, 4, 4, dtype=torch.float64)})["S"]
    assert torch.equal(along, 1 - torch.eye(4, dtype=along.dtype).expand(2, 4, 4))


def test_training_starts_from_params_on_their_sets_and_says_so(tmp_path: Path) -> None:
    net = loaded(dtype=torch.float64)
    assert off_sets(net) == {}
    with torch.no_grad():
        net.params["W"][0, 1] += 0.2
        net.params["P"].mul_(1.5)
    assert off_sets(net) == {"W": pytest.approx(0.1, abs=0.02), "P": pytest.approx(0.5, abs=0.5)}
    w = net.params["W"].detach().clone()
    with pytest.warns(RuntimeWarning, match="these are off: W by 0.1"):
        made = session(tmp_path / "run", net, {"steps": 1, "optimizer": "sgd", "lr": 0.0})
        train(replace(made, dtype=torch.float64))
    assert torch.equal(net.params["W"], (w + w.T) / 2)


def test_a_device_rounds_directions_too() -> None:
    """Values on a device are on its grid, though the rounded rows are not quite orthonormal, and within the box."""
    net = loaded(dtype=torch.float64)
    before = {name: param.detach().clone() for name, param in net.params.items()}
    with held(net, Precision(bits=4)):
        for name in ("Q", "W", "P"):
            value = net.params[name].detach()
            steps = 7 * value / before[name].abs().max()
            torch.testing.assert_close(steps, steps.round(), rtol=0, atol=1e-9)
        assert torch.equal(net.params["W"], net.params["W"].T) and "Q" in off_sets(net)
    with held(net, Precision(mismatch=0.5), seed=1):
        assert float(net.params["W"].detach().abs().max()) <= 0.5
    assert all(torch.equal(net.params[name], value) for name, value in before.items())
