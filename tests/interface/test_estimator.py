"""``energyc.Estimator`` after scikit-learn's own checks, and beside what it is made of."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import energyc
from tests.cli.run import in_python

CLASSIFIER = """
network clusters
dim I = 2, J = 8, K = 2
clamp x[I]
target label : K
param W[I, J] ~ normal(0.3), b[J] = 0, V[J, K] ~ normal(0.3), c[K] = 0
state s[J] in [-1, 1]
energy leak = 1/2 * sum[j](s[j]^2) - sum[j](s[j] * (b[j] + sum[i](x[i] * W[i,j])))
readout logits[k] = sum[j](s[j] * V[j,k]) + c[k] + sum[j](0 * s[j]^2)
cost ce = cross_entropy[k](logits[k], label)
relax { step = 1, steps = 2 }
train { rule = bptt, optimizer = adam, lr = 0.05, steps = 60, batch = 64, dtype = float64 }
"""
REGRESSOR = """
network line
dim I = 2, K = 1
clamp x[I]
target t[K]
param W[I, K] = 0, b[K] = 0
state y[K]
energy error = 1/2 * sum[k]((y[k] - b[k] - sum[i](x[i] * W[i,k]))^2)
readout answer[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - t[k])^2)
relax { step = 1, steps = 2 }
train { rule = bptt, optimizer = adam, lr = 0.5, steps = 100, batch = 256, dtype = float64 }
"""
FAST = {"target": "torch", "settings": {"train.eval_every": 1000}}


def estimators() -> list[Any]:
    return [energyc.Estimator(CLASSIFIER, **FAST), energyc.Estimator(REGRESSOR, **FAST)]


@pytest.mark.slow
@parametrize_with_checks(estimators())
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_a_classifier_with_labels_of_any_kind() -> None:
    x, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = energyc.Estimator(CLASSIFIER, **FAST, steps=150, seed=3)
    assert is_classifier(model) and not is_regressor(model)
    x = StandardScaler().fit_transform(x)
    assert model.fit(x, names) is model and model.classes_.tolist() == sorted(set(names))
    assert model.score(x, names) > 0.9
    shares = model.predict_proba(x)
    logits = model.network_({"x": x})["logits"].detach()
    np.testing.assert_allclose(shares, logits.softmax(1).numpy(), rtol=1e-12)
    assert (model.classes_[shares.argmax(1)] == model.predict(x)).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(x), shares)
    fresh = clone(model.set_params(steps=2))
    assert fresh.get_params()["steps"] == 2 and not hasattr(fresh, "network_")


def test_room_for_more_classes_than_there_are_answers_none_of_them() -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))
    model = energyc.Estimator(CLASSIFIER, **FAST, steps=1, dims={"K": 7}).fit(x, x[:, 0] > 0)
    assert model.predict_proba(x).shape == (20, 2) and model.decision_function(x).shape == (20,)
    assert set(model.predict(x)) <= {False, True}


@pytest.mark.slow
def test_it_stands_in_a_pipeline_that_is_cross_validated() -> None:
    x, y = load_iris(return_X_y=True)
    scores = cross_val_score(make_pipeline(StandardScaler(), energyc.Estimator(CLASSIFIER, **FAST)), x, y, cv=3)
    assert scores.min() > 0.85


@pytest.mark.slow
def test_a_regressor_finds_the_line_of_least_squares() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(100, 3))
    y = x @ [[1.0, 2.0], [0.5, -1.0], [0.0, 3.0]] + 0.1 * generator.normal(size=(100, 2))
    model = energyc.Estimator(REGRESSOR, **FAST, steps=300).fit(x, y)
    best, *_ = np.linalg.lstsq(np.c_[x, np.ones(100)], y, rcond=None)
    np.testing.assert_allclose(model.predict(x), np.c_[x, np.ones(100)] @ best, atol=1e-3)
    assert is_regressor(model) and not hasattr(model, "predict_proba")
    assert model.score(x, y) == pytest.approx(1 - ((model.predict(x) - y) ** 2).sum(0) @ (1 / y.var(0)) / 200, rel=1e-9)


def test_a_file_of_a_spec_is_read_as_it_stands_and_not_after_the_fit(tmp_path: Path) -> None:
    path, x = tmp_path / "own.energy", np.random.default_rng(0).normal(size=(20, 2))
    path.write_text(CLASSIFIER)
    model = energyc.Estimator(path, **FAST, steps=1)
    assert is_classifier(model)
    path.write_text(REGRESSOR)
    assert is_regressor(model) and not hasattr(model, "predict_proba")
    answers = model.fit(x, x[:, :1]).predict(x)
    path.unlink()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(x), answers)
    path.write_text(CLASSIFIER)
    np.testing.assert_array_equal(model.predict(x), answers)
    assert is_classifier(clone(model).fit(x, x[:, 0] > 0))


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (CLASSIFIER.replace("clamp x[I]", "clamp x[I], u[I]"), "it has 2 clamps and 1 target\n"),
        (
            CLASSIFIER.replace("logits[k] =", "logits[k] = 0 * 1 +")
            .replace("readout", "let")
            .replace("cost ce", "readout size = sum[j](s[j])\ncost ce"),
            "no readout answers its target label",
        ),
    ],
)
def test_a_spec_that_is_no_estimator_says_why(spec: str, says: str) -> None:
    with pytest.raises(energyc.UserError, match=f"clusters is not an estimator: {says}"):
        energyc.Estimator(spec).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])


@pytest.mark.slow
def test_without_scikit_learn_it_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import energyc\n"
        "try: energyc.Estimator\n"
        "except energyc.UserError as error: print(error)"
    )
    done = in_python(program)
    assert "energyc.Estimator follows scikit-learn, which is not installed\n  = help: " in done.stdout
