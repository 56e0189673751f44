"""A group of processes by ``torch.distributed``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from energyc.running.ranks.group import Group
from energyc.running.ranks.watch import Watch

T = TypeVar("T")


class Processes(Group):
    """The ranks of the default process group, whose tensors live on ``device``.

    Each collective call is counted, so that a rank that does not arrive can be named.
    """

    def __init__(self, device: torch.device, watch: Watch) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self._device = device
        self._watch = watch

    def knows(self, run: Path) -> None:
        """Name the folder of the run, for the message of a rank that ends it."""
        self._watch.run = str(run)

    def gathered(self, rows: Tensor, counts: Sequence[int]) -> Tensor:
        """Return the rows of all ranks; shorter shares travel padded, since all send the same number of bytes."""
        longest = max(counts)
        sent = rows.new_zeros(longest, *rows.shape[1:])
        sent[: len(rows)] = rows
        parts = [torch.empty_like(sent) for _ in range(self.size)]
        with self._watch.waiting():
            dist.all_gather(parts, sent)
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    def summed(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the sums over the ranks: each rank adds up its part in the order of ranks, and all gather the parts.

        So the result does not depend on the topology, as that of a ring or a tree would.
        """
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        length = -(-len(flat) // self.size)
        sent = flat.new_zeros(self.size * length)
        sent[: len(flat)] = flat
        received, whole = torch.empty_like(sent), torch.empty_like(sent)
        with self._watch.waiting():
            dist.all_to_all_single(received, sent)
        parts = received.view(self.size, length)
        total = parts[0].clone()
        for part in parts[1:]:
            total += part
        with self._watch.waiting():
            dist.all_gather(list(whole.view(self.size, length)), total)
        sums = torch.split(whole[: len(flat)], [tensor.numel() for tensor in tensors])
        return [part.view_as(tensor) for part, tensor in zip(sums, tensors, strict=True)]

    def collected(self, value: T) -> list[T]:
        """Return the values of all ranks."""
        values: list[Any] = [None] * self.size
        with self._watch.waiting():
            dist.all_gather_object(values, value)
        return values

    def announced(self, value: T) -> T:
        """Return the value of the first rank."""
        values = [value if self.is_first else None]
        with self._watch.waiting():
            dist.broadcast_object_list(values, src=0, device=self._device)
        return values[0]  # type: ignore[return-value]

    def any(self, flag: bool) -> bool:
        """Whether the flag of some rank is set."""
        sent = torch.tensor([[float(flag)]], device=self._device)
        return bool(self.gathered(sent, [1] * self.size).any())

    def assembled(self) -> None:
        """Wait until all ranks are here, however long their work takes."""
        self._watch.assemble()

    @property
    def seconds(self) -> float:
        """The time spent in calls to other ranks, waiting for them included."""
        return self._watch.seconds

    def ending(self) -> AbstractContextManager[Any]:
        """Return a context in which the failure of a rank ends the run at all of them."""
        return self._watch.ending()
