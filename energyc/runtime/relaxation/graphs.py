"""CUDA graphs of steps: recorded when they occur again, then replayed on memory of their own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed
from ..tensors.states import Tensors
from ..tensors.warning import warn_caller

#: The most graphs that are kept; each has its own copy of what it reads.
MOST_GRAPHS = 16
#: The most chunks of steps that are remembered as having occurred once.
MOST_MET = 64
#: Moves its first tensors in place, by these and the second ones; it reads no others that change.
Body = Callable[[list[Tensor], list[Tensor]], None]
#: Makes of work on tensors that stay where they are what does the same work again.
Recorder = Callable[[Callable[[], None], torch.device], Callable[[], object]]


class Recorded(NamedTuple):
    """A recorded chunk of steps: its replay, and the tensors that it moves and reads."""

    replay: Callable[[], object]
    moving: list[Tensor]
    read: list[Tensor]


def cuda_graph(work: Callable[[], None], device: torch.device) -> Callable[[], object]:
    """Return the replay of a CUDA graph, recorded after the work was done on a stream of its own, as torch requires.

    What other threads do on the device meanwhile is not recorded.
    """
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(device):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            work()
        torch.cuda.current_stream().wait_stream(stream)
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            work()
    return graph.replay


class Graphs:
    """CUDA graphs of chunks of steps by their keys: recorded the second time that a key occurs, then replayed.

    They are those of devices of one type. What cannot be recorded runs as it is from then on; a warning says why.
    """

    def __init__(self, record: Recorder = cuda_graph, device_type: str = "cuda") -> None:
        self.record, self.device_type = record, device_type
        self.met: dict[Hashable, None] = {}
        self.recorded: dict[Hashable, Recorded] = {}
        self.failure: str | None = None
        #: Whether a chunk is under way, within which nothing is recorded by itself.
        self.within = False

    def __deepcopy__(self, memo: Any) -> Graphs:
        """A copy of a network records anew, on its own params."""
        return Graphs(self.record, self.device_type)

    def __reduce__(self) -> tuple[Any, ...]:
        return Graphs, ()

    def serve(self, device: torch.device) -> bool:
        """Return whether chunks on a device are recorded."""
        return device.type == self.device_type and self.failure is None

    def repeat(
        self,
        net: Equations,
        key: Hashable,
        body: Callable[[list[Tensor], Any, list[Tensor]], None],
        moving: Tensors,
        fixed: Fixed,
        further: Tensors = (),
    ) -> None:
        """Move some tensors of a network in place by ``body``, from what is ``fixed`` and ``further`` tensors.

        ``key`` determines all that ``body`` reads beside its arguments and the params, which stay where they are.
        """
        count = len(fixed[:])

        def whole(own: list[Tensor], read: list[Tensor]) -> None:
            self._inside(body, own, type(fixed)(*read[:count]), read[count:])

        if not self.serve(net.device):
            self._inside(body, list(moving), fixed, list(further))
            return
        params = tuple((x.data_ptr(), x.shape) for x in (*net.parameters(), *net.buffers()))
        self.run((key, net.products, net.training, params), whole, moving, [*fixed[:], *further])

    def _inside(self, body: Callable[..., None], *given: Any) -> None:
        """Run a chunk."""
        self.within = True
        try:
            body(*given)
        finally:
            self.within = False

    def run(self, key: Hashable, body: Body, moving: Tensors, read: Sequence[Tensor]) -> None:
        """Move some tensors in place by ``body``, which ``key`` and the shapes of the tensors determine."""
        key = (key, *((x.shape, x.dtype, x.device) for x in (*moving, *read)))
        if key not in self.recorded and not (key in self.met and self._records(key, body, moving, read)):
            self._meet(key)
            body(list(moving), list(read))
            return
        recorded = self.recorded[key]
        for kept, x in zip([*recorded.moving, *recorded.read], [*moving, *read]):
            kept.copy_(x)
        recorded.replay()
        for x, moved in zip(moving, recorded.moving):
            x.copy_(moved)

    def _meet(self, key: Hashable) -> None:
        self.met[key] = None
        while len(self.met) > MOST_MET:
            self.met.pop(next(iter(self.met)))

    def _records(self, key: Hashable, body: Body, moving: Tensors, read: Sequence[Tensor]) -> bool:
        """Record a chunk on copies of what it moves and reads; return whether that was possible."""
        if self.failure is not None:
            return False
        own, given = [x.clone() for x in moving], [x.clone() for x in read]
        try:
            replay = self.record(lambda: body(own, given), own[0].device)
        except RuntimeError as error:
            self.failure = str(error).splitlines()[0]
            warn_caller(f"steps are not recorded as a CUDA graph: {self.failure}")
            return False
        while len(self.recorded) >= MOST_GRAPHS:
            self.recorded.pop(next(iter(self.recorded)))
        self.recorded[key] = Recorded(replay, own, given)
        return True
