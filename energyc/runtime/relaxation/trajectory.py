"""The trajectory of a free phase, and its steps in reverse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import Any, NamedTuple

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import Fixed, FreePhase, Phase
from energyc.runtime.relaxation.backward import BackwardStep, Parts, StepSums
from energyc.runtime.relaxation.free_phase import FreeRun, settle
from energyc.runtime.relaxation.stretches import (
    Keeper,
    Stretch,
    are_stretches,
    last_stretches,
    single_steps,
    went_back,
)
from energyc.runtime.tensors.states import Tensors, put_, take


class ForwardStep(NamedTuple):
    """A step: its number, the samples that took it (their rows; None: all), and their states before it.

    ``moved`` is where the force took them, before they were projected; None where they are in no set.
    """

    number: int
    rows: Tensor | None
    states: list[Tensor]
    moved: list[Tensor] | None

    def of(self, rows: Tensor | None, chosen: Tensor) -> ForwardStep:
        """Some of its samples, which are these rows of the batch."""
        moved = None if self.moved is None else take(self.moved, chosen)
        return ForwardStep(self.number, rows, take(self.states, chosen), moved)


#: The steps of a free phase, in order; or stretches of them, where kernels make them.
Trajectory = list[Any]


def settle_recorded(
    net: Equations, states: list[Tensor], fixed: Fixed, phase: Phase, last: int | None = None
) -> tuple[FreePhase, Trajectory]:
    """The free phase with its trajectory; with ``last`` only each sample's own last steps."""
    trajectory: Trajectory = []
    if net.constrained:
        parts = Parts(fixed)

    def record(run: FreeRun, number: int, part: list[Tensor]) -> list[Tensor] | None:
        rows, force, moved = run.some, None, None
        if net.constrained:
            force = net._force(part, net._at(parts.of(rows), number))
            moved = [torch.add(x, f, alpha=h) for x, f, h in zip(part, force, phase.step)]
        trajectory.append(ForwardStep(number, rows, [x.clone() for x in part], moved))
        if last is not None and rows is None and len(trajectory) > last:
            trajectory.pop(0)
        return force

    if net.retraced:
        free = settle(net, states, fixed, phase, [Keeper(trajectory, record, last)], alike=True)
        if are_stretches(trajectory):
            return free, trajectory if last is None else last_stretches(trajectory, len(free.steps), last)
        trajectory = one_by_one(net, trajectory)
    else:
        free = settle(net, states, fixed, phase, [record], alike=True)
    return free, trajectory if last is None else last_steps(trajectory, len(free.steps), last)


def one_by_one(net: Equations, trajectory: Trajectory) -> Trajectory:
    """A trajectory of single steps."""
    steps: Trajectory = []
    for each in trajectory:
        steps += starmap(ForwardStep, single_steps(net, each)) if isinstance(each, Stretch) else [each]
    return steps


def last_steps(trajectory: Trajectory, batch: int, last: int) -> Trajectory:
    """Each sample's own last steps."""
    samples = torch.arange(batch, device=trajectory[0].states[0].device) if trajectory else torch.arange(batch)
    left = torch.full_like(samples, last)
    tail: Trajectory = []
    for step in reversed(trajectory):
        present = samples if step.rows is None else step.rows
        wanted = left[present] > 0
        left[present] -= 1
        if bool(wanted.all()):
            tail.append(step)
        elif bool(wanted.any()):
            tail.append(step.of(present[wanted], wanted))
    return tail[::-1]


def of_samples(trajectory: Trajectory, kept: Tensor) -> Trajectory:
    """The steps of the samples that are kept; their rows are those of the batch of these alone."""
    if bool(kept.all()):
        return trajectory
    place = kept.cumsum(0) - 1
    steps: Trajectory = []
    for step in trajectory:
        taken = kept if step.rows is None else kept[step.rows]
        steps.append(step.of(None if step.rows is None else place[step.rows[taken]], taken))
    return steps


def steps_back(
    net: Equations, trajectory: Trajectory, cotangents: list[Tensor], fixed: Fixed, phase: Phase
) -> Iterator[BackwardStep]:
    """The steps in reverse; each is valid until the next one."""
    if net.retraced:
        trajectory = one_by_one(net, trajectory)
    cotangents = [s.clone() for s in cotangents]
    parts = Parts(fixed)
    for step in reversed(trajectory):
        rows, states = step.rows, step.states
        at = net._at(parts.of(rows), step.number)
        part = cotangents if rows is None else take(cotangents, rows)
        projected = part
        if net.constrained and step.moved is not None:
            projected = net._proximal_adjoint(step.moved, part, at, phase.step)
        pushed = [h * u for u, h in zip(projected, phase.step)]
        (*back,), slopes = net._step_vjp(states, at, pushed)
        if net.kinked and step.moved is not None:
            slopes = with_kinks(net, slopes, step.moved, at, pushed, phase.step)
        summed = [x for x in back[len(states) :] if x is not None]
        part = [u if b is None else u + b for u, b in zip(projected, back)]
        cotangents = part if rows is None else put_(cotangents, rows, part)
        yield BackwardStep(rows, states, at, pushed, slopes, summed, cotangents)


def with_kinks(
    net: Equations,
    slopes: dict[str, Tensor],
    moved: list[Tensor],
    fixed: Fixed,
    pushed: Tensors,
    step: Sequence[float],
) -> dict[str, Tensor]:
    """The slopes of a step with those of the kinks, whose slopes a step takes where it leads."""
    after = [x.clone() for x in moved]
    net._proximal_(after, fixed, step)
    kinks = net._kink_gradient(after, fixed, pushed)
    return {**slopes, **{name: slopes[name] + x if name in slopes else x for name, x in kinks.items()}}


def backpropagate(
    net: Equations, trajectory: Trajectory, cotangents: list[Tensor], fixed: Fixed, phase: Phase
) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Seeds on the states before the first step, and the slope by each param."""
    totals = StepSums(len(cotangents[0]))
    if net.retraced:
        trajectory, cotangents = went_back(net, trajectory, cotangents, fixed, phase, totals)
    for back in steps_back(net, trajectory, cotangents, fixed, phase):
        cotangents = back.cotangents
        totals.add_(back)
    return cotangents, totals.gradient(net, fixed)
