"""Which samples an update sees, and its noise: pure functions of the seed and the number of the update."""

from __future__ import annotations

import numpy as np
import torch


class Order:
    """Each epoch is a permutation by (seed, epoch), cut into batches; the last one of an epoch may be smaller.

    The cursor of update ``k`` is (epoch, position) = divmod(k, updates), so that nothing but k needs saving.
    """

    def __init__(self, seed: int, samples: int, batch: int) -> None:
        self.seed = seed
        self.samples = samples
        self.batch = batch
        self._epoch = -1
        self._permutation = np.zeros(0, dtype=np.int64)

    @property
    def updates(self) -> int:
        """Updates in an epoch."""
        return -(-self.samples // self.batch)

    def place(self, step: int) -> tuple[int, int]:
        """The epoch of update ``step`` (from 0) and its position in it."""
        return divmod(step, self.updates)

    def indices(self, step: int) -> np.ndarray:
        """The samples of update ``step``, int64."""
        epoch, position = self.place(step)
        if epoch != self._epoch:  # one permutation is kept: drawing a million numbers at each update would be felt
            self._permutation = np.random.default_rng([self.seed, epoch]).permutation(self.samples)
            self._epoch = epoch
        return self._permutation[position * self.batch : (position + 1) * self.batch]


def key_noise(seed: int, step: int) -> None:
    """Seed torch's generators by (seed, step): noise then depends on the update, not on what was drawn before it."""
    low, high = np.random.SeedSequence([seed, step]).generate_state(2, np.uint32)
    torch.manual_seed((int(high) << 31) ^ int(low))


def evenly_spread(samples: int, wanted: int) -> np.ndarray:
    """At most ``wanted`` indices, evenly spread over ``range(samples)``: the same at every evaluation."""
    count = min(samples, wanted)
    return np.arange(count, dtype=np.int64) * samples // max(count, 1)
