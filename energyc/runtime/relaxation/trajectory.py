"""The trajectory of a free phase: its steps one by one, or segments of steps that kernels make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed, FreePhase, Phase, rows_of
from ..tensors.states import Tensors, take
from .free_run import FreeRun, Observer
from .solver import run_free_phase, step_method


class FixedRows:
    """The fixed quantities of some of the samples, kept while those samples stay the same for several steps."""

    def __init__(self, fixed: Fixed) -> None:
        self.whole = fixed
        self.last: Tensor | None = None
        self.part = fixed

    def rows(self, rows: Tensor | None) -> Fixed:
        """Return the fixed quantities of these rows; None: all."""
        if rows is not self.last:
            self.last, self.part = rows, self.whole if rows is None else rows_of(self.whole, rows)
        return self.part


class ForwardStep(NamedTuple):
    """A step: its number, the samples that took it (their rows; None: all), and their states before it.

    ``moved`` is where the force took them, before they were projected; None where they are in no set.
    """

    number: int
    rows: Tensor | None
    states: list[Tensor]
    moved: list[Tensor] | None

    def select(self, rows: Tensor | None, selected: Tensor) -> ForwardStep:
        """Return some of its samples, which are these rows of the batch."""
        moved = None if self.moved is None else take(self.moved, selected)
        return ForwardStep(self.number, rows, take(self.states, selected), moved)


class Segment(NamedTuple):
    """Steps from the number ``first`` on, the samples that took them (their rows; None: all), and their states.

    ``kept`` are those before each step and after the last, not projected yet: [steps + 1, samples, ...] each.
    """

    first: int
    rows: Tensor | None
    kept: list[Tensor]

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.kept[0]) - 1

    def select(self, rows: Tensor | None, selected: Tensor) -> Segment:
        """Return some of its samples, which are these rows of the batch."""
        return self._replace(rows=rows, kept=[x[:, selected] for x in self.kept])

    def slice(self, first: int, stop: int) -> Segment:
        """Return some of its steps."""
        return self._replace(first=self.first + first, kept=[x[first : stop + 1] for x in self.kept])

    def single_steps(self, net: Equations) -> Iterator[ForwardStep]:
        """Yield its steps one by one."""
        for k in range(self.steps):
            states = [x[k].clone() for x in self.kept]
            net._project_(states)
            moved = [x[k + 1] for x in self.kept] if net.constrained else None
            yield ForwardStep(self.first + k, self.rows, states, moved)


#: The steps of a free phase, in order; or segments of them, where kernels make them.
Trajectory = Sequence[ForwardStep | Segment]


def single_steps(net: Equations, trajectory: Trajectory) -> list[ForwardStep]:
    """Return a trajectory as single steps."""
    steps: list[ForwardStep] = []
    for each in trajectory:
        steps += each.single_steps(net) if isinstance(each, Segment) else [each]
    return steps


def segments(trajectory: Trajectory) -> list[Segment] | None:
    """Return a trajectory as segments; None where a step is on its own."""
    found = [each for each in trajectory if isinstance(each, Segment)]
    return found if len(found) == len(trajectory) else None


def step_count(trajectory: Trajectory) -> int:
    """Return the number of steps of a trajectory."""
    return sum(each.steps if isinstance(each, Segment) else 1 for each in trajectory)


# -------------------------------------------------------------------- the observers


class StepRecorder(Observer):
    """Keeps the steps of a free phase one by one; with ``last`` only those that hold each sample's own last steps."""

    def __init__(self, net: Equations, fixed: Fixed, step: Sequence[float], last: int | None) -> None:
        self.net, self.step, self.last = net, step, last
        self.trajectory: list[ForwardStep | Segment] = []
        self.fixed = FixedRows(fixed)

    def before_step(self, run: FreeRun, number: int, states: list[Tensor]) -> Tensors | None:
        """Keep the states, and return the force where it is needed to know where they move."""
        net, rows, force, moved = self.net, run.moving, None, None
        if net.constrained:
            force = net._force(states, net._at(self.fixed.rows(rows), number))
            moved = [torch.add(x, f, alpha=h) for x, f, h in zip(states, force, self.step)]
        self.trajectory.append(ForwardStep(number, rows, [x.clone() for x in states], moved))
        if self.last is not None and rows is None and len(self.trajectory) > self.last:
            self.trajectory.pop(0)
        return force


