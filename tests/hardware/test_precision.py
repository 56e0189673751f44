"""Params of few bits and with mismatch: the values that they take, and the metrics of a network that holds them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import energyc as package
from energyc.language.diagnostics import UserError
from energyc.running.runs.prepare import to_evaluate
from energyc.running.training.feeds import Feed
from energyc.running.training.precision import Precision, grid, held
from tests.cli.run import energyc, written

Capture = pytest.CaptureFixture[str]

TIED = """\
network tied
dim N = 4
clamp x[N]
param W[N, N] ~ normal(0.3), g[N] ~ uniform(0.2, 0.9) in [0.1, 1]
tie V[a,b] = W[b,a]
state z[N]
energy e = 1/2 * sum[n](g[n] * z[n]^2) - sum[n,m](x[n] * W[n,m] * z[m]) - sum[n,m](x[n] * V[n,m] * z[m])
cost c = 1/2 * sum[n](z[n]^2)
"""


@pytest.fixture
def seed() -> int:
    drawn = int(os.environ.get("ENERGYC_SEED", np.random.SeedSequence().entropy % 2**32))
    print(f"seed {drawn}")
    return drawn


def levels(low: float, high: float, count: int) -> np.ndarray:
    return np.linspace(low, high, count)


def nearest(values: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """By looking at every level."""
    return allowed[np.abs(values[..., None] - allowed).argmin(-1)]


@pytest.mark.parametrize("bits", [2, 3, 6, 9])
def test_every_entry_goes_to_the_nearest_level(bits: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(7, 5))
    largest = np.abs(values).max()
    tensor = torch.from_numpy(values)
    signed = nearest(values, levels(-largest, largest, 2**bits - 1))
    assert np.allclose(grid(tensor, bits).nearest(tensor).numpy(), signed, rtol=0, atol=1e-12)

    positive = np.abs(values) + 0.1
    tensor = torch.from_numpy(positive)
    one_sided = nearest(positive, levels(0.05, positive.max(), 2**bits))
    assert np.allclose(grid(tensor, bits, (0.05, 9.0)).nearest(tensor).numpy(), one_sided, rtol=0, atol=1e-12)
    box = nearest(positive, levels(0.05, 9.0, 2**bits))
    assert np.allclose(grid(tensor, bits, (0.05, 9.0), "box").nearest(tensor).numpy(), box, rtol=0, atol=1e-12)
    below = grid(-tensor, bits, (None, 0.0)).nearest(-tensor).numpy()
    assert np.allclose(below, nearest(-positive, levels(-positive.max(), 0.0, 2**bits)), rtol=0, atol=1e-12)


def test_zero_stays_zero_and_constants_stay_as_they_are() -> None:
    tensor = torch.tensor([-1.0, 0.0, 0.3], dtype=torch.float64)
    assert grid(tensor, 3).nearest(tensor)[1] == 0
    for same in (torch.zeros(3), torch.full((3,), 0.4)):
        assert torch.equal(grid(same, 4).nearest(same), same)
        assert torch.equal(grid(same, 4, (0.0, 1.0)).nearest(same), same)


def test_a_network_holds_rounded_params_and_gets_its_own_back(seed: int) -> None:
    net: Any = package.load(TIED, dtype=torch.float64, seed=seed % 1000)
    before = {name: value.detach().clone() for name, value in net.params.items()}
    with pytest.raises(RuntimeError, match="inside"), held(net, Precision(bits=3)):
        assert torch.equal(net.params["W"], grid(before["W"], 3).nearest(before["W"]))
        assert torch.equal(net.params["V"], net.params["W"].T)
        assert torch.equal(net.params["g"], grid(before["g"], 3, (0.1, 1.0)).nearest(before["g"]))
        raise RuntimeError("inside")
    assert all(torch.equal(net.params[name], value) for name, value in before.items())


def test_mismatch_is_relative_and_drawn_by_its_seed(seed: int) -> None:
    net: Any = package.load(TIED, dims={"N": 200}, dtype=torch.float64, seed=seed % 1000)
    before = net.params["W"].detach().clone()

    def drawn(of: int) -> torch.Tensor:
        with held(net, Precision(mismatch=0.02), seed=of):
            return (net.params["W"].detach() / before - 1).flatten()

    first, again, other = drawn(seed), drawn(seed), drawn(seed + 1)
    assert torch.equal(first, again) and not torch.equal(first, other)
    n = first.numel()
    assert abs(float(first.std()) - 0.02) < 5 * 0.02 / np.sqrt(2 * n)
    assert abs(float(first.mean())) < 5 * 0.02 / np.sqrt(n)
    assert abs(float(first @ other / (first.norm() * other.norm()))) < 5 / np.sqrt(n)


def test_mismatch_stays_between_bounds() -> None:
    net: Any = package.load(TIED, dims={"N": 300}, dtype=torch.float64)
    with held(net, Precision(mismatch=0.9)):
        g = net.params["g"].detach()
        assert float(g.min()) == 0.1 and float(g.max()) == 1.0


def test_other_sets_are_left_as_a_device_leaves_them() -> None:
    net: Any = package.load(TIED.replace("W[N, N] ~ normal(0.3)", "W[N, N] ~ normal(0.3) in symmetric[N, N]"))
    W = net.params["W"]
    with held(net, Precision(bits=4)):
        assert torch.equal(W, W.T)
    with held(net, Precision(mismatch=0.1)):
        assert not torch.equal(W, W.T)
    assert torch.equal(W, W.T)


@pytest.mark.parametrize("values", [{"bits": 1}, {"bits": 25}, {"bits": 2.5}, {"mismatch": -0.1}, {"mismatch": 1.5}])
def test_nonsense_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(UserError) as caught:
        Precision(**values)
    assert caught.value.code == "E0970"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from energyc.surfaces.cli import main

    folder = tmp_path_factory.mktemp("precision")
    assert main(["train", str(written(folder)), "--out", str(folder / "run"), "--quiet", "--target", "torch"]) == 0
    return folder / "run"


@pytest.mark.slow
def test_the_metrics_are_those_of_a_network_with_rounded_params(run: Path) -> None:
    session = to_evaluate(run, "test")
    feed = Feed(session.feeds, "test", "cpu", torch.float32)
    batch = feed.batch(np.arange(len(feed)))
    trained, rounded = package.evaluate(run, bits=[3]).rows
    net: Any = package.load(run).eval()
    for row, bits in ((trained, None), (rounded, 3)):
        with torch.no_grad():
            for param in net.params.values():
                values = param.double().numpy().copy()
                largest = np.abs(values).max()
                if bits:
                    param.copy_(torch.from_numpy(nearest(values, levels(-largest, largest, 2**bits - 1))))
        cost = float(net.cost(net.relax(batch.clamps).states, batch.clamps, batch.targets).mean())
        assert row.numbers["cost"]["mean"] == pytest.approx(cost, rel=1e-4)
    assert trained.numbers["cost"]["mean"] != pytest.approx(rounded.numbers["cost"]["mean"], rel=1e-3)


def test_devices_differ_and_repeat(run: Path) -> None:
    found = [package.evaluate(run, mismatch=[0.1], draws=3, seed=seed, samples=40) for seed in (0, 0, 1)]
    rows = [each.rows[1] for each in found]
    values = [row.numbers["cost"]["values"] for row in rows]
    assert values[0] == values[1] and len(set(values[0])) == 3
    assert values[2][:2] == values[0][1:]  # seeds 1, 2, 3 after 0, 1, 2


def test_eval_with_bits_and_mismatch(run: Path, capfd: Capture) -> None:
    few = ("--samples", 40, "--draws", 2)
    found = energyc(capfd, "eval", run, *few, "--bits", "3,24", "--mismatch", "0,5%", "--format", "json").json
    rows = found["precisions"]
    assert [(r["bits"], r["mismatch"], r["devices"]) for r in rows] == [
        (None, 0.0, 1),
        (3, 0.0, 1),
        (3, 0.05, 2),
        (24, 0.0, 1),
        (24, 0.05, 2),
    ]
    plain = energyc(capfd, "eval", run, "--samples", 40, "--format", "json").json
    assert rows[0]["numbers"]["cost"]["mean"] == plain["cost"]
    assert rows[3]["numbers"]["cost"]["mean"] == pytest.approx(plain["cost"], rel=1e-4)
    text = energyc(capfd, "eval", run, *few, "--mismatch", "5%")
    assert text.status == 0 and "as trained" in text.out and "±" in text.out


def test_a_picture_of_a_study(run: Path, tmp_path: Path, capfd: Capture) -> None:
    pytest.importorskip("matplotlib")
    for name, wanted in (("bits", ("--bits", "2,4")), ("mismatch", ("--mismatch", "1%,5%"))):
        out = tmp_path / f"{name}.png"
        done = energyc(capfd, "eval", run, "--samples", 20, "--draws", 2, "--mismatch", "5%", *wanted, "--picture", out)
        assert done.status == 0 and str(out) in done.out.replace("\n", "")
        assert out.read_bytes().startswith(b"\x89PNG")
    assert energyc(capfd, "eval", run, "--picture", tmp_path / "no.png").status == 2


def test_eval_says_what_is_no_precision(run: Path, capfd: Capture) -> None:
    assert "E0970" in energyc(capfd, "eval", run, "--bits", "0").err
    assert "E0970" in energyc(capfd, "eval", run, "--mismatch", "150%").err
    for wrong in (("--bits", "six"), ("--mismatch", "1 percent"), ("--draws", "3"), ("--levels", "box")):
        assert energyc(capfd, "eval", run, *wrong).status == 2


def test_an_explosion_names_the_precision(run: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    import energyc.running.training.precision as precision

    monkeypatch.setattr(precision, "LARGEST", 1e300)
    done = energyc(capfd, "eval", run, "--mismatch", "1e200", "--draws", "1")
    assert done.status == 1 and "params 1e+202% mismatch: " in done.err


def test_a_folder_of_seeds_is_evaluated_as_one(tmp_path: Path, capfd: Capture) -> None:
    out = tmp_path / "seeds"
    assert energyc(capfd, "train", written(tmp_path), "--seeds", 2, "--steps", 2, "--out", out).status == 0
    found = energyc(capfd, "eval", out, "--samples", 20, "--mismatch", "5%", "--draws", 3, "--format", "json").json
    assert [len(row["numbers"]["cost"]["values"]) for row in found["precisions"]] == [2, 6]
