"""Equations with kinks that move by proximal steps, and the proximal operators of these kinks.

A corner is a number at which a slope rises from ``-below`` to ``above``: thresholds [...] that broadcast to a state,
the step times the weight of the kink, or 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ..tensors.states import Rate, Tensors
from .equations import Equations
from .records import Fixed


class ProximalEquations(Equations):
    """Equations whose force leaves out kinks, of which a step takes the proximal point; it stands before their class.

    A kink is of single entries of a state (a corner) or of its norm along axes. The proximal point is taken of the
    corners first, then of the set, then of the norm.
    """

    #: The number of a state, the number at which a slope rises, and the numbers of the weights below and above it.
    _corners: tuple[tuple[int, float, int | None, int | None], ...]
    #: The number of a state, that of a weight, and the axes of a norm.
    _norms: tuple[tuple[int, int, tuple[int, ...]], ...]

    def _proximal_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        weights = self._weights(fixed)
        for x, corners in zip(states, self._corners_of(weights, step)):
            if corners:
                x.copy_(at_corners(x, corners))
        self._project_(states)
        for k, weight, axes in self._norms:
            states[k].copy_(shrunk(states[k], step[k] * weights[weight], axes))

    def _proximal_block_(self, number: int, states: list[Tensor], fixed: Fixed, step: Mapping[int, Rate]) -> None:
        weights = self._weights(fixed)
        sizes = [step.get(k, 0.0) for k in range(len(states))]
        corners = self._corners_of(weights, sizes)
        for k in step:
            if corners[k]:
                states[k].copy_(at_corners(states[k], corners[k]))
        self._project_block_(number, states)
        for k, weight, axes in self._norms:
            if k in step:
                states[k].copy_(shrunk(states[k], sizes[k] * weights[weight], axes))

    def _proximal_adjoint(self, at: Tensors, cotangents: Tensors, fixed: Fixed, step: Sequence[float]) -> list[Tensor]:
        weights = self._weights(fixed)
        corners = self._corners_of(weights, step)
        points = [at_corners(x, own) if own else x for x, own in zip(at, corners)]
        on_sets, back = [x.clone() for x in points], list(cotangents)
        self._project_(on_sets)
        for k, weight, axes in self._norms:
            back[k] = shrunk_adjoint(on_sets[k], back[k], step[k] * weights[weight], axes)
        back = self._project_adjoint(points, back)
        return [corners_adjoint(x, seed, own) if own else seed for x, seed, own in zip(at, back, corners)]

    def _corners_of(self, weights: Tensors, step: Sequence[Rate]) -> list[list[Corner]]:
        """The corners of each state for its step."""
        found: list[list[Corner]] = [[] for _ in step]
        for k, at, *sides in self._corners:
            below, above = (0.0 if side is None else step[k] * weights[side] for side in sides)
            found[k].append(Corner(at, below, above))
        return found

    def _whole_force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        force, weights = [x.clone() for x in self._force(states, fixed)], self._weights(fixed)
        for k, at, below, above in self._corners:
            force[k] += 0.0 if below is None else weights[below] * (states[k] < at)
            force[k] -= 0.0 if above is None else weights[above] * (states[k] > at)
        for k, weight, axes in self._norms:
            force[k] -= weights[weight] * direction_of(states[k], axes)
        return force

    def _at_edges(self, states: Tensors, fixed: Fixed, step: Sequence[float]) -> int:
        """Count the entries that a kink just holds: the force on them is as large as its weight.

        There a derivative by params or by a nudge is one-sided.
        """
        near, count, weights = torch.finfo(self.dtype).eps ** (3 / 4), 0, self._weights(fixed)
        moved = [x + h * f for x, f, h in zip(states, self._force(states, fixed), step)]
        for x, corners in zip(moved, self._corners_of(weights, step)):
            for corner, away, _ in thresholds(x, corners):
                ends = ((away, corner.above), (-away, corner.below))
                count += sum(int(close(end, torch.as_tensor(side), near).sum()) for end, side in ends)
        self._project_(moved)
        for k, weight, axes in self._norms:
            threshold = step[k] * weights[weight]
            count += int(close(lengths(moved[k], axes)[0].expand_as(moved[k]), threshold, near).sum())
        return count

    def _kink_gradient(self, after: Tensors, fixed: Fixed, pushed: Tensors) -> dict[str, Tensor]:
        pulls = [0.0 * pushed[k] for k in self._states_of_weights()]
        for k, at, below, above in self._corners:
            if below is not None:
                pulls[below] += pushed[k] * (after[k] < at)
            if above is not None:
                pulls[above] -= pushed[k] * (after[k] > at)
        for k, weight, axes in self._norms:
            pulls[weight] -= pushed[k] * direction_of(after[k], axes)
        return self._weights_vjp(fixed, pulls)

    def _states_of_weights(self) -> list[int]:
        """The number of the state of each weight."""
        owners = {side: k for k, _, *sides in self._corners for side in sides if side is not None}
        owners |= {weight: k for k, weight, _ in self._norms}
        return [owners[number] for number in sorted(owners)]


def close(length: Tensor, threshold: Tensor, near: float) -> Tensor:
    """Return where a length equals a threshold above 0, up to rounding."""
    return ((length - threshold).abs() <= near * threshold) & (threshold > 0)


# -------------------------------------------------------------------- operators


class Corner(NamedTuple):
    """A corner of a function of one number, in the units of a step."""

    at: float
    below: Tensor | float
    above: Tensor | float


def chained(x: Tensor, corners: Sequence[Corner]) -> tuple[Tensor, Sequence[Corner]]:
    """A point and corners the operators of which follow each other: all slopes but the first begin at 0."""
    if len(corners) < 2:
        return x, corners
    moved = x + sum(corner.below for corner in corners)
    return moved, [Corner(corner.at, 0.0, corner.below + corner.above) for corner in corners]


def thresholds(x: Tensor, corners: Sequence[Corner]) -> Iterator[tuple[Corner, Tensor, Tensor]]:
    """Each corner in the order of their numbers, with the distance from it and where its operator leads from there.

    That is the nearest of the numbers from ``x - above`` to ``x + below``; on the corner it is the corner exactly.
    """
    x, corners = chained(x, corners)
    for corner in corners:
        moved = torch.maximum((x + corner.below).clamp_max(corner.at), x - corner.above)
        yield corner, x - corner.at, moved
        x = moved


def at_corners(x: Tensor, corners: Sequence[Corner]) -> Tensor:
    """The proximal point of a sum of corners, in the order of their numbers: soft thresholds."""
    for _, _, moved in thresholds(x, corners):
        x = moved
    return x


def corners_adjoint(x: Tensor, seed: Tensor, corners: Sequence[Corner]) -> Tensor:
    """The seed, 0 where the operator leads onto a corner; at its edge it is that of what moves."""
    for corner, away, _ in thresholds(x, corners):
        seed = torch.where((away >= corner.above) | (-away >= corner.below), seed, 0.0)
    return seed


def shrunk(x: Tensor, threshold: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The proximal point of a norm along the axes: shorter by the threshold, 0 where it is as short."""
    length, divisor = lengths(x, axes)
    return x * (torch.relu(length - threshold) / divisor)


def shrunk_adjoint(x: Tensor, seed: Tensor, threshold: Tensor, axes: tuple[int, ...]) -> Tensor:
    """``(1 - t/|x|) seed + t/|x| u <u, seed>`` with u = x / |x|; 0 where the operator leads to 0."""
    length, divisor = lengths(x, axes)
    u = x / divisor
    back = seed - threshold / divisor * (seed - u * (u * seed).sum(axes, keepdim=True))
    return torch.where((length > threshold) | (threshold == 0), back, 0.0)


def direction_of(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Vectors of length 1 along the axes; zero stays as it is."""
    return x / lengths(x, axes)[1]


def lengths(x: Tensor, axes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Lengths along the axes, which are kept; and what to divide by, 1 for the length 0."""
    length = x.square().sum(axes, keepdim=True).sqrt()
    return length, length.masked_fill(length == 0, 1.0)
