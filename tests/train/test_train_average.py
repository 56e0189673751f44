"""The moving average of the params: its formula, its sets, what is evaluated with it, and an exact resume."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor

import energyc
from energyc.running.runs.saved import load_run
from energyc.running.training.optimizers import Average
from tests.cli.run import energyc as run

SPEC = """network averaged
dim I = 64, J = 5, K = 10
data digits = digits(side = 8)
clamp x[I] = digits.image
target label : K = digits.label
param W[I, J] ~ glorot, V[J, K] ~ glorot, Q[J, J] ~ normal(1) in orthogonal
state s[J]
energy e = 1/2 * sum[j](s[j]^2) - sum[i,j](x[i] * W[i,j] * tanh(s[j])) + 1/8 * sum[j,k in J](s[j] * Q[j,k] * tanh(s[k]))
relax { step = 1/2, steps = 30 }
readout scores[k] = sum[j](s[j] * V[j,k])
cost ce = cross_entropy[k](scores[k], label)
train { rule = implicit, batch = 20, lr = 0.05, ema = 0.9, steps = 6, save_every = 1, eval_samples = 40 }
"""
DECAY = 0.9


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("average") / "averaged.energy"
    path.write_text(SPEC)
    return path


def test_it_is_the_average_of_the_params_after_each_update(spec: Path, tmp_path: Path) -> None:
    """By the params of runs of one update, two updates, and so on."""
    params, last = [], None
    for steps in range(4):
        last = load_run(energyc.train(spec, steps=steps, out=tmp_path / str(steps)).folder).checkpoint("last")
        params.append(last.params)
    assert last is not None
    for name in ("W", "V"):
        expected: Tensor = params[0][name].double()
        for update in (1, 2, 3):
            decay = min(DECAY, (1 + update) / (10 + update))
            expected = decay * expected + (1 - decay) * params[update][name].double()
        torch.testing.assert_close(last.average[name].double(), expected, rtol=0, atol=1e-6)
        assert not torch.equal(last.average[name], last.params[name])


def test_it_stays_on_its_set(spec: Path, tmp_path: Path) -> None:
    last = load_run(energyc.train(spec, out=tmp_path / "run").folder).checkpoint("last")
    rows = last.average["Q"].double()
    torch.testing.assert_close(rows @ rows.T, torch.eye(5, dtype=torch.float64), rtol=0, atol=1e-5)


def test_it_is_evaluated_and_used(spec: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A run's numbers, `eval`, and a network that is loaded are those of the average."""
    out = tmp_path / "run"
    assert run(capfd, "train", spec, "--out", out).status == 0
    saved = load_run(out)
    last = saved.checkpoint("last")
    net = energyc.load(spec)
    saved.load_into(net, "last")
    assert all(torch.equal(net.params[name], value) for name, value in last.average.items())
    shown = run(capfd, "eval", out, "--samples", "40", "--format", "json")
    assert shown.status == 0
    measured = json.loads(shown.out)
    (row,) = [row for row in saved.rows() if row["kind"] == "eval" and row["step"] == measured["step"] > 0]
    assert measured["cost"] == pytest.approx(row["cost"], rel=1e-6)


def test_a_resumed_run_is_the_same_bit_for_bit(spec: Path, tmp_path: Path) -> None:
    whole = load_run(energyc.train(spec, out=tmp_path / "whole").folder)
    halves = energyc.train(spec, steps=3, out=tmp_path / "halves")
    resumed = load_run(energyc.resume(halves.folder, steps=6).folder)
    assert whole.rows()[-1] == resumed.rows()[-1]
    one, other = whole.checkpoint("last"), resumed.checkpoint("last")
    for name, value in one.average.items():
        assert torch.equal(value, other.average[name])
        assert torch.equal(one.params[name], other.params[name])


def test_without_it_nothing_is_kept(spec: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """And a run without one cannot be resumed with one."""
    out = tmp_path / "run"
    assert run(capfd, "train", spec, "--out", out, "--steps", "1", "--set", "train.ema=none").status == 0
    last = load_run(out).checkpoint("last")
    assert not last.average
    assert last.weights is last.params
    assert not list(out.glob("checkpoints/*/average*"))
    info = json.loads((out / "run.json").read_text())
    info["options"]["ema"] = DECAY
    (out / "run.json").write_text(json.dumps(info))
    resumed = run(capfd, "train", "--resume", out, "--steps", "2")
    assert resumed.status == 1
    assert "lacks its average" in resumed.err


def test_params_are_given_back_after_an_error(spec: Path) -> None:
    net = energyc.load(spec)
    average = Average(net, DECAY)
    before = {name: value.detach().clone() for name, value in net.params.items()}
    average.values = {name: value + 1 for name, value in average.values.items()}
    with pytest.raises(ZeroDivisionError), average.in_place():
        assert not torch.equal(net.params["W"], before["W"])
        _ = 1 / 0
    assert all(torch.equal(net.params[name], value) for name, value in before.items())
