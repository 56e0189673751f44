"""Noise of a training run: keyed by the seed, the update and the sample, and the same after a resume."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import energyc
from energyc.running.training.order import noise_keys
from tests.cli.run import energyc as run

SPEC = """\
network noisy
dim I = 64, J = 5, K = 10, T = 4
data digits = digits(side = 8)
clamp x[I] = digits.image
target label : K = digits.label
param W[I, J] ~ glorot, V[J, K] ~ glorot
param rate[T] = 0.3
noise eps[T, J] ~ normal(0.5)
state s[J]
energy e = 1/2 * sum[j](s[j]^2) - sum[i,j](x[i] * W[i,j] * tanh(s[j]))
flow s[j] = -rate[t] * grad(e, s[j]) + eps[t,j]
relax t in T { step = 1 }
readout scores[k] = sum[j](s[j] * V[j,k])
cost ce = cross_entropy[k](sum[j](s[j] * V[j,k]), label)
train { rule = bptt, batch = 20, steps = 6, save_every = 3, eval_samples = 40 }
"""


def params(folder: Path) -> dict[str, torch.Tensor]:
    return {name: value.detach() for name, value in energyc.load(folder).params.items()}


@pytest.mark.slow
def test_a_resumed_run_is_the_same_bit_for_bit(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "noisy.energy"
    spec.write_text(SPEC)
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    assert run(capfd, "train", spec, "--out", whole).status == 0
    assert run(capfd, "train", spec, "--out", halves, "--steps", "3").status == 0
    assert run(capfd, "train", "--resume", halves, "--steps", "6").status == 0
    assert (whole / "metrics.jsonl").read_text() != ""
    rows = [(f / "metrics.jsonl").read_text().splitlines()[-1] for f in (whole, halves)]
    assert rows[0] == rows[1]
    assert all(torch.equal(a, b) for a, b in zip(params(whole).values(), params(halves).values(), strict=True))


def test_noise_moves_training_and_leaves_evaluation_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    costs = []
    for law in ("normal(0.5)", "normal(0)"):
        spec, out = tmp_path / "noisy.energy", tmp_path / law
        spec.write_text(SPEC.replace("normal(0.5)", law))
        assert run(capfd, "train", spec, "--out", out).status == 0
        costs.append((out / "metrics.jsonl").read_text().splitlines())
    first, second = costs
    assert first[0] == second[0]  # the evaluation before any update
    assert first[1] != second[1]


def test_the_noise_of_a_sample_is_its_own() -> None:
    keys = noise_keys(3, 7, np.array([5, 6, 9]))
    assert noise_keys(3, 7, np.array([9, 5])) == [keys[2], keys[0]]
    others = [noise_keys(3, 8, np.array([5])), noise_keys(4, 7, np.array([5]))]
    assert len({*keys, *others[0], *others[1]}) == 5
    assert all(0 <= key < 2**63 for key in keys)
