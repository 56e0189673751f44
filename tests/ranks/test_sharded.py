"""The communication of a divided network is what a simulation of two ranks counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from benchmarks.sharded import Counted, cet_counts, thick_counts

TOLERANCE = 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("counts", [thick_counts, cet_counts])
def test_two_ranks_reach_what_the_whole_network_does(counts: Callable[[], list[Counted]]) -> None:
    torch.manual_seed(0)
    for counted in counts():
        assert counted.counted == counted.expected, counted
        assert counted.difference <= TOLERANCE, counted
