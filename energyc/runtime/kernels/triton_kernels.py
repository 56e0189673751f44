"""Phases by kernels in Triton: a step is a sequence of launches, and on a GPU a chunk of steps is one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache, partial
from typing import NamedTuple

import torch
from torch import Tensor

from ..equations.products import products_in
from ..relaxation.graphs import Graphs
from ..tensors.states import Tensors, relative_change
from ..tensors.warning import warn_caller
from .triton_functions import has_triton, interpreted

#: The steps of a phase that solves from one look at where it is to the next.
LOOK = 8
#: A step of a phase: from the states now to those then, of what is given, the scalars and the memory between. Or all
#: steps, of the states in place, what is given, the scalars and how many.
Step = Callable[..., None]


class PhaseStep(NamedTuple):
    """A step, and the entries of memory that it needs for each sample.

    ``reads`` are the places of what it reads in what it is given. Of that ``number`` is which one is the number of the
    step, ``matrices`` are those that products alone read, ``batched`` those that each sample has for itself. A
    ``whole`` phase is one launch: a program moves its samples in place until the last step. ``prepare`` computes what
    stays in the memory for all steps. One that ``solves`` repeats a step until each sample is at its goal.
    """

    step: Step
    entries: int
    reads: Sequence[int]
    number: int | None = None
    matrices: Set[int] = frozenset()
    batched: Set[int] = frozenset()
    whole: bool = False
    prepare: Callable[[Tensors, Tensors, Tensor, Tensor], None] | None = None
    solves: bool = False


class TritonKernels:
    """The kernels of a network's phases in Triton, by name.

    They take states on a GPU; and on a CPU where the environment variable ``TRITON_INTERPRET`` is 1, slowly. On a GPU
    a chunk of steps and the look after it are recorded when they are met a second time, and replayed from then on.
    Samples that have come to rest leave the others in ever smaller numbers: a graph has room for the next power of two.
    """

    pairs = True

    def __init__(self, phases: Mapping[str, PhaseStep]) -> None:
        self.phases = phases
        self.names = tuple(phases)
        self.graphs = Graphs()
        self.failure: str | None = None

    def serve(self, name: str, states: Tensors, products: str | None = None) -> bool:
        """Return whether a kernel takes these states and products; a warning says once why one does not."""
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
            warn_caller(f"the kernels run as torch operations: {reason}")
        return reason is None

    def rounds(self, name: str) -> bool:
        """Return whether a kernel rounds the operands of a product where it is asked to: any does."""
        return True

    def run(
        self,
        name: str,
        states: Tensors,
        given: Tensors,
        scalars: Sequence[float],
        steps: int,
        change: Tensor | None = None,
        products: str | None = None,
    ) -> bool:
        """Move the states in place; ``change`` [batch] becomes the relative change of the step that would follow.

        With ``products`` in bfloat16 their operands and results are held in it, as is all that lies between the blocks
        of a step; states and groups stay in float32. So does all else in phases whose difference is the gradient. A
        phase that solves is given the goal of each sample in ``change``, and leaves how far its last step went.
        """
        products = "float32" if products == "contrast" else products
        kind, device = states[0].dtype, states[0].device
        low = torch.bfloat16 if products == "bfloat16" and kind == torch.float32 else kind
        phase = self.phases[name]
        asked = [given[place].detach() for place in phase.reads]
        read = [x.to(low if k in phase.matrices else x.dtype).contiguous() for k, x in enumerate(asked)]
        numbers = _numbers(tuple(scalars), kind, device)
        with torch.no_grad(), products_in(None if low != kind else products, device):
            if phase.solves:
                assert change is not None
                self._solve(name, states, read, numbers, steps, change)
                return True
            work = partial(self._move, name, steps, low)
            launches = steps > 1 and not phase.whole
            if (launches or change is not None) and self.graphs.serve(device):
                self._replay((name, steps, products), work, states, [*read, numbers], change)
            else:
                work(states, read, numbers, change)
        return True

    def _solve(self, name: str, states: Tensors, given: Tensors, scalars: Tensor, most: int, change: Tensor) -> None:
        """Steps until all samples are at their goals, at most so many; a look waits for the device."""
        phase, goal = self.phases[name], change.clone()
        memory = states[0].new_empty(phase.entries * len(states[0]))
        if phase.prepare is not None:
            with torch.cuda.device_of(memory):
                phase.prepare(states, given, scalars, memory)
        for done in range(0, most, LOOK):
            self._walk(name, states, given, scalars, min(LOOK, most - done) - 1, memory=memory)
            before = [x.clone() for x in states]
            self._walk(name, states, given, scalars, 1, memory=memory)
            squares = ((x - y).reshape(len(x), -1).square().sum(1) for x, y in zip(states, before))
            whole = torch.stack([*squares]).sum(0)
            change.copy_(whole.sqrt().masked_fill(~whole.isfinite(), float("nan")))
            if bool((change <= goal).all()):
                break

    def _walk(
        self,
        name: str,
        states: Tensors,
        given: Tensors,
        scalars: Tensor,
        steps: int,
        low: torch.dtype | None = None,
        memory: Tensor | None = None,
    ) -> None:
        """Some steps, one after the other; the states alternate between their own memory and a spare one.

        Between the blocks of a step is memory of the dtype ``low``, by default that of the states, which keeps what was
        prepared for all steps.
        """
        phase = self.phases[name]
        given = [x.clone() if k == phase.number else x for k, x in enumerate(given)]
        now = [x.contiguous() for x in states]
        if phase.whole:
            with torch.cuda.device_of(now[0]):
                phase.step(now, given, scalars, steps)
            self._put(states, now)
            return
        then = [torch.empty_like(x) for x in now]
        if memory is None:
            memory = now[0].new_empty(phase.entries * len(now[0]), dtype=low)
        with torch.cuda.device_of(memory):
            for _ in range(steps):
                phase.step(now, then, given, scalars, memory)
                now, then = then, now
                if phase.number is not None:
                    given[phase.number].add_(1)
        self._put(states, now)

    @staticmethod
    def _put(states: Tensors, moved: Tensors) -> None:
        for x, y in zip(states, moved):
            if x is not y:
                x.copy_(y)

    def _move(
        self,
        name: str,
        steps: int,
        low: torch.dtype | None,
        states: Tensors,
        given: Tensors,
        scalars: Tensor,
        change: Tensor | None,
    ) -> None:
        """Some steps, and the relative change of the one that would follow."""
        self._walk(name, states, given, scalars, steps, low)
        if change is not None:
            then = [x.clone() for x in states]
            self._walk(name, then, given, scalars, 1, low)
            change.copy_(relative_change(then, states))

    def _replay(
        self,
        key: tuple[str, int, str | None],
        work: Callable[[Tensors, Tensors, Tensor, Tensor | None], None],
        states: Tensors,
        read: Tensors,
        change: Tensor | None = None,
    ) -> None:
        """Steps and a look: one after the other where they are new, later as one CUDA graph.

        They are made for as many samples as the next power of two, the further ones like the first of all.
        """
        count = len(states[0])
        room = 1 << (count - 1).bit_length()
        batched = self.phases[key[0]].batched
        looks = [] if change is None else [change]
        moving = [_roomy(x, room) for x in (*states, *looks)]
        given = [_roomy(x, room) if k in batched else x for k, x in enumerate(read)]

        def body(own: list[Tensor], at: list[Tensor]) -> None:
            work(own[: len(states)], at[:-1], at[-1], own[-1] if looks else None)

        self.graphs.run((*key, bool(looks)), body, moving, given)
        for x, moved in zip((*states, *looks), moving):
            if moved is not x:
                x.copy_(moved[:count])


def _roomy(x: Tensor, samples: int) -> Tensor:
    """The tensor with room for so many samples, the further ones like the first."""
    return x if len(x) == samples else torch.cat([x, x[:1].expand(samples - len(x), *x.shape[1:])])


@lru_cache(maxsize=64)
def _numbers(scalars: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Numbers on a device, which waits where they are brought there: the same ones once."""
    return torch.tensor(scalars, dtype=dtype, device=device)


