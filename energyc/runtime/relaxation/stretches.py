"""Stretches of a trajectory: steps in a row of the same samples, which kernels make and go back through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import chosen
from energyc.runtime.equations.records import Fixed, Phase
from energyc.runtime.relaxation.backward import Parts, StepSums
from energyc.runtime.tensors.states import put_, take


class Stretch(NamedTuple):
    """Steps from the number ``first`` on, the samples that took them (their rows; None: all), and their states.

    ``kept`` are those before each step and behind the last, not projected yet: [steps + 1, samples, ...] each.
    """

    first: int
    rows: Tensor | None
    kept: list[Tensor]

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.kept[0]) - 1

    def of(self, rows: Tensor | None, chosen: Tensor) -> Stretch:
        """Some of its samples, which are these rows of the batch."""
        return self._replace(rows=rows, kept=[x[:, chosen] for x in self.kept])

    def part(self, first: int, stop: int) -> Stretch:
        """Some of its steps."""
        return self._replace(first=self.first + first, kept=[x[first : stop + 1] for x in self.kept])


def steps_of(trajectory: Sequence[Any]) -> int:
    """The steps of stretches together, and of single steps."""
    return sum(each.steps if isinstance(each, Stretch) else 1 for each in trajectory)


class Keeper:
    """An observer that keeps the steps of a free phase in ``trajectory``, as stretches where kernels make them.

    ``each`` keeps one step at a time. With ``last`` only each sample's own last steps are needed.
    """

    def __init__(self, trajectory: list[Any], each: Any, last: int | None) -> None:
        self.trajectory, self.each, self.last = trajectory, each, last

    def __call__(self, run: Any, number: int, part: list[Tensor]) -> Any:
        return self.each(run, number, part)

    def stretch_(self, run: Any, part: list[Tensor], fixed: Fixed, count: int) -> bool:
        """Whether kernels made some steps in place, which are kept."""
        net, skipped = run.net, 0 if self.last is None else max(0, count - self.last)
        if not count or net._serving("recorded", part) is None:
            return False
        net._steps_(part, fixed, run.taken, skipped, run.step)
        first, count = run.taken + skipped, count - skipped
        kept = net._kept_steps_(part, fixed, first, count, run.step) if count else None
        if kept is None:
            chosen("solver", net.relax_solver).walk_(net, part, fixed, first, count, run.step, run.seen())
            return True
        self.trajectory.append(Stretch(first, run.some, kept))
        while self.last is not None and run.some is None and steps_of(self.trajectory[1:]) >= self.last:
            self.trajectory.pop(0)
        return True


def stretch_(run: Any, part: list[Tensor], fixed: Fixed, count: int) -> bool:
    """Whether kernels made some steps of a free phase in place, which its observer keeps."""
    keepers = [observer for observer in run.observers if isinstance(observer, Keeper)]
    return len(keepers) == len(run.observers) == 1 and keepers[0].stretch_(run, part, fixed, count)


def last_stretches(trajectory: Sequence[Stretch], batch: int, last: int) -> list[Stretch]:
    """Each sample's own last steps."""
    left = torch.full((batch,), last)
    tail: list[Stretch] = []
    for stretch in reversed(trajectory):
        present = torch.arange(batch) if stretch.rows is None else stretch.rows
        wanted, done = left[present].clamp(max=stretch.steps), 0
        left[present] -= wanted
        for count in wanted.unique().tolist():  # the least first: all have these steps
            if count > done:
                steps = stretch.part(stretch.steps - count, stretch.steps - done)
                here = wanted >= count
                tail.append(steps if bool(here.all()) else steps.of(present[here], here))
            done = count
    return tail[::-1]


def are_stretches(trajectory: Sequence[Any]) -> bool:
    """Whether kernels made all steps of a trajectory."""
    return all(isinstance(each, Stretch) for each in trajectory)


def went_back(
    net: Equations,
    trajectory: Sequence[Any],
    cotangents: list[Tensor],
    fixed: Fixed,
    phase: Phase,
    totals: StepSums,
) -> tuple[list[Any], list[Tensor]]:
    """The steps before those that kernels went back through, and the cotangents there; ``totals`` has their sums."""
    left, parts, own, owners = list(trajectory), Parts(fixed), cast(Any, net), net._owners()
    cotangents = [x.clone() for x in cotangents]
    sums = [cotangents[0].new_zeros((totals.batch, *sizes)) for sizes in own._sum_sizes]
    sizes = [owners[name].numel() for name in own._totals]
    slopes = cotangents[0].new_zeros(sum(sizes))
    moving = [*cotangents, *sums]
    while left and isinstance(left[-1], Stretch):
        first, rows, kept = left[-1]
        here = moving if rows is None else take(moving, rows)
        seeds, added = here[: len(cotangents)], here[len(cotangents) :]
        if not net._steps_back_(seeds, added, slopes, kept, parts.of(rows), first, phase.step):
            break
        if rows is not None:
            put_(moving, rows, here)
        left.pop()
    if len(left) < len(trajectory):
        totals.sums = sums
        for (name, order), flat in zip(own._totals.items(), slopes.split(sizes)):
            turned = flat.view([owners[name].shape[k] for k in order])
            totals.slopes[name] = turned.permute([order.index(k) for k in range(len(order))]).contiguous()
    return left, cotangents


def single_steps(
    net: Equations, stretch: Stretch
) -> Iterator[tuple[int, Tensor | None, list[Tensor], list[Tensor] | None]]:
    """The steps of a stretch one by one: the number, the rows, the states and where the force took them."""
    for k in range(stretch.steps):
        states = [x[k].clone() for x in stretch.kept]
        net._project_(states)
        yield stretch.first + k, stretch.rows, states, [x[k + 1] for x in stretch.kept] if net.constrained else None
