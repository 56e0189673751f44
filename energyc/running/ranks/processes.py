"""A group of processes by ``torch.distributed``, and the one message with which a run ends at all of them."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from energyc.language.diagnostics import Resuming, UserError, spoken
from energyc.running.ranks.group import Group

T = TypeVar("T")

PATIENCE = 5.0  # seconds in which the other ranks can answer after a call that failed
PAUSE = 0.2  # seconds between two looks at the store
_ENDED = "ended"


class Lost(Exception):
    """A collective call failed: another rank has ended, or did not come within the time limit."""


class EndedElsewhere(Exception):
    """The run has ended, and another rank gives the reason; ``error`` is this rank's own."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class Processes(Group):
    """The ranks of the default process group, whose tensors live on ``device``.

    ``store`` is the launcher's, a ``torch.distributed.Store``. ``limit`` is the time limit of the process group.
    """

    def __init__(self, device: torch.device, store: Any, limit: float) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self._device, self._store, self._limit = device, store, limit
        self._run = "RUN"
        self._seconds = 0.0
        self._assemblies = 0
        self._lost = False

    def knows(self, run: Path) -> None:
        """Name the folder of the run, for the message of a rank that ends it."""
        self._run = str(run)

    def gathered(self, rows: Tensor, counts: Sequence[int]) -> Tensor:
        """Return the rows of all ranks; shorter shares travel padded, since all send the same number of bytes."""
        longest = max(counts)
        sent = rows.new_zeros(longest, *rows.shape[1:])
        sent[: len(rows)] = rows
        parts = [torch.empty_like(sent) for _ in range(self.size)]
        with self._calling():
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
        with self._calling():
            dist.all_to_all_single(received, sent)
        parts = received.view(self.size, length)
        total = parts[0].clone()
        for part in parts[1:]:
            total += part
        with self._calling():
            dist.all_gather(list(whole.view(self.size, length)), total)
        sums = torch.split(whole[: len(flat)], [tensor.numel() for tensor in tensors])
        return [part.view_as(tensor) for part, tensor in zip(sums, tensors, strict=True)]

    def collected(self, value: T) -> list[T]:
        """Return the values of all ranks."""
        values: list[Any] = [None] * self.size
        with self._calling():
            dist.all_gather_object(values, value)
        return values

    def announced(self, value: T) -> T:
        """Return the value of the first rank."""
        values = [value if self.is_first else None]
        with self._calling():
            dist.broadcast_object_list(values, src=0, device=self._device)
        return values[0]  # type: ignore[return-value]

    def any(self, flag: bool) -> bool:
        """Whether the flag of some rank is set."""
        sent = torch.tensor([[float(flag)]], device=self._device)
        return bool(self.gathered(sent, [1] * self.size).any())

    def assembled(self) -> None:
        """Wait until all ranks are here, however long their work takes; the launcher ends the wait if one dies."""
        self._assemblies += 1
        key = f"assembly/{self._assemblies}"
        self._store.add(key, 1)
        while self._store.add(key, 0) < self.size:
            time.sleep(PAUSE)

    @property
    def seconds(self) -> float:
        """The time spent in calls to other ranks, waiting for them included."""
        return self._seconds

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """A context around a collective call. Raises Lost."""
        start = time.monotonic()
        try:
            yield
        except RuntimeError as error:  # what torch raises where a connection breaks, and after the time limit
            self._lost = True
            raise Lost(str(error)) from error
        finally:
            self._seconds += time.monotonic() - start

    # ------------------------------------------------------------ the end

    @contextmanager
    def ending(self) -> Iterator[None]:
        """A context around the run. The first rank that fails raises the reason, the others EndedElsewhere."""
        before = signal.signal(signal.SIGTERM, self._terminated)
        try:
            yield
            signal.signal(signal.SIGTERM, before)
        except Exception as error:
            reason = self._cause(error) if isinstance(error, Lost) else error
            if not self._is_first_to_end():
                raise EndedElsewhere(reason) from None
            if reason is not error:
                raise reason from None
            raise

    def _terminated(self, number: int, frame: FrameType | None) -> None:
        """End the process, unless it is about to say why it ends: the launcher, too, has seen that a rank is gone."""
        if not self._lost:
            raise SystemExit(128 + number)

    def _is_first_to_end(self) -> bool:
        try:
            return str(self._store.compare_set(_ENDED, "", str(self.rank)).decode()) == str(self.rank)
        except RuntimeError:  # the launcher is gone, and with it all who could give another reason
            return True

    def _cause(self, lost: Lost) -> UserError:
        """Return the error of a call that failed. It names the ranks that did not answer."""
        if self._device.type == "cpu":
            dist.destroy_process_group()  # closes connections, so that ranks that wait for this one fail, and answer
        try:
            self._store.set(f"here/{self.rank}", "")
            end = time.monotonic() + PATIENCE
            while (silent := self._silent()) and time.monotonic() < end and not self._store.check([_ENDED]):
                time.sleep(PAUSE)
        except RuntimeError:
            silent = ["the launcher of the first machine"]
        message = f"the connection to another rank broke: {str(lost)[:200]}"
        if silent:
            limit = f"the time limit of {self._limit:g} s"
            message = f"{', '.join(silent)} did not answer: dead, or stuck for more than {limit}"
        remedy = spoken("continue with {}, by as many processes as you have", Resuming(self._run))
        return UserError(message, code="E0519", help=remedy)

    def _silent(self) -> list[str]:
        return [f"rank {other}" for other in range(self.size) if not self._store.check([f"here/{other}"])]
