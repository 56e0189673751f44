"""Reductions of few entries, one after the other, against those of rows; windows side by side against any others."""

from __future__ import annotations

import pytest
import torch

from energyc.runtime.tensors.indexing import (
    FEW,
    first_largest,
    first_largest_of_many,
    largest_entry,
    overlap_add,
    windows,
)

AXES: tuple[tuple[int, ...], ...] = ((3, 5), (5, 3), (2,), (1, 4), (0,))


def entries(seed: int) -> torch.Tensor:
    """Whole numbers, so that many are equal, some of them missing, in memory in an order of its own."""
    print(f"seed {seed}")
    random = torch.Generator().manual_seed(seed)
    x = torch.randint(-2, 3, (4, 3, 3, 2, 4, 3), generator=random).double()
    x[torch.rand(x.shape, generator=random) < 0.4] = float("-inf")
    return x.permute(5, 1, 2, 3, 4, 0)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", range(4))
def test_few_entries_are_reduced_as_rows_are(seed: int, axes: tuple[int, ...]) -> None:
    x = entries(seed)
    assert torch.equal(largest_entry(x, axes), x.amax(axes))
    assert torch.equal(first_largest(x, axes), first_largest_of_many(x, axes))


def test_many_entries() -> None:
    x = entries(0).flatten(1, 4)
    assert x.shape[1] > FEW
    assert torch.equal(largest_entry(x, 1), x.amax(1))
    assert torch.equal(first_largest(x, 1).sum(1), (x.amax(1) > float("-inf")).double())


@pytest.mark.parametrize(
    ("counts", "strides"), [((4, 3), (3, 1)), ((4, 3), (2, 1)), ((1, 3), (3, 1)), ((3, 4), (1, 3))]
)
def test_windows_side_by_side_are_added_up_as_any_others(counts: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """<t, windows(x)> = <overlap_add(t), x>."""
    size = 1 + sum(stride * (count - 1) for stride, count in zip(strides, counts, strict=True))
    t, x = (torch.rand(2, *shape, dtype=torch.float64) for shape in (counts, (size,)))
    back = overlap_add(t, size, 0, strides)
    assert back.shape == x.shape
    assert float((back * x).sum()) == pytest.approx(float((t * windows(x, 1, 0, counts, strides)).sum()), rel=1e-12)


def test_windows_of_several_axes_are_those_of_one_after_the_other() -> None:
    x, size, strides = (
        torch.randn(2, 5, 7, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64),
        (5, 7),
        (2, 1),
    )
    found = windows(x, (1, 2), -1, (3, 2), strides)
    assert torch.equal(found, windows(windows(x, 1, -1, (3, 2), strides), 3, -1, (3, 2), strides))
    t = torch.randn(found.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64).movedim(5, 1)
    back = overlap_add(t, size, -1, strides).movedim(1, 3)
    assert back.shape == x.shape
    assert abs(float((t.movedim(1, 5) * found).sum() - (back * x).sum())) < 1e-9
