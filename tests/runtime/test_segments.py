"""Reductions over segments and their gathers against loops over the entries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from energyc.runtime.tensors.indexing import (
    gather,
    segment_count,
    segment_first_largest,
    segment_logsumexp,
    segment_max,
    segment_softmax,
    segment_sum,
)

SIZE, ENTRIES = 4, 9
Case = tuple[Tensor, Tensor, Tensor | None]


def cases(seed: int) -> list[Case]:
    """Entries ``[batch, heads, entries]``, an index and a mask; with ties, an empty segment, what is excluded large."""
    random = np.random.default_rng(seed)
    found: list[Case] = []
    for batch in (1, 3):
        x = torch.from_numpy(random.integers(-3, 3, (batch, 2, ENTRIES)) / 2)
        index = torch.from_numpy(random.integers(0, SIZE - 1, (batch, 1, ENTRIES)))
        mask = torch.from_numpy(random.random((batch, 1, ENTRIES)) < 0.7)
        found += [(x, index, None), (x + 1000 * ~mask, index, mask)]
        found.append((x + 0.1j * torch.from_numpy(random.normal(size=x.shape)), index, mask))
    return found


def loop(case: Case, of: Callable[[Tensor], Tensor], *, keeps: bool) -> Tensor:
    """A reduction of each segment in turn; 0 where it is empty or excluded."""
    x, index, mask = case
    result = torch.zeros(x.shape if keeps else (*x.shape[:2], SIZE), dtype=x.dtype)
    for sample in range(len(x)):
        for head in range(x.shape[1]):
            for place in range(SIZE):
                hit = index[sample, 0] == place
                hit = hit if mask is None else hit & mask[sample, 0]
                if bool(hit.any()):
                    result[sample, head, hit if keeps else place] = of(x[sample, head, hit])
    return result


def first_largest(entries: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(entries.real.argmax(), len(entries)).to(entries.dtype)


@pytest.mark.parametrize("seed", range(6))
def test_every_reduction_is_that_of_each_segment(seed: int) -> None:
    print(f"seed {seed}")
    for case in cases(seed):
        x, index, mask = case
        given = (x, index, SIZE, mask)
        close(segment_softmax(*given), loop(case, lambda u: u.exp() / u.exp().sum(), keeps=True))
        close(segment_logsumexp(*given), loop(case, lambda u: u.exp().sum().log(), keeps=False))
        close(segment_first_largest(*given), loop(case, first_largest, keeps=True))
        close(segment_max(*given).real, loop(case, lambda u: u.real.max(), keeps=False).real)


def close(found: Tensor, expected: Tensor) -> None:
    assert found.dtype == expected.dtype
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_counts() -> None:
    index = torch.tensor([[0, 2, 2], [1, 1, 1]])
    assert segment_count(index, 4, torch.float64).tolist() == [[1, 0, 2, 0], [0, 3, 0, 0]]


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("axis", [1, 2, 3])
def test_a_gather_and_its_adjoint(batch: int, axis: int) -> None:
    """``<gather(x), y> = <x, segment_sum(y)>``, and each entry is that of its own sample."""
    random = torch.Generator().manual_seed(axis)
    shape = [batch, 2, 3, 4]
    x = torch.randn(shape, generator=random, dtype=torch.float64)
    index = torch.randint(0, shape[axis], (batch, 7), generator=random)
    found = gather(x, index, axis)
    for sample in range(batch):
        assert torch.equal(found[sample], x[sample].index_select(axis - 1, index[sample]))
    y = torch.randn(found.shape, generator=random, dtype=torch.float64)
    back = segment_sum(y, index, axis, shape[axis])
    assert back.shape == x.shape
    torch.testing.assert_close((found * y).sum(), (x * back).sum())
    wide = gather(x, index.view(batch, 7, 1).expand(batch, 7, 2), axis)
    assert torch.equal(wide.movedim(axis + 1, 0)[1], found)


def test_an_index_for_each_row() -> None:
    x = torch.arange(12.0).view(1, 2, 6)
    index = torch.tensor([[[0, 0, 1, 1, 2, 2], [2, 2, 2, 0, 0, 0]]])
    assert segment_sum(x, index, 2, 3).tolist() == [[[1, 5, 9], [30, 0, 21]]]
