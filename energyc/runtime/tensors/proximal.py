"""Proximal operators of kinks, and the adjoints of their derivatives.

A corner is a number at which a slope rises from ``-below`` to ``above``: thresholds [...] that broadcast to a state,
the step times the weight of the kink, or 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor


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
