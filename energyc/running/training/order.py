"""The samples of an update and its noise, as pure functions of the seed and the number of the update."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from energyc.running.training.network import Tensors


class Order:
    """The order of samples: each epoch is a permutation by (seed, epoch), cut into batches, the last perhaps smaller.

    The cursor of update ``k`` is (epoch, position) = divmod(k, updates), so only k needs saving.
    """

    def __init__(self, seed: int, samples: int, batch: int) -> None:
        self.seed = seed
        self.samples = samples
        self.batch = batch
        self._epoch = -1
        self._permutation = np.zeros(0, dtype=np.int64)

    @property
    def updates(self) -> int:
        """The number of updates in an epoch."""
        return -(-self.samples // self.batch)

    def place(self, step: int) -> tuple[int, int]:
        """Return the epoch of update ``step`` (from 0) and its position in it."""
        return divmod(step, self.updates)

    def indices(self, step: int) -> np.ndarray:
        """Return the samples of update ``step``, int64."""
        epoch, position = self.place(step)
        if epoch != self._epoch:  # cached, since permuting a million numbers at each update takes time
            self._permutation = np.random.default_rng([self.seed, epoch]).permutation(self.samples)
            self._epoch = epoch
        return self._permutation[position * self.batch : (position + 1) * self.batch]


def key_noise(seed: int, step: int) -> None:
    """Seed torch's generators by (seed, step), so that the noise of an update is independent of earlier draws."""
    low, high = np.random.SeedSequence([seed, step]).generate_state(2, np.uint32)
    torch.manual_seed((int(high) << 31) ^ int(low))


def noise_keys(seed: int, step: int, indices: np.ndarray) -> list[int]:
    """Return a seed for the noise of each sample of an update, whatever its batch mates and its place among them."""
    return [int(np.random.SeedSequence([seed, step, int(k)]).generate_state(1, np.uint64)[0] >> 1) for k in indices]


def directions(keys: Sequence[int], states: Tensors) -> Tensors:
    """Return a random direction in each state for each sample, by its key, like the states."""
    draws = [torch.Generator().manual_seed(key) for key in keys]
    return {
        name: torch.stack([torch.randn(value.shape[1:], generator=draw, dtype=torch.float64) for draw in draws]).to(
            value
        )
        for name, value in states.items()
    }


def evenly_spread(samples: int, limit: int) -> np.ndarray:
    """Return at most ``limit`` indices, evenly spread over ``range(samples)``, the same at every evaluation."""
    count = min(samples, limit)
    return np.arange(count, dtype=np.int64) * samples // max(count, 1)
