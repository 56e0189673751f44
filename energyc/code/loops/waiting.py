"""The steps of a kernel that are still to come: which can run now, the first one first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from energyc.code.loops.nest import Buffer, Group, Statement, Step

#: Outer loops, and whether there is one turn of them for each sample.
Loops = tuple[bool, tuple[int, ...]]


class Waiting:
    """Steps in an order in which they can run.

    A step is ready when nothing that is still to come writes what it reads or adds to. Each one is looked at a few
    times, however many there are: when it gets ready, and once for each group whose loops it could run in.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._places = {step: k for k, step in enumerate(steps)}
        self._open = [0] * len(steps)  # for each step, of how many others it needs the results
        self._readers: list[list[int]] = [[] for _ in steps]
        self._ready: list[int] = []
        self._ready_inside: defaultdict[Loops, list[int]] = defaultdict(list)
        self._link()

    def _link(self) -> None:
        """Note for each step what waits for it. Of the steps that add to one buffer each waits for the one before."""
        last: dict[Buffer, int] = {}
        for k, step in enumerate(self._steps):
            needed = {last[buffer] for buffer in (*step.reads, step.target) if buffer in last}
            self._open[k] = len(needed)
            for other in needed:
                self._readers[other].append(k)
            last[step.target] = k
        for k, count in enumerate(self._open):
            if not count:
                self._make_ready(k)

    def _make_ready(self, place: int) -> None:
        heappush(self._ready, place)
        step = self._steps[place]
        if isinstance(step, Statement):
            for loops in _loops(step):
                heappush(self._ready_inside[loops], place)

    def first(self) -> Step | None:
        """The first step that is ready; None after the last."""
        while self._ready and self._steps[self._ready[0]] not in self._places:
            heappop(self._ready)
        return self._steps[self._ready[0]] if self._ready else None

    def inside(self, group: Group) -> Iterator[Statement]:
        """The ready statements that have the outer loops of a group, the first one first; taking one may ready others.

        One that is passed over is offered to the next group.
        """
        ready = self._ready_inside[group.batched, group.outer]
        passed: list[int] = []
        while ready:
            place = heappop(ready)
            step = self._steps[place]
            if step in self._places:
                yield step  # type: ignore[misc]
            if step in self._places:
                passed.append(place)
        for place in passed:
            heappush(ready, place)

    def take(self, step: Step) -> None:
        """Take a step away: it runs next."""
        for reader in self._readers[self._places.pop(step)]:
            self._open[reader] -= 1
            if not self._open[reader]:
                self._make_ready(reader)


def _loops(statement: Statement) -> Iterator[Loops]:
    """The outer loops that a statement can run in: those over its first labels, of a reduction those over all."""
    outer = statement.outer
    for depth in range(len(outer) if statement.fold else 0, len(outer) + 1):
        yield statement.target.batched, outer[:depth]
