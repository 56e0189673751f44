"""Metrics over a whole split: against scikit-learn on all of it, whatever the batches; thresholds; names; shapes."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score, roc_auc_score

from energyc.extras import install_extra
from energyc.language.diagnostics import UserError
from energyc.language.settings import Call, TrainOptions
from energyc.language.settings.scores import Score
from energyc.language.settings.train import read_train
from energyc.running.training.division import Division
from energyc.running.training.evaluation import evaluate, evaluate_split
from energyc.running.training.feeds import Feed, Feeds
from energyc.running.training.loop import train
from energyc.running.training.scores import Gathered, best_threshold
from energyc.running.training.session import Session
from tests.train.tiny import make_session

NAMES = {"metric": ["accuracy"], "readout": ["logit"], "target": ["label", "mask"]}


def gathered(score: Score, scores: Any, labels: Any, mask: Any = None, batches: int = 1, **chosen: float) -> dict:
    """A metric of arrays whose first axis is cut into batches."""
    all_of_it = Gathered([score])
    parts = [np.array_split(np.asarray(array), batches) for array in (scores, labels)]
    masks = [None] * batches if mask is None else np.array_split(np.asarray(mask, float), batches)
    for part, label, kept in zip(*parts, masks, strict=True):
        targets = {"label": torch.from_numpy(label)}
        if kept is not None:
            targets["mask"] = torch.from_numpy(kept)
        all_of_it.add({"logit": torch.from_numpy(part)}, targets)
    return all_of_it.numbers({"cost": 0.5}, chosen)


def drawn(seed: int, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = (random.random(shape) < 0.3).astype(float)
    return random.normal(size=shape) + labels, labels, (random.random(shape) < 0.6).astype(float)


@pytest.mark.parametrize("batches", [1, 4, 13])
@pytest.mark.parametrize("shape", [(40,), (13, 7)])
def test_binary_metrics_are_scikit_learns_on_all_entries(shape: tuple[int, ...], batches: int) -> None:
    scores, labels, mask = drawn(1, shape)
    kept = mask > 0
    f1 = gathered(Score("macro_f1", of="mask", label="label"), scores, labels, mask, batches)["macro_f1"]
    auc = gathered(Score("auc", of="mask", label="label"), scores, labels, mask, batches)["auc"]
    rmse = gathered(Score("rmse", of="mask", label="label"), scores, labels, mask, batches)["rmse"]
    assert f1 == pytest.approx(f1_score(labels[kept], scores[kept] > 0, average="macro"), abs=1e-12)
    assert auc == pytest.approx(roc_auc_score(labels[kept], scores[kept]), abs=1e-12)
    assert rmse == pytest.approx(((scores - labels)[kept] ** 2).mean() ** 0.5, abs=1e-12)


def test_a_metric_is_no_mean_over_batches() -> None:
    scores, labels, _ = drawn(2, (60,))
    whole = gathered(Score("auc"), scores, labels)["auc"]
    parts = zip(np.array_split(scores, 6), np.array_split(labels, 6), strict=True)
    assert abs(np.mean([roc_auc_score(label, part) for part, label in parts]) - whole) > 1e-3


def test_a_mask_of_samples_stands_for_all_their_entries() -> None:
    scores, labels, _ = drawn(3, (12, 5))
    mask = np.arange(12) % 3 == 0
    found = gathered(Score("auc", of="mask", label="label"), scores, labels, mask)["auc"]
    assert found == pytest.approx(roc_auc_score(labels[mask].ravel(), scores[mask].ravel()))


@pytest.mark.parametrize("classes", [2, 4])
def test_classes_are_told_by_the_highest_score(classes: int) -> None:
    random = np.random.default_rng(4)
    labels = random.integers(0, classes, 50)
    scores = random.normal(size=(50, classes)) + np.eye(classes)[labels]
    f1 = gathered(Score("macro_f1"), scores, labels, batches=7)["macro_f1"]
    assert f1 == pytest.approx(f1_score(labels, scores.argmax(1), average="macro"))
    auc = gathered(Score("auc"), scores, labels, batches=7)["auc"]
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    expected = roc_auc_score(labels, weights[:, 1] if classes == 2 else weights, multi_class="ovr")
    assert auc == pytest.approx(expected)


@pytest.mark.slow
def test_the_best_threshold_is_that_of_all_there_are() -> None:
    seed = int(np.random.default_rng().integers(2**31))
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    for _ in range(50):
        scores, labels = np.round(random.normal(size=17), 1), random.random(17) < 0.4
        macro = lambda t: f1_score(labels, scores > t, labels=[False, True], average="macro", zero_division=0)  # noqa: B023, E731
        values = np.unique(scores)
        assert macro(best_threshold(scores, labels)) == pytest.approx(
            max(macro(t) for t in (values[:-1] + values[1:]) / 2)
        )
    assert best_threshold(np.ones(3), np.array([True, False, True])) == 1


def test_a_threshold_is_chosen_or_given() -> None:
    scores, labels, _ = drawn(5, (80,))
    best = Score("macro_f1", threshold="best")
    here = gathered(best, scores, labels)
    assert here["macro_f1_threshold"] == best_threshold(scores, labels)
    given = gathered(best, scores, labels, macro_f1_threshold=0.7)
    assert given == {"macro_f1": f1_score(labels, scores > 0.7, average="macro"), "macro_f1_threshold": 0.7}
    assert gathered(Score("macro_f1", threshold=0.7), scores, labels)["macro_f1"] == given["macro_f1"]
    assert here["macro_f1"] >= given["macro_f1"]


def test_what_is_not_defined_is_nan() -> None:
    assert math.isnan(gathered(Score("auc"), [0.1, 0.2], [1.0, 1.0])["auc"])
    assert math.isnan(gathered(Score("auc", of="mask", label="label"), [0.1, 0.2], [0.0, 1.0], [0.0, 0.0])["auc"])
    for name in ("auc", "macro_f1", "rmse"):
        assert math.isnan(gathered(Score(name), [math.nan, 0.2], [0.0, 1.0])[name])


def test_perplexity_is_of_the_mean_loss() -> None:
    assert gathered(Score("perplexity"), [0.0], [0.0])["perplexity"] == math.exp(0.5)
    wanted = Gathered([Score("perplexity", loss="ce")])
    assert wanted.numbers({"cost": 0.5, "ce": 2.0}, {})["perplexity"] == math.exp(2)
    assert wanted.numbers({"ce": 1e4}, {})["perplexity"] == math.inf


@pytest.mark.parametrize(
    ("scores", "labels", "mask"),
    [
        (np.zeros((4, 3)), np.zeros((4, 2)), None),
        (np.zeros((4, 3)), np.zeros(4), None),  # a real label has no classes
        (np.zeros((4, 3)), np.zeros((4, 3)), np.zeros((4, 2))),
    ],
)
def test_shapes_that_do_not_fit_are_refused(scores: np.ndarray, labels: np.ndarray, mask: np.ndarray | None) -> None:
    with pytest.raises(UserError, match="auc cannot compare shapes") as raised:
        gathered(Score("auc", label="label", of=None if mask is None else "mask"), scores, labels, mask)
    assert raised.value.code == "E0502"


def test_labels_other_than_0_and_1_are_refused() -> None:
    for name in ("auc", "macro_f1"):
        with pytest.raises(UserError, match=f"{name} needs labels of 0 and 1"):
            gathered(Score(name), [0.0, 1.0], [0.0, 2.0])


def test_scikit_learn_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    with pytest.raises(UserError, match="auc is computed by scikit-learn") as raised:
        gathered(Score("auc"), [0.0, 1.0], [0.0, 1.0])
    assert raised.value.help == install_extra("data")
    assert gathered(Score("perplexity"), [0.0], [0.0])["perplexity"] == math.exp(0.5)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([Call("auc", {"score": "logits", "label": "label"})], "auc names no readout `logits`"),
        ([Call("auc", {"label": "labels"})], "auc names no target `labels`"),
        ([Call("auc", {"label": "label", "of": "masks"})], "auc names no target `masks`"),
        (["rmse"], "rmse does not say its label, and there are 2 targets"),
        ([Call("perplexity", {"loss": "ce"})], "perplexity names no metric `ce`"),
    ],
)
def test_names_that_are_not_there_are_faults_of_the_spec(metrics: list, message: str) -> None:
    _, found = read_train({"metrics": metrics}, NAMES, ())
    assert [(fault.key, fault.code, fault.message) for fault in found] == [
        ("metrics", "E0501", f"train.metrics: {message}")
    ]


def test_best_may_be_a_metric_over_the_whole_split_that_is_listed() -> None:
    auc = Call("auc", {"label": "label"})
    assert read_train({"metrics": [auc], "best": "auc"}, NAMES, ())[1] == []
    _, found = read_train({"best": "auc"}, NAMES, ())
    assert [fault.message for fault in found] == ["train.best = auc is not among train.metrics"]
    _, found = read_train({"metrics": [Call("accuracy", {})]}, NAMES, ())
    assert found[0].code == "E0502"
    _, found = read_train({"metrics": [auc]}, {**NAMES, "metric": ["auc"]}, ())
    assert found[0].message == "train.metrics: auc is a metric of the spec, and cannot be called"


def test_a_word_is_the_metric_of_the_spec_if_there_is_one() -> None:
    options = TrainOptions.from_settings({"metrics": ["rmse", "perplexity"]})
    assert [score.name for score in options.whole_split(["rmse"])] == ["perplexity"]


# ------------------------------------------------------------------ in a run


class Halves:
    """TinyData whose target is whether the input's neighbour is positive."""

    def __init__(self, plain: Any) -> None:
        self.plain, self.schema = plain, plain.schema

    def split(self, name: str) -> Any:
        return Positive(self.plain.split(name))


