"""Validation parts and folds: what is in which part, that parts keep labels and groups, and what runs do with them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from energyc.language.diagnostics import UserError
from energyc.language.settings import TrainOptions
from energyc.running.data import FieldSchema, Schema, find_adapter
from energyc.running.data.arrays import ArraySplit, SplitDataset, folds, held_out
from energyc.running.folder.layout import RunFolder
from energyc.running.folder.logs import read_rows
from energyc.running.training.division import Division
from energyc.running.training.evaluation import evaluate
from energyc.running.training.feeds import Feed, Feeds
from energyc.running.training.loop import train
from energyc.running.training.seeds import read_summary, train_each
from energyc.running.training.session import Session
from tests.train.tiny import TinyNet, make_session

SETTINGS: dict[str, Any] = {"steps": 20, "batch": 10, "eval_every": 5}


class Labelled:
    """Samples that know their number: x is the number, and the label is skewed."""

    def __init__(self, train: int = 70, test: int = 30, groups: bool = False, own: bool = False) -> None:
        self.schema = Schema({"x": FieldSchema((1,)), "y": FieldSchema((), "integer", 3)})
        self.origin, self.notes = "numbers", ()
        self.parts = {"train": Numbers(0, train, groups), "test": Numbers(train, test, groups)}
        self.validation = Numbers(1000, 5, False) if own else None

    def split(self, name: str) -> Numbers:
        return self.parts[name]


class Numbers:
    def __init__(self, start: int, count: int, groups: bool) -> None:
        self.numbers = np.arange(start, start + count)
        self.calls: list[tuple[int, int, bool]] = []
        if groups:
            self.groups = self.numbers // 7

    def __len__(self) -> int:
        return len(self.numbers)

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        self.calls.append((seed, epoch, augment))
        numbers = self.numbers[indices]
        return {"x": numbers[:, None].astype(np.float32), "y": np.minimum(numbers % 10 // 4, 2)}


def feeds(data: Labelled, **division: Any) -> Feeds:
    return Feeds({"d": data}, {"x": ("d", "x")}, {"y": ("d", "y")}, Division(**division))


def numbers(feed: Feeds, part: Any) -> list[int]:
    there = Feed(feed, part, "cpu", torch.float32)
    return [int(x) for x in there.batch(np.arange(len(there))).clamps["x"][:, 0]]


def labels(samples: list[int]) -> np.ndarray:
    return np.bincount(np.minimum(np.array(samples) % 10 // 4, 2), minlength=3)


def test_without_division_the_parts_are_those_of_the_data() -> None:
    plain = feeds(Labelled())
    assert numbers(plain, "train") == list(range(70)) and numbers(plain, "test") == list(range(70, 100))
    assert not plain.has_validation and plain.notes() == []


@pytest.mark.parametrize("share", [0.1, 1 / 3, 0.5])
def test_a_validation_part_is_held_out_of_the_training_samples_by_label(share: float) -> None:
    divided = feeds(Labelled(), validation=share)
    train, validation, test = (numbers(divided, part) for part in ("train", "validation", "test"))
    assert test == list(range(70, 100))
    assert sorted(train + validation) == list(range(70)) and len(validation) == int(70 * Fraction(share))
    assert (np.abs(labels(validation) - share * labels(train + validation)) < 1).all()
    assert validation == numbers(feeds(Labelled(), validation=float(json.loads(json.dumps(share)))), "validation")
    assert divided.notes() == [f"divided anew: {len(train)} train, {len(validation)} validation, 30 test, by label"]


def test_each_sample_is_the_test_of_one_fold() -> None:
    tests, skewed = [], labels(list(range(100)))
    for fold in range(7):
        divided = feeds(Labelled(), folds=7, fold=fold, validation=0.2)
        train, validation, test = (numbers(divided, part) for part in ("train", "validation", "test"))
        assert sorted(train + validation + test) == list(range(100))
        assert len(test) in (14, 15) and (np.abs(labels(test) - skewed / 7) <= 1).all()
        tests += test
    assert sorted(tests) == list(range(100))


def test_the_share_of_a_label_is_kept_to_less_than_one_sample() -> None:
    seed = int(np.random.default_rng().integers(2**31))
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    for _ in range(200):
        kinds = random.integers(1, 5)
        y = random.integers(0, kinds, random.integers(2, 60))
        count = int(random.integers(2, 9))
        parts = folds(y, count)
        tally = np.array([np.bincount(y[parts == k], minlength=kinds) for k in range(count)])
        assert tally.sum(1).max() - tally.sum(1).min() <= 1 and (tally.max(0) - tally.min(0) <= 1).all()
        share = Fraction(int(random.integers(1, 9)), 10)
        held = held_out(y, share)
        assert 0 < held.sum() < len(y)
        if held.sum() == int(share * len(y)):
            assert (
                np.abs(np.bincount(y[held], minlength=kinds) - float(share) * np.bincount(y, minlength=kinds)) < 1
            ).all()


def test_groups_stay_together() -> None:
    for division in ({"validation": 0.3}, {"folds": 4, "fold": 2}):
        divided = feeds(Labelled(groups=True), **division)
        parts = ("train", "validation", "test") if "validation" in division else ("train", "test")
        if "validation" in division:
            parts = ("train", "validation")
        groups = [{number // 7 for number in numbers(divided, part)} for part in parts]
        assert not groups[0] & groups[1]


@pytest.mark.parametrize(
    ("name", "options"), [("characters", {"context": 16}), ("masked_images", {"side": 8, "patch": 4})]
)
def test_windows_and_crops_that_share_content_are_groups(name: str, options: dict) -> None:
    split = find_adapter(name).open(options, None).split("train")
    groups = split.groups  # type: ignore[attr-defined]
    assert groups.shape == (len(split),)
    if name == "characters":
        assert (np.diff(groups) >= 0).all() and groups[-1] == 19
    else:
        assert len(np.unique(groups)) == 18  # two pictures of 12 tiles, of which three are the test's
        boxes, owner = split.source.boxes, split.source.numbers  # type: ignore[attr-defined]
        for group in np.unique(groups):
            assert len(np.unique(owner[groups == group])) == 1
            inside = boxes[groups == group]
            assert inside[:, 2].max() - inside[:, 0].min() <= 160 and inside[:, 3].max() - inside[:, 1].min() <= 143


def test_held_out_samples_are_never_augmented() -> None:
    data = Labelled()
    divided = feeds(data, folds=4, fold=1, validation=0.25)
    for part in ("train", "validation", "test"):
        feed = Feed(divided, part, "cpu", torch.float32)  # type: ignore[arg-type]
        for split in data.parts.values():
            split.calls.clear()
        feed.batch(np.arange(len(feed)), seed=3, epoch=2, augment=True)
        expected = (3, 2, True) if part == "train" else (0, 0, False)
        assert {call for split in data.parts.values() for call in split.calls} == {expected}


def test_a_batch_keeps_its_order_across_splits() -> None:
    feed = Feed(feeds(Labelled(), folds=3, fold=0), "train", "cpu", torch.float32)
    all_of_it = feed.batch(np.arange(len(feed))).clamps["x"]
    order = np.random.RandomState(1).permutation(len(feed))
    torch.testing.assert_close(feed.batch(order).clamps["x"], all_of_it[order])


def test_the_datas_own_validation_part_goes_first() -> None:
    own = feeds(Labelled(own=True), validation=0.5)
    assert own.has_validation and numbers(own, "validation") == [1000, 1001, 1002, 1003, 1004]
    assert numbers(own, "train") == list(range(70))
    assert own.notes()[0].startswith("train.validation gives way to the data's own")
    with pytest.raises(UserError, match=r"train\.folds cannot divide d, whose training, validation and test") as raised:
        Feed(feeds(Labelled(own=True), folds=3, fold=0), "train", "cpu", torch.float32)
    assert raised.value.code == "E0520"


@pytest.mark.parametrize("division", [{"folds": 5, "fold": 0}, {"validation": 0.5}])
def test_too_few_samples_are_refused(division: dict) -> None:
    few = Labelled(train=1, test=2)
    with pytest.raises(UserError) as raised:
        Feed(feeds(few, **division), "train", "cpu", torch.float32)
    assert raised.value.code == "E0520" and "to divide" in raised.value.message


def test_digits_keep_their_shares() -> None:
    dataset = find_adapter("digits").open({}, None)
    feed = Feeds({"d": dataset}, {"x": ("d", "image")}, {"y": ("d", "label")}, Division(folds=10, fold=3))
    test = Feed(feed, "test", "cpu", torch.float32)
    tally = torch.bincount(test.batch(np.arange(len(test))).targets["y"], minlength=10).numpy()
    assert (np.abs(tally - np.bincount(load_digits().target) / 10) <= 1).all()


# ------------------------------------------------------------------ runs


def divided_session(out: Path, division: Division, **settings: Any) -> Session:
    session = make_session(out, {**SETTINGS, **settings})
    feeds = Feeds(session.feeds.datasets, session.feeds.clamps, session.feeds.targets, division)
    return Session(session.net, feeds, session.options, out, session.files, session.info)


def test_the_validation_part_decides_and_the_test_is_only_reported(tmp_path: Path) -> None:
    session = divided_session(tmp_path / "run", Division(validation=0.3))
    outcome = train(session)
    rows = read_rows(RunFolder(tmp_path / "run").metrics)
    evaluations = {kind: {row["step"]: row for row in rows if row["kind"] == kind} for kind in ("validation", "eval")}
    assert list(evaluations["validation"]) == list(evaluations["eval"]) == [0, 5, 10, 15, 20]
    assert evaluations["validation"][0]["samples"] == 15 and evaluations["eval"][0]["samples"] == 20
    best = min(evaluations["validation"].values(), key=lambda row: row["cost"])
    assert outcome.best_step == best["step"]
    assert outcome.validation["cost"] == best["cost"]
    assert outcome.best["cost"] == evaluations["eval"][best["step"]]["cost"]
    numbers, _, chosen = evaluate(session)
    assert chosen == outcome.best_by == "validation"
    assert numbers.pop("step") == best["step"] and numbers == outcome.best
    numbers = evaluate(session, split="validation").numbers
    assert numbers.pop("step") == best["step"] and numbers == outcome.validation


def test_a_run_with_a_validation_part_resumes_bit_for_bit(tmp_path: Path) -> None:
    division = Division(validation=0.3)
    train(divided_session(tmp_path / "whole", division))
    train(divided_session(tmp_path / "half", division, steps=12, eval_every=5))
    train(divided_session(tmp_path / "half", division), resume=True)
    rows = [read_rows(RunFolder(tmp_path / name).metrics) for name in ("whole", "half")]
    assert rows[0] == [row for row in rows[1] if row["step"] != 12 or row["kind"] == "train"]


def test_folds(tmp_path: Path) -> None:
    def make(fold: int, path: Path) -> Session:
        return divided_session(path, Division(folds=3, fold=fold), folds=3)

    summary = train_each(make, range(3), tmp_path / "folds", kind="fold")
    assert summary["folds"] == [0, 1, 2] and "seeds" not in summary
    assert read_summary(tmp_path / "folds") == summary
    tests = [json.loads((tmp_path / "folds" / f"fold-{k}" / "run.json").read_text())["fold"] for k in range(3)]
    assert tests == [0, 1, 2]
    costs = summary["final"]["cost"]
    assert len(set(costs["values"])) == 3
    assert costs["mean"] == pytest.approx(np.mean(costs["values"]))
    assert costs["deviation"] == pytest.approx(np.std(costs["values"], ddof=1))
    assert [int(n) for n in summary["final"].get("samples", {"values": []})["values"]] == []
    rows = read_rows(RunFolder(tmp_path / "folds" / "fold-1").metrics)
    assert rows[0]["samples"] in (23, 24)
    again = train_each(make, range(3), tmp_path / "folds", kind="fold", resume=True)
    assert again["final"] == summary["final"]


def test_one_run_of_several_folds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"train\.folds = 3 asks for as many runs") as raised:
        train(make_session(tmp_path / "run", {**SETTINGS, "folds": 3}))
    assert raised.value.code == "E0503"


def test_an_array_split_takes_a_validation_part() -> None:
    split = ArraySplit({"x": np.zeros((4, 6), np.float32), "t": np.zeros((4, 6), np.float32)})
    data = SplitDataset(Schema(dict.fromkeys("xt", FieldSchema((6,)))), "zeros", split, split, (), split)
    feeds = Feeds({"d": data}, {"x": ("d", "x")}, {"t": ("d", "t")})
    assert feeds.has_validation and len(Feed(feeds, "validation", "cpu", torch.float32)) == 4
    assert TinyNet().name and TrainOptions().validation is None
