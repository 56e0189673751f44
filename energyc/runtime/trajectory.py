"""The trajectory of a free phase, and its steps in reverse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.adjoint import project_back
from energyc.runtime.equations import Equations
from energyc.runtime.phases import settle
from energyc.runtime.records import Fixed, FreePhase, Phase
from energyc.runtime.states import put_, take

#: Each step's number, the samples that took it (their rows; None: all), and their states before it.
Trajectory = list[tuple[int, Tensor | None, list[Tensor]]]


class BackwardStep(NamedTuple):
    """A step in reverse: its samples with their states and ``fixed``, step P^T seeds, and what it gives.

    ``slopes`` are <step P^T seeds, dF/dtheta>, ``seeds`` those of all samples on the states before the step.
    """

    rows: Tensor | None
    states: list[Tensor]
    fixed: Fixed
    pushed: list[Tensor]
    slopes: dict[str, Tensor]
    seeds: list[Tensor]


def settle_recorded(
    net: Equations, states: list[Tensor], fixed: Fixed, phase: Phase, last: int | None = None
) -> tuple[FreePhase, Trajectory]:
    """The free phase with its trajectory; with ``last`` only each sample's own last steps."""
    trajectory: Trajectory = []

    def record(number: int, rows: Tensor | None, part: list[Tensor]) -> None:
        trajectory.append((number, rows, [x.clone() for x in part]))
        if last is not None and rows is None and len(trajectory) > last:
            trajectory.pop(0)

    free = settle(net, states, fixed, phase, before=record)
    return free, trajectory if last is None else last_steps(trajectory, len(free.steps), last)


def last_steps(trajectory: Trajectory, batch: int, last: int) -> Trajectory:
    """Each sample's own last steps."""
    samples = torch.arange(batch, device=trajectory[0][2][0].device) if trajectory else torch.arange(batch)
    left = torch.full_like(samples, last)
    tail: Trajectory = []
    for number, rows, states in reversed(trajectory):
        present = samples if rows is None else rows
        wanted = left[present] > 0
        left[present] -= 1
        if bool(wanted.all()):
            tail.append((number, rows, states))
        elif bool(wanted.any()):
            tail.append((number, present[wanted], take(states, wanted)))
    return tail[::-1]


def of_samples(trajectory: Trajectory, kept: Tensor) -> Trajectory:
    """The steps of the samples that are kept; their rows are those of the batch of these alone."""
    if bool(kept.all()):
        return trajectory
    place = kept.cumsum(0) - 1
    steps: Trajectory = []
    for number, rows, states in trajectory:
        taken = kept if rows is None else kept[rows]
        steps.append((number, None if rows is None else place[rows[taken]], take(states, taken)))
    return steps


def steps_back(
    net: Equations, trajectory: Trajectory, seeds: list[Tensor], fixed: Fixed, phase: Phase
) -> Iterator[BackwardStep]:
    """The steps in reverse; each is valid until the next one."""
    seeds = [s.clone() for s in seeds]
    last, rest = None, fixed
    for number, rows, states in reversed(trajectory):
        if rows is not last:
            last, rest = rows, fixed if rows is None else fixed.rows(rows)
        at = net._at(rest, number)
        part = seeds if rows is None else take(seeds, rows)
        projected, pushed = project_back(net, states, at, part, phase.step)
        back, slopes = net._force_pullback(states, at, pushed)
        part = [u if b is None else u + b for u, b in zip(projected, back)]
        seeds = part if rows is None else put_(seeds, rows, part)
        yield BackwardStep(rows, states, at, pushed, slopes, seeds)


def backpropagate(
    net: Equations, trajectory: Trajectory, seeds: list[Tensor], fixed: Fixed, phase: Phase
) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Seeds on the states before the first step, and the slope by each param."""
    slopes: dict[str, Tensor] = {}
    for back in steps_back(net, trajectory, seeds, fixed, phase):
        seeds = back.seeds
        for name, slope in back.slopes.items():
            slopes[name] = slopes[name].add_(slope) if name in slopes else slope.clone()
    return seeds, slopes
