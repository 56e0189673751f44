"""Data that are drawn: damaged patterns, and functions of a Gaussian process."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.gaussian_process import kernels

from energyc.language.diagnostics import UserError
from energyc.running.data import find_adapter
from energyc.running.data.gaussian_process import KERNELS, draw

LENGTH = 1.7


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("rbf", kernels.RBF(LENGTH)),
        ("matern", kernels.Matern(LENGTH, nu=1.5)),
        ("rational-quadratic", kernels.RationalQuadratic(LENGTH, alpha=1)),
    ],
)
def test_kernels_are_scikit_learns(name: str, kernel: kernels.Kernel) -> None:
    x = np.random.RandomState(0).randn(30, 4)
    np.testing.assert_allclose(KERNELS[name](x, LENGTH), kernel(x), atol=1e-12)


def test_the_periodic_kernel_is_a_product_of_scikit_learns() -> None:
    x = np.random.RandomState(0).randn(30, 3)
    one = kernels.ExpSineSquared(LENGTH, periodicity=2 * LENGTH)
    expected = np.prod([one(x[:, [at]]) for at in range(3)], axis=0)
    np.testing.assert_allclose(KERNELS["periodic"](x, LENGTH), expected, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_positive_and_vary_as_a_covariance(name: str) -> None:
    x = np.random.RandomState(2).randn(80, 5)
    covariance = KERNELS[name](x, LENGTH)
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-13)
    assert np.linalg.eigvalsh(covariance).min() > -1e-10


def test_a_draw_has_the_covariance_that_it_should() -> None:
    # whitened by the factor of its own covariance a draw is standard normal: 200 draws of 40 points
    white = []
    for seed in range(200):
        x, y = draw(KERNELS["matern"], 3, 40, LENGTH, seed)
        factor = np.linalg.cholesky(KERNELS["matern"](x, LENGTH) + 1e-8 * np.eye(40))
        white.append(np.linalg.solve(factor, y))
    assert abs(np.mean(white)) < 5 / np.sqrt(8000)
    assert abs(np.var(white) - 1) < 5 * np.sqrt(2 / 8000)


def test_a_function_is_the_seeds() -> None:
    options = {"inputs": 3, "points": 50}
    first, again, other = (
        find_adapter("gaussian_process").open(options, None, seed=seed).split("train").batch(np.arange(40))
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first["y"], again["y"])
    assert np.abs(first["y"] - other["y"]).max() > 0.1


def test_training_and_test_belong_to_one_function() -> None:
    """A regression on the training points explains the test points, far better than their mean does."""
    dataset = find_adapter("gaussian_process").open({"inputs": 2, "points": 400}, None)
    train = dataset.split("train").batch(np.arange(320))
    test = dataset.split("test").batch(np.arange(80))
    kernel = kernels.RBF(2.0)
    weights = np.linalg.solve(kernel(train["x"]) + 1e-6 * np.eye(320), train["y"])
    error = kernel(test["x"], train["x"]) @ weights - test["y"]
    assert error.std() < 0.02 * test["y"].std()


@pytest.mark.parametrize("name", ["gaussian_process", "patterns"])
def test_there_is_no_file_to_read(name: str) -> None:
    with pytest.raises(UserError, match=f"some.csv: {name} reads no file"):
        find_adapter(name).open({}, "some.csv")


@pytest.mark.parametrize("kind", ["erase", "flip"])
def test_probes_are_patterns_with_their_share_of_damage(kind: str) -> None:
    dataset = find_adapter("patterns").open({"count": 20, "damage": Fraction(1, 4), "kind": kind}, None)
    for part, length in (("train", 400), ("test", 100)):
        split = dataset.split(part)
        assert len(split) == length
        batch = split.batch(np.arange(length))
        assert set(np.unique(batch["stored"])) == {-1, 1}
        differs = batch["probe"] != batch["stored"]
        np.testing.assert_array_equal(differs.sum(1), 16)
        np.testing.assert_array_equal(batch["probe"][differs], -batch["stored"][differs] if kind == "flip" else 0)
        np.testing.assert_array_equal(batch["stored"][:20], batch["stored"][20:40])
        assert (differs[:20] != differs[20:40]).any(1).all()  # another draw of the same pattern


def test_patterns_are_different_digits_in_turn() -> None:
    from sklearn.datasets import load_digits

    stored = find_adapter("patterns").open({"count": 30}, None).split("train").batch(np.arange(30))["stored"]
    assert len(np.unique(stored, axis=0)) == 30
    digits = load_digits()
    places = [np.flatnonzero(digits.target == digit) for digit in range(10)]
    expected = np.where(digits.data[[places[at % 10][at // 10] for at in range(30)]] > 8, 1, -1)
    np.testing.assert_array_equal(stored, expected)


def test_larger_patterns_are_resized() -> None:
    dataset = find_adapter("patterns").open({"size": 144, "count": 5}, None)
    assert dataset.split("test").batch(np.arange(3))["probe"].shape == (3, 144)
