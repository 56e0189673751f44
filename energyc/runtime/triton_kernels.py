"""Phases by kernels in Triton: a step is a sequence of launches, and on a GPU a chunk of steps is one CUDA graph."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from energyc.runtime.records import Tensors
from energyc.runtime.states import relative_change
from energyc.runtime.triton_functions import has_triton

#: The most graphs that are kept; each has its own copy of what its steps read.
MOST_GRAPHS = 16
#: A step of a phase: from the states now to those then, of what is given, the scalars and the memory between.
Step = Callable[[Tensors, Tensors, Tensors, Tensor, Tensor], None]


class PhaseStep(NamedTuple):
    """A step, the entries of memory that it needs for each sample, and which of what is given is its number."""

    step: Step
    entries: int
    number: int | None = None


class Recorded(NamedTuple):
    """A chunk of steps as a CUDA graph, and the tensors that it reads and writes."""

    graph: Any
    states: list[Tensor]
    given: list[Tensor]
    scalars: Tensor


class TritonKernels:
    """The kernels of a network's phases in Triton, by name.

    They take states on a GPU; and on a CPU where the environment variable ``TRITON_INTERPRET`` is 1, slowly. On a GPU
    a chunk of steps is recorded when it is met a second time with as many samples, and replayed from then on.
    """

    def __init__(self, phases: Mapping[str, PhaseStep]) -> None:
        self.phases = phases
        self.names = tuple(phases)
        self.met: set[Hashable] = set()
        self.graphs: dict[Hashable, Recorded] = {}
        self.failure: str | None = None

    def serve(self, name: str, states: Tensors) -> bool:
        """Whether a kernel takes these states; the first time that one could and does not, a warning says why."""
        x = states[0]
        if name not in self.names or x.dtype not in (torch.float32, torch.float64) or len(x) == 0:
            return False
        reason = None
        if not has_triton():
            reason = "triton is not installed"
        elif x.device.type != "cuda" and not (x.device.type == "cpu" and interpreted()):
            reason = f"the states are on the device {x.device}, and kernels in Triton run on a GPU"
        if reason is not None and self.failure is None:
            self.failure = reason
            warnings.warn(f"the kernels run as torch operations: {reason}", RuntimeWarning, stacklevel=2)
        return reason is None

    def run(
        self,
        name: str,
        states: Tensors,
        given: Tensors,
        scalars: Sequence[float],
        steps: int,
        change: Tensor | None = None,
    ) -> None:
        """Move the states in place; ``change`` [batch] becomes the relative change of the step that would follow."""
        read = [x.detach().contiguous() for x in given]
        numbers = torch.tensor(scalars, dtype=states[0].dtype, device=states[0].device)
        with torch.no_grad():
            if states[0].device.type == "cuda" and steps > 1:
                self._replay(name, states, read, numbers, steps)
            else:
                self._walk(name, states, read, numbers, steps)
            if change is not None:
                then = [x.clone() for x in states]
                self._walk(name, then, read, numbers, 1)
                change.copy_(relative_change(then, states))

    def _walk(self, name: str, states: Tensors, given: Tensors, scalars: Tensor, steps: int) -> None:
        """Some steps, one after the other; the states alternate between their own memory and a spare one."""
        phase = self.phases[name]
        given = [x.clone() if k == phase.number else x for k, x in enumerate(given)]
        now = [x.contiguous() for x in states]
        then = [torch.empty_like(x) for x in now]
        memory = now[0].new_empty(phase.entries * len(now[0]))
        with torch.cuda.device_of(memory):
            for _ in range(steps):
                phase.step(now, then, given, scalars, memory)
                now, then = then, now
                if phase.number is not None:
                    given[phase.number].add_(1)
        for x, moved in zip(states, now):
            if x is not moved:
                x.copy_(moved)

    def _replay(self, name: str, states: Tensors, given: Tensors, scalars: Tensor, steps: int) -> None:
        """Some steps: one after the other where they are new, later as one CUDA graph."""
        key = (name, steps, *((x.shape, x.dtype, x.device) for x in (*states, *given)))
        if key not in self.met:
            self.met.add(key)
            self._walk(name, states, given, scalars, steps)
            return
        if key not in self.graphs:
            while len(self.graphs) >= MOST_GRAPHS:
                self.graphs.pop(next(iter(self.graphs)))
            self.graphs[key] = self._record(name, states, given, scalars, steps)
        recorded = self.graphs[key]
        for kept, x in zip([*recorded.states, *recorded.given, recorded.scalars], [*states, *given, scalars]):
            kept.copy_(x)
        recorded.graph.replay()
        for x, moved in zip(states, recorded.states):
            x.copy_(moved)

    def _record(self, name: str, states: Tensors, given: Tensors, scalars: Tensor, steps: int) -> Recorded:
        """A graph over tensors of its own, after a step on a stream of its own, as torch asks for."""
        own = Recorded(torch.cuda.CUDAGraph(), [x.clone() for x in states], [x.clone() for x in given], scalars.clone())
        with torch.cuda.device(states[0].device):
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self._walk(name, own.states, own.given, own.scalars, 1)
            torch.cuda.current_stream().wait_stream(stream)
            with torch.cuda.graph(own.graph):
                self._walk(name, own.states, own.given, own.scalars, steps)
        return own


def interpreted() -> bool:
    """Whether Triton interprets its kernels."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "yes", "on", "y")


def matrix(x: Tensor, sizes: Sequence[int], strides: Sequence[int], at: int = 0) -> Tensor:
    """A view of a tensor's memory, from the entry ``at`` on."""
    return x.as_strided(sizes, strides, x.storage_offset() + at)


def room(memory: Tensor, samples: int, at: int, size: int) -> Tensor:
    """Entries of the memory of a step: ``size`` for each sample, after ``at`` for each."""
    return memory[at * samples : (at + size) * samples]


def scatter(target: Tensor, index: Tensor, entries: Tensor, fold: str) -> None:
    """Bring entries [..., edges] to the places [...] of the target that the index, of their shape, gives.

    ``sum`` adds them to 0, ``max`` keeps the largest. On a GPU the order of a sum is not always the same.
    """
    kept = target.dim() - 1
    target.fill_(0.0 if fold == "sum" else float("-inf"))
    how = "sum" if fold == "sum" else "amax"
    target.scatter_reduce_(-1, index.flatten(kept), entries.flatten(kept), how)


def cdiv(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)
