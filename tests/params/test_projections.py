"""Projections of params onto their sets: nearest points, and the part of a gradient along the set."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import Tensor

from energyc.runtime.tensors.params import (
    along_orthogonal,
    along_sphere,
    mirrored,
    orthogonal,
    symmetric,
    unit,
    zero_diagonal,
)
from tests.drawing import seeds

#: Shapes with the axes of rows and columns, matrices counted by other axes and of several axes among them.
PAIRED = [((4, 4), (0,), (1,)), ((3, 2, 3), (0,), (2,)), ((2, 3, 2, 3), (0, 1), (2, 3)), ((3, 2, 2, 3), (0,), (3,))]
MATRICES = [
    ((4, 4), (0,), (1,)),
    ((2, 5), (0,), (1,)),
    ((5, 2), (1,), (0,)),
    ((3, 2, 4), (1,), (2,)),
    ((1, 1), (0,), (1,)),
]
SPHERES = [((4,), (0,)), ((3, 4), (1,)), ((3, 4), (0,)), ((2, 3, 4), (0, 2)), ((3, 1), (1,))]


def normal(seed: int, shape: tuple[int, ...], dtype: torch.dtype = torch.float64) -> Tensor:
    print(f"seed {seed}")
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def gram(x: Tensor, row: int, column: int) -> Tensor:
    """The products of the rows of each matrix, less the identity."""
    flat = x.movedim((row, column), (-2, -1)).double()
    return flat @ flat.mT - torch.eye(flat.shape[-2], dtype=torch.float64)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(("shape", "rows", "columns"), PAIRED)
def test_symmetric_and_zero_diagonal_are_the_nearest(
    seed: int, shape: tuple[int, ...], rows: tuple[int, ...], columns: tuple[int, ...]
) -> None:
    """Both sets are linear: the nearest point is by least squares over a basis of the set."""
    x = normal(seed, shape)
    flat = x.movedim((*rows, *columns), tuple(range(-len(rows) - len(columns), 0))).numpy()
    count = int(np.prod([shape[k] for k in rows]))
    matrices = flat.reshape(-1, count, count)
    one = np.eye(count)
    cells = [(i, j) for i in range(count) for j in range(count)]
    bases = {
        symmetric: [np.outer(one[i], one[j]) + np.outer(one[j], one[i]) for i, j in cells if j <= i],
        zero_diagonal: [np.outer(one[i], one[j]) for i, j in cells if i != j],
    }
    for project, basis in bases.items():
        columns_of = np.array([b.ravel() for b in basis]).T
        solved, *_ = np.linalg.lstsq(columns_of, matrices.reshape(len(matrices), -1).T, rcond=None)
        found = project(x, rows, columns)
        assert found.shape == x.shape
        again = found.movedim((*rows, *columns), tuple(range(-len(rows) - len(columns), 0))).numpy()
        np.testing.assert_allclose(again.reshape(len(matrices), -1), (columns_of @ solved).T, atol=1e-12)
        assert torch.equal(project(found, rows, columns), found)


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(("shape", "rows", "columns"), MATRICES)
def test_orthogonal_is_the_polar_factor_and_the_nearest(
    seed: int, shape: tuple[int, ...], rows: tuple[int, ...], columns: tuple[int, ...]
) -> None:
    x, (row,), (column,) = normal(seed, shape), rows, columns
    found = orthogonal(x, rows, columns)
    assert float(gram(found, row, column).abs().max()) < 1e-13
    for given, nearest in zip(
        x.movedim((row, column), (-2, -1)).reshape(-1, shape[row], shape[column]).numpy(),
        found.movedim((row, column), (-2, -1)).reshape(-1, shape[row], shape[column]).numpy(),
        strict=True,
    ):
        np.testing.assert_allclose(nearest, scipy.linalg.polar(given, side="left")[0], atol=1e-10)
    for k in range(50):
        other = orthogonal(normal(seed + 1000 + k, shape), rows, columns)
        assert float((x - found).norm()) <= float((x - other).norm()) + 1e-12
    torch.testing.assert_close(orthogonal(found, rows, columns), found, rtol=0, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("shape", "axes"), SPHERES)
def test_unit_keeps_the_direction_at_every_scale(
    shape: tuple[int, ...], axes: tuple[int, ...], dtype: torch.dtype, scale: float
) -> None:
    x = (scale * normal(3, shape)).to(dtype)
    found, wide = unit(x, axes), x.double()
    assert found.dtype == dtype
    expected = wide / wide.square().sum(axes, keepdim=True).sqrt() if scale == 1 else None
    norms = found.double().square().sum(axes).sqrt()
    assert float((norms - 1).abs().max()) < 2 * torch.finfo(dtype).eps
    if expected is not None:
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=2 * torch.finfo(dtype).eps)


def test_a_vector_of_zeros_gets_a_direction_and_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="no direction"):
        found = unit(torch.tensor([[0.0, 0.0], [3.0, 4.0]]), (1,))
    torch.testing.assert_close(found, torch.tensor([[0.5**0.5, 0.5**0.5], [0.6, 0.8]]))


def test_a_matrix_without_full_rank_still_becomes_orthogonal() -> None:
    for x in (torch.zeros(3, 4), torch.ones(3, 4), torch.eye(3, 4) * torch.tensor([[1.0], [0.0], [2.0]])):
        assert float(gram(orthogonal(x, (0,), (1,)), 0, 1).abs().max()) < 1e-6


def test_what_is_not_finite_is_left_for_the_loop_to_report() -> None:
    assert bool(torch.isnan(orthogonal(torch.full((2, 2), float("nan")), (0,), (1,))).all())
    assert bool(torch.isnan(unit(torch.tensor([float("nan"), 1.0]), (0,))).any())


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(("shape", "rows", "columns"), MATRICES)
def test_the_gradient_along_orthogonal_matrices_is_the_slope_along_curves(
    seed: int, shape: tuple[int, ...], rows: tuple[int, ...], columns: tuple[int, ...]
) -> None:
    """<along(G), T> = <G, T> for each tangent T, by differences of projected points; and along(G) is a tangent."""
    x = orthogonal(normal(seed, shape), rows, columns)
    g, h = normal(seed + 1, shape), 1e-6
    along = along_orthogonal(g, x, rows, columns)
    torch.testing.assert_close(along_orthogonal(along, x, rows, columns), along, rtol=0, atol=1e-12)
    for k in range(5):
        push = normal(seed + 2 + k, shape)
        tangent = (orthogonal(x + h * push, rows, columns) - orthogonal(x - h * push, rows, columns)) / (2 * h)
        torch.testing.assert_close((along * tangent).sum(), (g * tangent).sum(), rtol=0, atol=1e-7)
    (row,), (column,) = rows, columns
    assert float(gram(x + h * along, row, column).abs().max()) < 1e-9


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.parametrize(("shape", "axes"), SPHERES)
def test_the_gradient_along_a_sphere_is_the_slope_along_curves(
    seed: int, shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    x, g, h = unit(normal(seed, shape), axes), normal(seed + 1, shape), 1e-6
    along = along_sphere(g, x, axes)
    assert float((along * x).sum(axes).abs().max()) < 1e-13
    push = normal(seed + 2, shape)
    tangent = (unit(x + h * push, axes) - unit(x - h * push, axes)) / (2 * h)
    torch.testing.assert_close((along * tangent).sum(), (g * tangent).sum(), rtol=0, atol=1e-7)


def test_a_symmetric_start_keeps_the_law_of_each_entry() -> None:
    """On and above the diagonal the draw itself, below it the mirror: no entry is a mean with a smaller variance."""
    for shape, rows, columns in PAIRED:
        x = normal(5, shape)
        found = mirrored(x, rows, columns)
        assert torch.equal(found, symmetric(found, rows, columns))
        assert bool(torch.isin(found, x).all())


@pytest.mark.parametrize("shape", [(3, 3), (2, 4)])
def test_normal_draws_start_uniformly_on_the_orthogonal_matrices(shape: tuple[int, int]) -> None:
    """The mean of the entries is 0, that of their squares 1/length, and both determinants are alike."""
    x = orthogonal(normal(11, (20_000, *shape)), (1,), (2,))
    assert float(x.mean(0).abs().max()) < 0.03
    torch.testing.assert_close(x.square().mean(0), torch.full(shape, 1 / shape[1]).double(), rtol=0, atol=0.02)
    fourth = 3 / (shape[1] * (shape[1] + 2))  # of an entry of a uniform direction
    torch.testing.assert_close(x.pow(4).mean(0), torch.full(shape, fourth).double(), rtol=0, atol=0.02)
    if shape[0] == shape[1]:
        assert abs(float(torch.linalg.det(x).mean())) < 0.05
