"""scikit-learn's manifolds: what is drawn, standardised, and a function of the seed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from energyc.language.diagnostics import UserError
from energyc.running.data import Dataset, find_adapter


def opened(seed: int = 0, **options: object) -> Dataset:
    return find_adapter("manifolds").open(options, None, seed=seed)


def whole(dataset: Dataset, field: str) -> np.ndarray:
    parts = [dataset.split(part) for part in ("train", "test")]
    return np.concatenate([part.batch(np.arange(len(part)))[field] for part in parts])


def test_the_points_are_scikit_learns_in_another_order() -> None:
    dataset = opened(seed=3, name="swiss-roll", points=200, noise=0.5)
    assert [len(dataset.split(part)) for part in ("train", "test")] == [160, 40]
    x, y = make_swiss_roll(200, noise=0.5, random_state=3)
    mine = np.column_stack([whole(dataset, "x"), whole(dataset, "y")])
    theirs = np.column_stack([x, y])
    order = np.argsort(mine[:, 3]), np.argsort(theirs[:, 3])
    for column in range(4):  # each is the other's after a shift and a factor
        assert np.corrcoef(mine[order[0], column], theirs[order[1], column])[0, 1] > 1 - 1e-9
    train = dataset.split("train").batch(np.arange(160))
    np.testing.assert_allclose(train["x"].mean(0), 0, atol=1e-6)
    np.testing.assert_allclose([train["x"].std(0).max(), train["y"].std()], 1, atol=1e-6)


def test_moons_have_two_classes_and_the_draw_depends_on_the_seed() -> None:
    first, again, other = (opened(seed=seed, points=100) for seed in (0, 0, 1))
    assert first.schema.sizes == {"inputs": 2, "classes": 2}
    assert np.bincount(whole(first, "y")).tolist() == [50, 50]
    np.testing.assert_array_equal(whole(first, "x"), whole(again, "x"))
    assert not np.array_equal(whole(first, "x"), whole(other, "x"))


def test_no_file_is_read_and_scikit_learn_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="manifolds reads no file"):
        find_adapter("manifolds").open({}, "somewhere")
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(UserError) as raised:
        opened()
    assert raised.value.code == "E0913" and "'scikit-learn>=1.5'" in str(raised.value.help)
