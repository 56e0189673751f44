"""Training with params of few bits and with mismatch, and the cosine with the exact gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import energyc
from energyc.language.diagnostics import UserError
from energyc.running.training.precision import Precision, held
from tests.cli.run import SMALL, UNTIED

QUIET: dict[str, Any] = {"quiet": True, "target": "torch", "pictures": False}
SGD = {"train.optimizer": "sgd", "train.lr": 0.5, "train.momentum": 0.0}


def first_batch(run: energyc.Run) -> dict[str, Any]:
    """The samples of the first update."""
    from energyc.running.runs.prepare import reopen
    from energyc.running.training.feeds import Feed
    from energyc.running.training.order import Order

    prepared = reopen(Path(run))
    feed = Feed(prepared.feeds(), "train", "cpu", torch.float32)
    batch = feed.batch(Order(0, len(feed), 20).indices(0))
    return {"clamps": batch.clamps, "targets": batch.targets}


@pytest.mark.parametrize("bits", [3, 6])
def test_an_update_moves_params_by_the_gradient_at_rounded_ones(bits: int, tmp_path: Path) -> None:
    settings = {**SGD, "train.bits": bits, "nudge.beta": 0.5}
    run = energyc.train(SMALL, out=tmp_path / "run", steps=1, settings=settings, **QUIET)
    net = energyc.load(SMALL, settings=settings, seed=0, dtype=torch.float32, target="torch")
    batch = first_batch(run)
    with held(net, Precision(bits)):
        expected = net.gradients(batch["clamps"], batch["targets"], rule="centered-ep").params
    moved = run.load(target="torch").params
    for name, param in net.params.items():
        after = param.detach() - 0.5 * expected[name]
        assert torch.allclose(moved[name].detach(), after, atol=1e-6), name


def test_evaluations_see_rounded_params(tmp_path: Path) -> None:
    run = energyc.train(SMALL, out=tmp_path / "run", steps=4, settings={"train.bits": 3}, **QUIET)
    numbers = run.evaluate(samples=40).numbers
    assert numbers["cost"] == pytest.approx(run.best["cost"], rel=1e-6)
    rows = run.evaluate(bits=(3,), samples=40).rows
    assert rows[1].results[0]["cost"] == pytest.approx(numbers["cost"], rel=1e-6)
    assert rows[0].results[0]["cost"] != pytest.approx(numbers["cost"], rel=1e-4)


def test_a_run_with_mismatch_goes_on_bit_for_bit(tmp_path: Path) -> None:
    settings = {"train.mismatch": 0.1, "train.bits": 5}
    whole = energyc.train(SMALL, out=tmp_path / "whole", steps=6, settings=settings, **QUIET)
    energyc.train(SMALL, out=tmp_path / "parts", steps=3, settings=settings, **QUIET)
    parts = energyc.resume(tmp_path / "parts", steps=6, quiet=True, pictures=False)
    plain = energyc.train(SMALL, out=tmp_path / "plain", steps=6, **QUIET)
    assert all(torch.equal(whole.params()[name], parts.params()[name]) for name in whole.params())
    assert not torch.equal(whole.params()["W"], plain.params()["W"])


def test_the_cosine_of_a_rule_with_the_exact_gradient(tmp_path: Path) -> None:
    settings = {"train.cosine_every": 2, "relax.steps": 200, "nudge.steps": 200, "nudge.beta": 1e-2}
    run = energyc.train(SMALL, out=tmp_path / "run", steps=5, settings=settings, **QUIET)
    cosines = {row["step"]: row.get("cosine") for row in run.rows if row["kind"] == "train"}
    assert [step for step, value in cosines.items() if value is not None] == [1, 3, 5]
    assert all(value > 0.99 for value in cosines.values() if value is not None)
    data = {"x": np.random.default_rng(0).normal(size=(40, 4)).astype("float32")}
    options = {"rule": "vf", "allow_biased": True, "steps": 1, "settings": {"nudge.beta": 0.1, "train.cosine_every": 1}}
    biased = energyc.train(UNTIED, data, out=tmp_path / "biased", **options, **QUIET)
    assert biased.rows[1]["cosine"] < 0.9999


def test_a_network_without_an_equilibrium_trains_on(tmp_path: Path) -> None:
    """Its adjoint equation is solved or not, by the draw of the device; the run goes on in either case."""
    settings = {"train.cosine_every": 1, "train.bits": 6, "train.mismatch": 0.02}
    run = energyc.train("cem_mlp", out=tmp_path / "run", steps=2, settings=settings, **QUIET)
    cosines = [row["cosine"] for row in run.rows if row["kind"] == "train"]
    assert len(cosines) == 2 and all(cosine is None or cosine < 0.5 for cosine in cosines)


def test_without_an_exact_gradient_there_is_no_cosine(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cosine_every"):
        energyc.train("tel_digits", out=tmp_path / "run", steps=1, settings={"train.cosine_every": 1}, **QUIET)


SCHEDULES = {
    "linear(final = 1/5)": [0.5, 0.4, 0.3, 0.2, 0.1],
    "geometric(final = 16)": [0.5, 1.0, 2.0, 4.0, 8.0],
    "cosine(final = 1/5)": [0.5, 0.5 - 0.2 * (1 - 0.5**0.5), 0.3, 0.3 - 0.2 * 0.5**0.5, 0.1],
    "linear(final = 1/5, over = 3)": [0.5, 0.3, 0.1, 0.1, 0.1],
    "linear(final = 1/5, over = 3/5)": [0.5, 0.3, 0.1, 0.1, 0.1],
}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_of_beta(schedule: str, tmp_path: Path) -> None:
    settings = {"train.beta_schedule": schedule, "nudge.beta": 0.5}
    run = energyc.train(SMALL, out=tmp_path / "run", steps=5, settings=settings, **QUIET)
    assert strengths(run) == pytest.approx(SCHEDULES[schedule])


def strengths(run: energyc.Run) -> list[float]:
    """The strengths of the nudge in the updates of a run."""
    return [row["beta"] for row in run.rows if row["kind"] == "train"]


def test_a_schedule_of_beta_goes_on_where_it_was(tmp_path: Path) -> None:
    settings = {"train.beta_schedule": "cosine(final = 1/5, over = 4)", "nudge.beta": 0.5}
    whole = energyc.train(SMALL, out=tmp_path / "whole", steps=5, settings=settings, **QUIET)
    run = energyc.train(SMALL, out=tmp_path / "run", steps=2, settings=settings, **QUIET)
    run = energyc.resume(run, steps=5, quiet=True, pictures=False)
    assert strengths(run) == strengths(whole)
    assert all(torch.equal(whole.params()[name], run.params()[name]) for name in whole.params())


def test_a_schedule_of_an_automatic_beta(tmp_path: Path) -> None:
    settings = {"train.beta_schedule": "geometric(final = 1/4)", "nudge.beta": "auto"}
    run = energyc.train(SMALL, out=tmp_path / "run", steps=3, settings=settings, **QUIET)
    plain = energyc.train(SMALL, out=tmp_path / "plain", steps=1, settings={"nudge.beta": "auto"}, **QUIET)
    chosen = plain.rows[1]["beta"]
    assert strengths(run) == pytest.approx([chosen, chosen / 2, chosen / 4])


def test_a_rule_without_a_nudge_has_no_schedule_of_beta(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="beta_schedule changes the strength of a nudge, and implicit has none"):
        settings = {"train.beta_schedule": "linear"}
        energyc.train(SMALL, out=tmp_path / "run", rule="implicit", steps=1, settings=settings, **QUIET)


LAYERED = """network layered
dim I = 4, K = 10
data digits = digits(side = 2)
clamp x[I] = digits.image
target label : K = digits.label
param V[K, I] ~ normal(0.1)
layer settle {
  state z[K]
  energy e = 1/2 * sum[k]((z[k] - sum[i](V[k,i] * x[i]))^2)
  nudge { beta = 1/2, steps = 4 }
}
readout out[k] = settle.z[k]
cost miss = 1/2 * sum[k]((settle.z[k] - where(k == label, 1, 0))^2)
"""


def test_layers_have_no_schedule_of_beta(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="changes one nudge, and settle of layered"):
        settings = {"train.beta_schedule": "linear"}
        energyc.train(LAYERED, out=tmp_path / "run", rule="centered-ep", steps=1, settings=settings, **QUIET)
