"""What ``energyc.jax`` says of derivatives by hand, beside central differences and hand-made cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
ej: Any = __import__("energyc.jax", fromlist=["jax"])


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def slope(function: Any, x: np.ndarray, way: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """The derivative along a way by central differences."""
    return (np.asarray(function(x + h * way)) - np.asarray(function(x - h * way))) / (2 * h)


def vjp(function: Any, x: np.ndarray, cotangent: np.ndarray) -> Any:
    """The product of a cotangent with the derivative at x."""
    return jax.vjp(function, x)[1](cotangent)[0]


SETS = {
    "box": lambda: ej.Box((6,), low=-0.5, high=0.75),
    "half line": lambda: ej.Box((6,), low=0.1),
    "standardized": lambda: ej.Standardized((6,), axes=(-1,)),
    "sphere": lambda: ej.Sphere((6,), axes=(-1,)),
    "simplex": lambda: ej.Simplex((6,), axes=(-1,)),
}


@pytest.mark.parametrize("name", SETS)
def test_the_adjoint_of_a_projection(name: str) -> None:
    own, random = SETS[name](), np.random.default_rng(0)
    x, way, cotangent = (random.normal(size=(3, 6)) for _ in range(3))
    pulled = np.asarray(vjp(own.project, x, cotangent))
    np.testing.assert_allclose((pulled * way).sum(), (cotangent * slope(own.project, x, way)).sum(), rtol=1e-7)
    there = np.asarray(own.project(x))
    np.testing.assert_allclose(own.project(there), there, atol=1e-12)


def test_on_a_face_of_a_box_the_adjoint_is_that_of_the_inside() -> None:
    box = ej.Box((3,), low=0, high=1)
    np.testing.assert_array_equal(vjp(box.project, np.array([[0.0, 1.0, 2.0]]), np.ones((1, 3))), [[1, 1, 0]])


KINKS = {
    "soft threshold": lambda: ej.Kinks((ej.Corner(0.0, 0, 0),)),
    "two corners": lambda: ej.Kinks((ej.Corner(-0.5, None, 0), ej.Corner(0.5, 1, 0))),
    "norm": lambda: ej.Kinks(norm=ej.Norm(0, (-1,))),
}


@pytest.mark.parametrize("name", KINKS)
def test_the_adjoint_of_a_proximal_operator(name: str) -> None:
    own, random = KINKS[name](), np.random.default_rng(1)
    x, way, cotangent = (random.normal(size=(3, 6)) for _ in range(3))
    weights = (np.full((), 0.4), np.full((), 0.9))

    def operator(x: Any) -> Any:
        return own.shrunk(own.at_corners(x, 0.5, weights), 0.5, weights)

    pulled = np.asarray(vjp(operator, x, cotangent))
    expected = (cotangent * slope(operator, x, way)).sum()
    np.testing.assert_allclose((pulled * way).sum(), expected, rtol=1e-7)


def test_where_an_operator_leads_onto_a_kink_its_adjoint_is_0() -> None:
    """And a threshold of 0 leads nowhere, also from a kink."""
    corner, norm = ej.Kinks((ej.Corner(0.5, 0, 0),)), ej.Kinks(norm=ej.Norm(0, (-1,)))
    for operator, held in ((corner.at_corners, np.array([[0.5, 0.6]])), (norm.shrunk, np.array([[0.0, 0.1]]))):
        for weight, expected in ((1.0, [[0, 0]]), (0.0, [[1, 1]])):
            weights = (np.full((), weight),)
            found = vjp(lambda x: operator(x, 0.5, weights), held, np.ones((1, 2)))  # noqa: B023
            np.testing.assert_array_equal(found, expected)


def test_a_proximal_point_is_the_least_of_its_energy() -> None:
    """``(p - x)^2 / (2 h) + w |p - 1/2|`` over a grid."""
    own, grid = ej.Kinks((ej.Corner(0.5, 0, 0),)), np.linspace(-3, 3, 60001)
    for x in (-1.0, 0.45, 0.55, 2.0):
        found = float(own.at_corners(np.array([x]), 0.5, (np.full((), 0.4),))[0])
        least = grid[((grid - x) ** 2 / (2 * 0.5) + 0.4 * np.abs(grid - 0.5)).argmin()]
        assert abs(found - least) < 1e-4


SCORES = np.array([[1.0, 2.0, 2.0, -np.inf], [-np.inf] * 4])
INDEX = np.array([[0, 1, 1, 0]])
REDUCTIONS = {
    "softmax": lambda x: ej.softmax(x, 1),
    "logsumexp": lambda x: ej.logsumexp(x, 1),
    "largest_entry": lambda x: ej.or_zero(ej.largest_entry(x, 1)),
    "segment_softmax": lambda x: ej.segment_softmax(x, INDEX, 3),
    "segment_logsumexp": lambda x: ej.segment_logsumexp(x, INDEX, 3),
    "segment_max": lambda x: ej.segment_max(x, INDEX, 3),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_have_the_slopes_of_finite_differences(name: str) -> None:
    random = np.random.default_rng(2)
    x, way = random.normal(size=(2, 4)), random.normal(size=(2, 4))
    _, moved = jax.jvp(REDUCTIONS[name], (x,), (way,))
    np.testing.assert_allclose(moved, slope(REDUCTIONS[name], x, way), atol=1e-8)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_of_nothing_is_0_and_has_no_slope(name: str) -> None:
    value, back = jax.vjp(REDUCTIONS[name], SCORES)
    (pulled,) = back(np.ones_like(value))
    assert np.isfinite(value).all() and np.isfinite(pulled).all()
    assert not np.asarray(pulled)[1].any() and not np.asarray(value)[1].any()


def test_ties_go_to_the_first() -> None:
    x = np.array([[1.0, 2.0, 2.0]])
    np.testing.assert_array_equal(jax.grad(lambda x: ej.largest_entry(x, 1).sum())(x), [[0, 1, 0]])
    index = np.array([[0, 0, 0]])
    np.testing.assert_array_equal(jax.grad(lambda x: ej.segment_max(x, index, 1).sum())(x), [[0, 1, 0]])


def test_at_the_rim_an_infinite_slope_times_0_is_0() -> None:
    """And it is infinite where the direction is not 0."""
    x = np.array([0.0, 0.0, 4.0])
    for function, at_four in ((ej.rim_log, 1 / 4), (lambda u: ej.rim_power(u, 0.5), 1 / 4)):
        for way in ("jvp", "vjp"):
            for first in (0.0, 1.0):
                direction = np.array([0.0, first, 1.0])
                value, back = function(x), jax.vjp(function, x)[1]
                moved = jax.jvp(function, (x,), (direction,))[1] if way == "jvp" else back(direction)[0]
                np.testing.assert_allclose(moved, [0, np.inf if first else 0, at_four])
                assert float(value[2]) in (np.log(4.0), 2.0)


def test_the_integral_of_silu_has_its_slope_at_0_too() -> None:
    points = np.array([-30.0, -1.0, 0.0, 1e-9, 2.0, 40.0])
    found = jax.vmap(jax.grad(ej.silu_integral))(points)
    np.testing.assert_allclose(found, points / (1 + np.exp(-points)), atol=1e-12)
    h = 1e-5
    numeric = (np.asarray(ej.silu_integral(points + h)) - np.asarray(ej.silu_integral(points - h))) / (2 * h)
    np.testing.assert_allclose(found, numeric, atol=1e-7)


def test_cotangents_of_integers_have_no_sum() -> None:
    from energyc.jax.equilibrium import added

    none = np.zeros(3, jax.dtypes.float0)
    x, y = added((np.ones(2), none), (np.ones(2), none))
    np.testing.assert_array_equal(x, [2, 2])
    assert y.dtype == jax.dtypes.float0


def test_a_step_of_one_state_with_kinks_beside_another_has_the_adjoint_of_both() -> None:
    from typing import NamedTuple

    class Pair(NamedTuple):
        a: Any
        b: Any

    class Nothing(NamedTuple):
        pass

    model = ej.Model(
        records=ej.Records(Nothing, Nothing, Pair),
        sets={"a": ej.Real((6,)), "b": ej.Box((6,), low=-0.5, high=0.5)},
        settings=ej.Settings(step=0.5, steps=1),
        prepare=lambda params, clamps: Nothing(),
        force=lambda params, states, fixed: states,
        weights=lambda params, fixed: (np.full((), 0.4),),
        kinks={"a": ej.Kinks((ej.Corner(0.0, 0, 0),))},
    )
    system, random = ej.System(model, Nothing(), Nothing()), np.random.default_rng(4)
    at, way, cotangent = (Pair(*random.normal(size=(2, 3, 6))) for _ in range(3))
    pulled = system.landed_vjp(at, cotangent)
    h = 1e-6
    ends = [
        system.landed(Pair(*(x + s * h * w for x, w in zip(at, way, strict=True))), Pair(0.5, 0.5)) for s in (1, -1)
    ]
    moved = [np.asarray(x - y) / (2 * h) for x, y in zip(*ends, strict=True)]
    expected = sum((c * m).sum() for c, m in zip(cotangent, moved, strict=True))
    np.testing.assert_allclose(sum((p * w).sum() for p, w in zip(pulled, way, strict=True)), expected, rtol=1e-7)