class Positive:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return len(self.inner)

    def batch(self, indices: np.ndarray, **named: Any) -> dict[str, np.ndarray]:
        batch = self.inner.batch(indices, **named)
        return {**batch, "t": (batch["t"] > 0).astype(np.float32)}


def session(out: Path, metrics: list, **settings: Any) -> Session:
    plain = make_session(out, {"steps": 20, "batch": 7, "eval_every": 5, "metrics": metrics, **settings})
    data = Halves(plain.feeds.datasets["pairs"])
    feeds = Feeds({"pairs": data}, plain.feeds.clamps, plain.feeds.targets, Division(plain.options.validation))  # type: ignore[dict-item]
    return Session(plain.net, feeds, plain.options, out, plain.files, plain.info)


def test_a_run_is_measured_and_its_best_chosen_by_a_whole_split(tmp_path: Path) -> None:
    run = session(tmp_path / "run", [Call("macro_f1", {"threshold": "best"}), "auc"], best="auc", validation=0.3)
    outcome = train(run)
    assert set(outcome.best) - {"cost", "residual", "residual_max", "settled", "relax_steps", "samples"} == {
        "macro_f1",
        "macro_f1_threshold",
        "auc",
    }
    assert outcome.best["macro_f1_threshold"] == outcome.validation["macro_f1_threshold"]
    numbers = evaluate(run).numbers
    assert numbers.pop("step") == outcome.best_step and numbers == outcome.best
    feed = Feed(run.feeds, "test", "cpu", torch.float32)
    batch = feed.batch(np.arange(len(feed)))
    logits = run.net.relax(batch.clamps).states["y"].numpy().ravel()
    labels = batch.targets["t"].numpy().ravel()
    assert numbers["auc"] == pytest.approx(roc_auc_score(labels, logits), abs=1e-6)
    f1 = f1_score(labels, logits > numbers["macro_f1_threshold"], average="macro")
    assert numbers["macro_f1"] == pytest.approx(f1, abs=1e-6)


def test_the_batch_does_not_matter(tmp_path: Path) -> None:
    numbers = []
    for batch in (1, 7, 20):
        run = session(tmp_path / "run", ["auc", "macro_f1", "rmse", "perplexity"], batch=batch)
        feed = Feed(run.feeds, "test", "cpu", torch.float32)
        numbers.append(evaluate_split(run.net, feed, run.options, samples=20).numbers)
    for name in ("auc", "macro_f1", "rmse", "perplexity"):
        assert numbers[0][name] == pytest.approx(numbers[1][name], abs=1e-6)
        assert numbers[0][name] == pytest.approx(numbers[2][name], abs=1e-6)
    assert "accuracy" not in numbers[0]


def test_the_best_threshold_needs_a_validation_part(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the best threshold is chosen on a validation part") as raised:
        train(session(tmp_path / "run", [Call("macro_f1", {"threshold": "best"})]))
    assert raised.value.code == "E0503"