class SegmentRecorder(StepRecorder):
    """Keeps the steps of a free phase as segments where kernels make them, and one by one elsewhere."""

    def steps_(self, run: FreeRun, states: list[Tensor], fixed: Fixed, count: int) -> bool:
        """Make some steps by kernels, and return whether they were made."""
        net = self.net
        skipped = 0 if self.last is None else max(0, count - self.last)
        if not count or net._serving("recorded", states) is None:
            return False
        net._steps_(states, fixed, run.taken, skipped, run.step)
        first, count = run.taken + skipped, count - skipped
        kept = net._kept_steps_(states, fixed, first, count, run.step) if count else None
        if kept is None:
            callback = partial(self.before_step, run)
            step_method(net).steps_(states, fixed, first, count, run.step, callback)
            return True
        self.trajectory.append(Segment(first, run.moving, kept))
        while self.last is not None and run.moving is None and step_count(self.trajectory[1:]) >= self.last:
            self.trajectory.pop(0)
        return True


def run_recorded(
    net: Equations, states: list[Tensor], fixed: Fixed, phase: Phase, last: int | None = None
) -> tuple[FreePhase, Trajectory]:
    """Run a free phase and return it with its trajectory; with ``last`` only each sample's own last steps."""
    recorder = (SegmentRecorder if net.retraced else StepRecorder)(net, fixed, phase.step, last)
    free = run_free_phase(net, states, fixed, phase, recorder, uniform=True)
    batch, whole = len(free.steps), segments(recorder.trajectory)
    if net.retraced and whole is not None:
        return free, whole if last is None else last_segments(whole, batch, last)
    steps = single_steps(net, recorder.trajectory)
    return free, steps if last is None else last_steps(steps, batch, last)


# -------------------------------------------------------------------- some steps, some samples


def last_steps(trajectory: Sequence[ForwardStep], batch: int, last: int) -> list[ForwardStep]:
    """Return each sample's own last steps."""
    samples = torch.arange(batch, device=trajectory[0].states[0].device) if trajectory else torch.arange(batch)
    left = torch.full_like(samples, last)
    tail: list[ForwardStep] = []
    for step in reversed(trajectory):
        present = samples if step.rows is None else step.rows
        wanted = left[present] > 0
        left[present] -= 1
        if bool(wanted.all()):
            tail.append(step)
        elif bool(wanted.any()):
            tail.append(step.select(present[wanted], wanted))
    return tail[::-1]


def last_segments(trajectory: Sequence[Segment], batch: int, last: int) -> list[Segment]:
    """Return each sample's own last steps as segments."""
    left = torch.full((batch,), last)
    tail: list[Segment] = []
    for segment in reversed(trajectory):
        present = torch.arange(batch) if segment.rows is None else segment.rows
        wanted, done = left[present].clamp(max=segment.steps), 0
        left[present] -= wanted
        for count in wanted.unique().tolist():  # the least first: all have these steps
            if count > done:
                steps = segment.slice(segment.steps - count, segment.steps - done)
                here = wanted >= count
                tail.append(steps if bool(here.all()) else steps.select(present[here], here))
            done = count
    return tail[::-1]


def select_samples(trajectory: Trajectory, kept: Tensor) -> Trajectory:
    """Return the steps of the samples that are kept; their rows are those of the batch of these alone."""
    if bool(kept.all()):
        return trajectory
    place = kept.cumsum(0) - 1
    steps: list[ForwardStep | Segment] = []
    for step in trajectory:
        taken = kept if step.rows is None else kept[step.rows]
        steps.append(step.select(None if step.rows is None else place[step.rows[taken]], taken))
    return steps
