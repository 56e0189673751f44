"""The spaces that states and inputs are in, and the sets that states are kept in: projections and their adjoints.

A space has the shape of a state or an input without the batch; ``axes`` are axes of this shape. A value without a
nearest point on a set, because it is not finite or its length overflows, becomes NaN along the set. The adjoint of a
projection is 0 in the entries that the set holds, whatever the cotangent: a slope may be infinite on the rim of a set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor


@dataclass(frozen=True)
class Index:
    """Integers from 0 to ``classes - 1``."""

    shape: tuple[int, ...]
    classes: int


@dataclass(frozen=True)
class Real:
    """All real tensors of a shape."""

    shape: tuple[int, ...]
    classes: ClassVar[None] = None


class StateSet(Real):
    """A set of states."""

    def project_(self, x: Tensor) -> None:
        """Put a batch of states on the set, in place."""
        raise NotImplementedError

    def project_adjoint(self, at: Tensor, cotangent: Tensor) -> Tensor:
        """Return ``P^T cotangent``, P the derivative of the projection at a point before it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Box(StateSet):
    """Entries from ``low`` to ``high``; None for no bound. On a face the adjoint is that of the inside, as torch's."""

    low: float | None = None
    high: float | None = None

    def project_(self, x: Tensor) -> None:
        x.clamp_(min=self.low, max=self.high)

    def project_adjoint(self, at: Tensor, cotangent: Tensor) -> Tensor:
        """Return the cotangent inside, 0 outside."""
        inside = torch.ones_like(at, dtype=torch.bool) if self.low is None else at >= self.low
        return torch.where(inside if self.high is None else inside & (at <= self.high), cotangent, 0.0)


@dataclass(frozen=True)
class Along(StateSet):
    """Vectors along some axes."""

    axes: tuple[int, ...]

    @property
    def batch_axes(self) -> tuple[int, ...]:
        """The axes of a batch of states."""
        return tuple(axis + 1 for axis in self.axes)


class Standardized(Along):
    """Values of mean 0 and variance 1 along some axes; what has no variance stays as it is."""

    def project_(self, x: Tensor) -> None:
        axes = self.batch_axes
        centred = x - x.mean(axes, keepdim=True)
        deviation = finite_length(centred.square().mean(axes, keepdim=True).sqrt_())
        torch.where(deviation == 0, x, centred / deviation, out=x)

    def project_adjoint(self, at: Tensor, cotangent: Tensor) -> Tensor:
        """Return ``(seed - mean(seed) - u mean(u seed)) / deviation`` with u the standardised point."""
        axes, seed = self.batch_axes, cotangent
        centred = at - at.mean(axes, keepdim=True)
        deviation = centred.square().mean(axes, keepdim=True).sqrt_()
        u = centred / deviation
        back = (seed - seed.mean(axes, keepdim=True) - u * (u * seed).mean(axes, keepdim=True)) / deviation
        return torch.where(deviation > 0, back, seed)


class Sphere(Along):
    """Vectors of norm 1 along some axes; zero stays as it is."""

    def project_(self, x: Tensor) -> None:
        length = finite_length(x.square().sum(self.batch_axes, keepdim=True).sqrt_())
        x.div_(length.masked_fill_(length == 0, 1.0))

    def project_adjoint(self, at: Tensor, cotangent: Tensor) -> Tensor:
        """Return ``(seed - u <u, seed>) / |x|`` with u = x / |x|."""
        axes = self.batch_axes
        length = at.square().sum(axes, keepdim=True).sqrt_()
        u = at / length
        back = (cotangent - u * (u * cotangent).sum(axes, keepdim=True)) / length
        return torch.where(length > 0, back, cotangent)


class Simplex(Along):
    """Nonnegative vectors of sum 1 along some axes (Held, Wolfe and Crowder 1974)."""

    def project_(self, x: Tensor) -> None:
        x.sub_(x.amax(self.batch_axes, keepdim=True))  # the projection is the same, its threshold exact for large x
        x.sub_(self.threshold(x)).clamp_(min=0)

    def project_adjoint(self, at: Tensor, cotangent: Tensor) -> Tensor:
        """Return the seed less its mean over the support, on the support."""
        axes = self.batch_axes
        x = at - at.amax(axes, keepdim=True)
        support = x > self.threshold(x)
        seed = torch.where(support, cotangent, 0.0)
        return torch.where(support, seed - seed.sum(axes, keepdim=True) / support.sum(axes, keepdim=True), 0.0)

    def threshold(self, x: Tensor) -> Tensor:
        """Return what the projection subtracts from each entry before those below zero are cut off.

        The largest entry is 0, and thus inside; where entries are not finite none is, and the threshold is NaN.
        """
        axes = self.batch_axes
        kept = [k for k in range(x.dim()) if k not in axes]
        flat = x.permute(*kept, *axes).flatten(len(kept))
        falling = flat.sort(-1, descending=True).values
        excess = falling.cumsum(-1) - 1
        count = torch.arange(1, flat.shape[-1] + 1, device=x.device)
        size = (falling * count > excess).sum(-1, keepdim=True).clamp_min(1)
        threshold = excess.gather(-1, size - 1) / size
        shape = [1 if k in axes else x.shape[k] for k in range(x.dim())]
        return threshold.view(shape)


def finite_length(length: Tensor) -> Tensor:
    """Lengths with NaN for those that overflow, by which a vector would be divided into zeros; in place."""
    return length.masked_fill_(length == float("inf"), float("nan"))
