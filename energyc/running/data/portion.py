"""Some samples of one or several splits, as a split of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from energyc.running.data.arrays import check_range
from energyc.running.data.schema import Split


@dataclass(frozen=True)
class Portion:
    """The samples ``indices`` of the concatenated ``splits``; a ``fixed`` one is the same in every evaluation."""

    splits: Sequence[Split]
    indices: np.ndarray
    fixed: bool

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.indices)

    def batch(
        self, indices: np.ndarray, *, seed: int = 0, epoch: int = 0, augment: bool = False
    ) -> dict[str, np.ndarray]:
        """The samples at ``indices`` of this portion; what is drawn for a fixed one depends on the sample alone."""
        check_range(indices, len(self))
        key = (0, 0, False) if self.fixed else (seed, epoch, augment)
        chosen = self.indices[np.asarray(indices, np.int64)]
        starts = np.array([0, *accumulate(len(split) for split in self.splits)])
        owner = np.searchsorted(starts, chosen, side="right") - 1
        rows, batches = [], []
        for number, split in enumerate(self.splits):
            rows.append(np.flatnonzero(owner == number))
            if len(rows[-1]):
                batches.append(
                    split.batch(chosen[rows[-1]] - starts[number], seed=key[0], epoch=key[1], augment=key[2])
                )
        order = np.argsort(np.concatenate(rows), kind="stable")
        names = batches[0] if batches else {}
        return {name: np.concatenate([batch[name] for batch in batches])[order] for name in names}
