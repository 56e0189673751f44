"""GMRES against a direct solve, and how many products it takes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from energyc.runtime.tensors.gmres import gmres

ENTRIES = 80


def _solved(matrices: Tensor, rhs: Tensor, tolerance: float) -> tuple[Tensor, Tensor, int]:
    """The solution, its residuals, and the number of products."""
    products = []

    def operator(x: Tensor) -> Tensor:
        products.append(x)
        return (matrices @ x[:, :, None])[:, :, 0]

    x, residual = gmres(operator, rhs, tolerance, restart=60, cycles=20)
    return x, residual, len(products)


def _drawn(seed: int, rank: int, scale: float, batch: int = 4) -> tuple[Tensor, Tensor]:
    """The identity and a perturbation of some rank, and right-hand sides."""
    random = torch.Generator().manual_seed(seed)
    sides = [torch.randn(batch, ENTRIES, rank, generator=random, dtype=torch.float64) for _ in range(2)]
    perturbed = torch.eye(ENTRIES, dtype=torch.float64) + scale * sides[0] @ sides[1].mT / ENTRIES
    return perturbed, torch.randn(batch, ENTRIES, generator=random, dtype=torch.float64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rank", [1, 3, ENTRIES])
def test_it_solves_and_stops_where_it_has_arrived(rank: int, dtype: torch.dtype) -> None:
    matrices, rhs = _drawn(rank, rank, 0.4)
    exact = torch.linalg.solve(matrices, rhs[:, :, None])[:, :, 0]
    goal = 1e-12 if dtype == torch.float64 else 1e-5
    x, residual, products = _solved(matrices.to(dtype), rhs.to(dtype), goal)
    assert float(residual.max()) <= 3 * goal
    assert float((x.double() - exact).norm() / exact.norm()) < 30 * goal
    # A space of one dimension more than the rank holds the solution; the last product is of the true residual.
    assert products <= min(rank + 2, 40)


def test_each_row_reaches_its_own_goal() -> None:
    """Rows that are easy, of size 0, and hard in one batch."""
    matrices, rhs = _drawn(5, ENTRIES, 0.8)
    matrices[0] = torch.eye(ENTRIES, dtype=torch.float64)
    matrices[1] = torch.diag(torch.logspace(-2, 0, ENTRIES, dtype=torch.float64))
    rhs[2] = 0
    rhs[3] *= 1e-6
    x, residual, products = _solved(matrices, rhs, 1e-11)
    assert float(residual.max()) <= 1e-11
    assert not x[2].any()
    exact = torch.linalg.solve(matrices, rhs[:, :, None])[:, :, 0]
    assert float((x - exact).abs().max()) < 1e-8
    assert products > 60  # it went on for the hard one


def test_what_has_no_solution_and_what_is_no_number_are_told() -> None:
    matrices, rhs = _drawn(6, 3, 0.4)
    matrices[1] -= torch.outer(rhs[1], rhs[1] @ matrices[1]) / rhs[1].square().sum()
    _, residual, _ = _solved(matrices, rhs, 1e-12)
    assert float(residual[1]) > 0.1
    assert float(residual[[0, 2, 3]].max()) <= 1e-10
    matrices[2, 0, 0] = torch.nan
    assert bool(_solved(matrices, rhs, 1e-12)[1].isinf().any())