def dot_precision() -> str:
    """Return how a kernel rounds operands of float32 products: as torch does on a GPU."""
    return "tf32" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "ieee"


def matrix(x: Tensor, sizes: Sequence[int], strides: Sequence[int], at: int = 0) -> Tensor:
    """A view of a tensor's memory, from the entry ``at`` on."""
    return x.as_strided(sizes, strides, x.storage_offset() + at)


def put_product(target: Tensor, left: Tensor, right: Tensor, *, adds: bool = False, factor: float = 1.0) -> None:
    """A product of two matrices, or of a batch of them, in the dtype of where it is put or, if it ``adds``, added."""
    left, right = left.to(target.dtype), right.to(target.dtype)
    put = target.addmm_ if target.dim() == 2 else target.baddbmm_
    put(left, right, beta=int(adds), alpha=factor)


def put_einsum(
    target: Tensor, equation: str, left: Tensor, right: Tensor, *, adds: bool = False, factor: float = 1.0
) -> None:
    """The same for a product that is not a product of two matrices."""
    value = torch.einsum(equation, left.to(target.dtype), right.to(target.dtype))
    if adds:
        target.add_(value, alpha=factor)
    else:
        target.copy_(value.mul_(factor) if factor != 1 else value)


def room(memory: Tensor, samples: int, at: int, size: int) -> Tensor:
    """Entries of the memory of a step: ``size`` for each sample, after ``at`` for each."""
    return memory[at * samples : (at + size) * samples]


def scatter(target: Tensor, index: Tensor, entries: Tensor, fold: str) -> None:
    """Bring entries [..., edges] to the places [...] of the target that the index, of their shape, gives.

    ``sum`` adds them to 0, ``max`` keeps the largest. On a GPU the order of a sum is not always the same.
    """
    kept = target.dim() - 1
    whole = target.float() if target.dtype == torch.bfloat16 else target
    whole.fill_(0.0 if fold == "sum" else float("-inf"))
    how = "sum" if fold == "sum" else "amax"
    whole.scatter_reduce_(-1, index.flatten(kept), entries.flatten(kept).to(whole.dtype), how)
    if whole is not target:
        target.copy_(whole)


def cdiv(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)
