"""Backpropagation through the recorded steps of a free phase."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed, Phase
from ..relaxation.trajectory import FixedRows, Segment, Trajectory, single_steps
from ..tensors.states import Tensors, put_, take


class BackwardStep(NamedTuple):
    """A step in reverse: its samples with their states and ``fixed``, step P^T cotangents, and what it gives.

    ``slopes`` are <step P^T cotangents, dF/dtheta> of the params that ``summed`` leaves out, which is what the others
    read of all steps, added up: [batch of the step, ...] each. ``cotangents`` are those on earlier states.
    """

    rows: Tensor | None
    states: list[Tensor]
    fixed: Fixed
    pushed: list[Tensor]
    slopes: dict[str, Tensor]
    summed: list[Tensor]
    cotangents: list[Tensor]


class GradientSums:
    """Sums over steps: slopes by name, and what ``_sums_gradient`` reads of all steps, [batch, ...] each."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.slopes: dict[str, Tensor] = {}
        self.sums: list[Tensor] = []

    def add_(self, back: BackwardStep) -> None:
        """Add a step."""
        for name, slope in back.slopes.items():
            self.slopes[name] = self.slopes[name].add_(slope) if name in self.slopes else slope.clone()
        if not self.sums:
            self.sums = [x.new_zeros((self.batch, *x.shape[1:])) for x in back.summed]
        for total, x in zip(self.sums, back.summed):
            if back.rows is None:
                total.add_(x)
            else:
                total.index_add_(0, back.rows, x)

    def gradient(self, net: Equations, fixed: Fixed) -> dict[str, Tensor]:
        """Return the slopes of all steps together."""
        return {**self.slopes, **net._sums_gradient(fixed, self.sums)} if self.sums else self.slopes


def backpropagate(
    net: Equations, trajectory: Trajectory, cotangents: list[Tensor], fixed: Fixed, phase: Phase
) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Return the cotangents on the states before the first step, and the slope by each param."""
    totals = GradientSums(len(cotangents[0]))
    if net.retraced:
        trajectory, cotangents = backpropagate_in_kernels(net, trajectory, cotangents, fixed, phase, totals)
    for back in backward_steps(net, trajectory, cotangents, fixed, phase):
        cotangents = back.cotangents
        totals.add_(back)
    return cotangents, totals.gradient(net, fixed)


def backward_steps(
    net: Equations, trajectory: Trajectory, cotangents: list[Tensor], fixed: Fixed, phase: Phase
) -> Iterator[BackwardStep]:
    """Yield the steps in reverse; each is valid until the next one."""
    cotangents = [s.clone() for s in cotangents]
    part_of = FixedRows(fixed)
    for step in reversed(single_steps(net, trajectory)):
        rows, states = step.rows, step.states
        at = net._at(part_of.rows(rows), step.number)
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
    step: tuple[float, ...],
) -> dict[str, Tensor]:
    """Return the slopes of a step with those of the kinks, whose slopes a step takes where it leads."""
    after = [x.clone() for x in moved]
    net._proximal_(after, fixed, step)
    kinks = net._kink_gradient(after, fixed, pushed)
    return {**slopes, **{name: slopes[name] + x if name in slopes else x for name, x in kinks.items()}}


def backpropagate_in_kernels(
    net: Equations,
    trajectory: Trajectory,
    cotangents: list[Tensor],
    fixed: Fixed,
    phase: Phase,
    totals: GradientSums,
) -> tuple[Trajectory, list[Tensor]]:
    """Go back through the last segments by kernels, which add to ``totals``.

    Returns the steps before those, and the cotangents there.
    """
    left, part_of, own, owners = list(trajectory), FixedRows(fixed), cast(Any, net), net._owners()
    cotangents = [x.clone() for x in cotangents]
    sums = [cotangents[0].new_zeros((totals.batch, *sizes)) for sizes in own._sum_sizes]
    sizes = [owners[name].numel() for name in own._totals]
    slopes = cotangents[0].new_zeros(sum(sizes))
    moving = [*cotangents, *sums]
    while left and isinstance(segment := left[-1], Segment):
        first, rows, kept = segment
        here = moving if rows is None else take(moving, rows)
        seeds, added = here[: len(cotangents)], here[len(cotangents) :]
        if not net._steps_back_(seeds, added, slopes, kept, part_of.rows(rows), first, phase.step):
            break
        if rows is not None:
            put_(moving, rows, here)
        left.pop()
    if len(left) < len(trajectory):
        totals.sums = sums
        for (name, order), flat in zip(own._totals.items(), slopes.split(sizes)):
            permuted = flat.view([owners[name].shape[k] for k in order])
            totals.slopes[name] = permuted.permute([order.index(k) for k in range(len(order))]).contiguous()
    return left, cotangents
