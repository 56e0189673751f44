"""Nudged phases that do not settle: the most settled contrast on their way."""

from __future__ import annotations

import torch
from torch import Tensor

from energyc.runtime.equations.parts import part
from energyc.runtime.nudging.pairs import NudgedPair
from energyc.runtime.tensors.states import Tensors, norm


@part("nudges", "snapshots")
class ContrastSnapshots:
    """Both phases of a pair, their contrast compared every few steps; of each sample the most settled one is taken.

    A sample whose contrast changes ten times as fast at the end as at first is ``diverging``.
    """

    def __init__(self, pair: NudgedPair, every: int) -> None:
        self.phases, self.every, self.count = pair, every, 0
        self.change = pair.change
        self.plus, self.minus = pair.plus, pair.minus
        self.last: list[Tensor] | None = None
        self.first: Tensor | None = None
        self.smallest: Tensor | None = None
        self.diverging: Tensor | None = None
        self.taken: Tensor | None = None
        self.pair: tuple[list[Tensor], list[Tensor]] = ([], [])

    def steps_(self, count: int) -> None:
        """Some steps of both phases, in place, with a comparison where it is due."""
        last = self.count + count
        while self.count < last:
            stop = min(last, self.count + self.every - self.count % self.every)
            self.phases.steps_(stop - self.count)
            self.count = stop
            if stop % self.every == 0:
                self._look(stop, self.plus, self.minus)

    def _look(self, step: int, plus: Tensors, minus: Tensors) -> None:
        """Compare both phases after a step with what they were at the last comparison."""
        contrast = [p - m for p, m in zip(plus, minus)]
        if self.last is not None:
            self._compare(step, plus, minus, torch.stack([norm(c - b) for c, b in zip(contrast, self.last)]).amax(0))
        self.last = contrast

    def _compare(self, step: int, plus: Tensors, minus: Tensors, change: Tensor) -> None:
        if self.first is None or self.smallest is None or self.taken is None:
            self.first, self.smallest = change, change
            self.taken = torch.full_like(change, step, dtype=torch.int64)
            self.pair = ([p.clone() for p in plus], [m.clone() for m in minus])
        self.diverging = ~(change <= 10 * self.first)
        better = (change < self.smallest).nonzero()[:, 0]
        self.smallest = torch.minimum(change, self.smallest)
        self.taken[better] = step
        for settled, now in zip((*self.pair[0], *self.pair[1]), (*plus, *minus)):
            settled[better] = now[better]

    def health(self) -> dict[str, Tensor]:
        """``snapshot``: the step whose contrast is taken, if two could be compared: [batch]."""
        return {} if self.taken is None else {"snapshot": self.taken}

    def take_best_(self) -> None:
        """Take the most settled pair, if two could be compared; a sample that diverges has no finite states."""
        if self.diverging is not None:
            self.plus, self.minus = self.pair
            for x in self.plus:
                x[self.diverging] = float("nan")
