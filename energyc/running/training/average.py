"""The exponential moving average of the params, which is evaluated and kept beside them (Polyak and Juditsky 1992).

After update n, ``average <- d average + (1 - d) params`` with ``d = min(train.ema, (1 + n) / (10 + n))``: the decay is
smaller in the first updates, so that a short run is not an average of where it began.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from energyc.running.training.network import Network, assign, copied, learnable, params_kept


class Average:
    """The average of a network's params, on their sets: ``values`` by their names."""

    def __init__(self, net: Network, decay: float) -> None:
        self.net, self.decay = net, decay
        self.values = copied(learnable(net))

    @torch.no_grad()
    def follow(self, update: int) -> None:
        """Take the params after update ``update``, counted from 1, into the average."""
        decay = min(self.decay, (1 + update) / (10 + update))
        for name, param in learnable(self.net).items():
            self.values[name].lerp_(param, 1 - decay)
        with self.in_place():
            self.net.project_params()
            self.values = copied(learnable(self.net))

    def take(self, values: Mapping[str, Tensor]) -> None:
        """Go on from the average of a checkpoint."""
        assign(self.values, values)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Give the network its average within this context."""
        params = learnable(self.net)
        with params_kept(params):
            assign(params, self.values)
            yield
