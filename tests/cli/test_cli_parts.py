"""``train`` with a validation part, with folds, with metrics over a whole split and with data of one sample."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from energyc.language.diagnostics import UserError
from energyc.running.folder.layout import RunFolder
from energyc.running.folder.logs import read_rows
from energyc.running.runs.saved import load_run
from tests.cli.run import energyc, written

Capture = pytest.CaptureFixture[str]

HEAD = """\
network head
dim N = 120, E = 600, F = 3
data graph = anomaly_graph(nodes = N, edges = E, inputs = F)
clamp feature[N, F] = graph.features
target anomalous[N] = graph.labels, scored[N] = graph.part
param w[F] ~ normal(0.1), b = 0
state y[N]
energy spring = 1/2 * sum[n]((y[n] - sum[f](w[f] * feature[n,f]) - b)^2)
readout logit[n] = y[n]
cost ce = -sum[n](scored[n] * (anomalous[n] * logsigmoid(logit[n]) + (1 - anomalous[n]) * logsigmoid(-logit[n])))
relax { step = 1, steps = 1 }
train { rule = implicit, lr = 0.1, lr.w = [0.1, 0.05, 0.02], epochs = 4, best = macro_f1,
        metrics = [macro_f1(score = logit, label = anomalous, of = scored, threshold = best),
                   auc(score = logit, label = anomalous, of = scored)] }
"""


@pytest.mark.slow
def test_folds_from_training_to_pictures(tmp_path: Path, capfd: Capture) -> None:
    path, out = written(tmp_path), tmp_path / "folds"
    settings = ("--set", "train.folds=3", "--set", "train.validation=1/5")
    done = energyc(capfd, "train", path, *settings, "--out", out, "--format", "json")
    assert done.status == 0, done.err
    summary = done.json
    assert summary["folds"] == [0, 1, 2] and len(summary["final"]["accuracy"]["values"]) == 3
    assert summary["validation"].keys() == summary["best"].keys()
    runs = [json.loads((out / f"fold-{k}" / "run.json").read_text()) for k in range(3)]
    assert [run["fold"] for run in runs] == [0, 1, 2]
    assert [run["training_samples"] for run in runs] == [1198 - 239, 1198 - 239, 1198 - 239]
    shown = energyc(capfd, "train", "--resume", out)
    assert shown.status == 0 and "held-out, 3 folds" in shown.out and "its validation part" in shown.out
    measured = [energyc(capfd, "eval", out / f"fold-{k}", "--format", "json").json for k in range(2)]
    assert measured[0]["samples"] == measured[1]["samples"] == 599 and measured[0]["cost"] != measured[1]["cost"]
    part = energyc(capfd, "eval", out / "fold-1", "--split", "validation", "--format", "json").json
    assert part["samples"] == 239
    assert energyc(capfd, "plot", out).status == 0 and (out / "pictures" / "seeds.png").exists()
    whole = energyc(capfd, "eval", out, "--format", "json").json
    assert whole["folds"] == [0, 1, 2] and whole["numbers"]["cost"]["values"][:2] == [run["cost"] for run in measured]
    with pytest.raises(UserError, match="several folds"):
        load_run(out)


@pytest.mark.slow
def test_a_fold_is_continued_alone(tmp_path: Path, capfd: Capture) -> None:
    path, out = written(tmp_path), tmp_path / "folds"
    energyc(capfd, "train", path, "--set", "train.folds=2", "--out", out, "--format", "json")
    done = energyc(capfd, "train", "--resume", out / "fold-1", "--steps", "8", "--format", "json")
    assert done.status == 0 and done.json["steps"] == 8, done.err
    assert json.loads((out / "fold-1" / "run.json").read_text())["fold"] == 1


def test_seeds_and_folds_exclude_each_other(tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "train", written(tmp_path), "--set", "train.folds=2", "--seeds", "2", "--out", tmp_path / "r")
    assert done.status == 2 and "--seeds and train.folds = 2 exclude each other" in done.err


@pytest.mark.slow
def test_a_graph_as_the_only_sample(tmp_path: Path, capfd: Capture) -> None:
    path, run = written(tmp_path, HEAD), tmp_path / "run"
    done = energyc(capfd, "train", path, "--out", run)
    assert done.status == 0, done.err
    assert "the best checkpoint is chosen on the data's own validation part" in done.err
    assert "its validation part: " in done.out
    rows = read_rows(RunFolder(run).metrics)
    validation = {row["step"]: row["macro_f1"] for row in rows if row["kind"] == "validation"}
    best = max(validation, key=lambda step: validation[step])
    measured = energyc(capfd, "eval", run, "--format", "json").json
    assert measured["step"] == best
    test = next(row for row in rows if row["kind"] == "eval" and row["step"] == best)
    assert measured["macro_f1"] == test["macro_f1"] and measured["auc"] == test["auc"]
    assert measured["macro_f1_threshold"] == test["macro_f1_threshold"]
    for command in (("plot", run), ("verify", run)):
        assert energyc(capfd, *command).status in (0, 4)


def test_a_graph_is_not_divided_and_says_which_split_it_is(tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "train", written(tmp_path, HEAD), "--set", "train.folds=3", "--out", tmp_path / "run")
    assert done.status == 1 and "train.folds cannot divide graph" in done.err


@pytest.mark.slow
def test_sizes_of_a_file_are_said(tmp_path: Path, capfd: Capture) -> None:
    nodes = np.arange(30)
    features = np.random.default_rng(0).normal(size=(30, 3))
    np.savez(tmp_path / "g.npz", x=features, y=(nodes % 5 == 0).astype(int), ring=np.stack([nodes, (nodes + 1) % 30]))
    path = written(tmp_path, HEAD)
    done = energyc(capfd, "train", path, "--data", tmp_path / "g.npz", "--set", "E=60", "--out", tmp_path / "run")
    assert done.status == 0, done.err  # the nodes beyond the 30 are isolated
    done = energyc(capfd, "train", path, "--data", tmp_path / "g.npz", "--set", "N=30", "--out", tmp_path / "other")
    assert done.status == 1 and "give --set N=30 --set E=60, or nodes = 31" in done.err


def test_wrong_metrics_are_errors_of_the_spec(tmp_path: Path, capfd: Capture) -> None:
    done = energyc(
        capfd,
        "check",
        written(tmp_path, HEAD.replace("score = logit, label = anomalous, of = scored)", "score = logits)")),
    )
    assert done.status == 1
    assert "train.metrics: auc names no readout `logits`" in done.err
    assert "the readouts are logit, the targets anomalous and scored" in done.err
    assert "auc does not say its label, and there are 2 targets" in done.err


def test_rates_along_a_dim_are_refused_before_anything_is_written(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, HEAD.replace("[0.1, 0.05, 0.02]", "[0.1, 0.05]"))
    done = energyc(capfd, "train", path, "--out", tmp_path / "run")
    assert done.status == 1 and "train.lr.w gives 2 rates, and w has 3 along its first dim" in done.err
    assert not (tmp_path / "run").exists()
