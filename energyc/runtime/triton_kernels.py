"""Phases by kernels in Triton: a step is a sequence of launches, and on a GPU a chunk of steps is one CUDA graph."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from energyc.runtime.records import Tensors
from energyc.runtime.states import relative_change
from energyc.runtime.triton_functions import has_triton

#: A step of a phase: from the states now to those then, of what is given, the scalars and the memory between.
Step = Callable[[Tensors, Tensors, Tensors, Tensor, Tensor], None]


class PhaseStep(NamedTuple):
    """A step, and the entries of memory that it needs for each sample."""

    step: Step
    entries: int


class Recorded(NamedTuple):
    """A chunk of steps as a CUDA graph, and the tensors that it reads and writes."""

    graph: Any
    states: list[Tensor]
    given: list[Tensor]
    scalars: Tensor


class TritonKernels:
    """The kernels of a network's phases in Triton, by name.

    They take states on a GPU; and on a CPU where the environment variable ``TRITON_INTERPRET`` is 1, slowly. Memory
    and graphs are kept for each size of batch, and graphs for each number of steps.
    """

    def __init__(self, phases: Mapping[str, PhaseStep]) -> None:
        self.phases = phases
        self.names = tuple(phases)
        self.memory: dict[Any, Tensor] = {}
        self.spare: dict[Any, list[Tensor]] = {}
        self.graphs: dict[Any, Recorded] = {}
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
                now = [x.contiguous() for x in states]
                then = self._spare(name, now)
                self.phases[name].step(now, then, read, numbers, self._memory(name, now))
                change.copy_(relative_change(then, now))

    def _walk(self, name: str, states: Tensors, given: Tensors, scalars: Tensor, steps: int) -> None:
        """Some steps, one after the other; the states alternate between their own memory and a spare one."""
        own = [x.contiguous() for x in states]
        now, then = own, self._spare(name, own)
        for _ in range(steps):
            self.phases[name].step(now, then, given, scalars, self._memory(name, own))
            now, then = then, now
        for x, moved in zip(states, now):
            if x is not moved:
                x.copy_(moved)

    def _replay(self, name: str, states: Tensors, given: Tensors, scalars: Tensor, steps: int) -> None:
        """Some steps as one CUDA graph, recorded at the first call with this many steps and samples."""
        key = (name, steps, *((x.shape, x.dtype, x.device) for x in (*states, *given)))
        if key not in self.graphs:
            self.graphs[key] = self._record(name, states, given, scalars, steps)
        recorded = self.graphs[key]
        for kept, x in zip([*recorded.states, *recorded.given, recorded.scalars], [*states, *given, scalars]):
            kept.copy_(x)
        recorded.graph.replay()
        for x, moved in zip(states, recorded.states):
            x.copy_(moved)

    def _record(self, name: str, states: Tensors, given: Tensors, scalars: Tensor, steps: int) -> Recorded:
        """A graph over tensors of its own. A step before it compiles the kernels, which a recording cannot."""
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

    def _memory(self, name: str, states: Tensors) -> Tensor:
        """The memory between the launches of a step."""
        x = states[0]
        key = (name, len(x), x.dtype, x.device)
        if key not in self.memory:
            self.memory[key] = x.new_empty(self.phases[name].entries * len(x))
        return self.memory[key]

    def _spare(self, name: str, states: Tensors) -> list[Tensor]:
        """A second memory for the states."""
        x = states[0]
        key = (name, len(x), x.dtype, x.device)
        if key not in self.spare:
            self.spare[key] = [torch.empty_like(y) for y in states]
        return self.spare[key]


def interpreted() -> bool:
    """Whether Triton interprets its kernels."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "yes", "on", "y")


def matrix(x: Tensor, sizes: Sequence[int], strides: Sequence[int], at: int = 0) -> Tensor:
    """A view of a tensor's memory, from the entry ``at`` on."""
    return x.as_strided(sizes, strides, x.storage_offset() + at)


def room(memory: Tensor, samples: int, at: int, size: int) -> Tensor:
    """Entries of the memory of a step: ``size`` for each sample, after ``at`` for each."""
    return memory[at * samples : (at + size) * samples]


def cdiv(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)
