"""Anderson acceleration of the free phase."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed
from energyc.runtime.relaxation.solver import GradientDescent, Seen
from energyc.runtime.tensors.states import Tensors, flatten, unflatten

#: How far a mixed step goes along the plain one, at least.
ALONG = 0.25


def anderson(
    net: Equations,
    states: list[Tensor],
    fixed: Fixed,
    first: int,
    count: int,
    step: Sequence[float],
    seen: Seen | None = None,
) -> None:
    """Anderson acceleration of the plain step g in place, by ``count`` evaluations of it (Walker and Ni 2011).

    With r = g(z) - z, and X and R the differences of the last points and of their r,

        z <- P(z + damping r - (X + damping R) c),    c = argmin |r - R c|^2,

    where P projects on the sets of the states; each sample by itself, each state in units of its size. A mixed step
    after which r is longer is taken back: the sample makes the plain step instead and forgets its past. At the end it
    makes the plain step, which costs nothing.
    """
    x, weight = flatten(states), inverse_sizes(states)
    past, plain = Past(x, net.relax_memory, net.relax_damping), x
    size = torch.full_like(x[:, 0], float("inf"))
    mixed = torch.zeros_like(size, dtype=torch.bool)
    for number in range(first, first + count):
        if seen is not None:
            seen(number, unflatten(x, states))
        r = advanced(net, x, states, fixed, number, step) - x
        scaled_r = weight * r
        length = scaled_r.norm(dim=1)
        kept = ~mixed | (length <= size)
        plain = torch.where(kept[:, None], x + r, plain)
        past.add(x, r, scaled_r, kept)
        ahead, mixed = past.mixed(x, r, scaled_r, weight)
        mixed &= kept
        x = on_sets(net, torch.where(mixed[:, None], ahead, plain), states)
        size = torch.where(kept, length, size)
    for x_state, value in zip(states, unflatten(plain, states)):
        x_state.copy_(value)


@part("solver", "anderson")
class Anderson(GradientDescent):
    """Mixed steps in the place of plain ones."""

    walk_ = staticmethod(anderson)


class Past:
    """The last differences of points and of their residuals: ``memory`` columns of each sample, some of them void."""

    def __init__(self, x: Tensor, memory: int, damping: float) -> None:
        self.damping = damping
        self.point: tuple[Tensor, Tensor, Tensor] | None = None
        self.columns, self.ways = (x.new_zeros(len(x), memory, x.shape[1]) for _ in range(2))
        self.valid = torch.zeros(len(x), memory, dtype=torch.bool, device=x.device)
        self.ridge = 10 * torch.finfo(x.dtype).eps * torch.eye(memory, dtype=x.dtype, device=x.device)
        self.slot = 0

    def add(self, x: Tensor, r: Tensor, scaled_r: Tensor, kept: Tensor) -> None:
        """Take a point [batch, entries] and its residual; samples that are not ``kept`` lose their columns."""
        if self.point is None:
            self.point = (x, r, scaled_r)
            return
        before, r_before, scaled_before = self.point
        torch.sub(scaled_r, scaled_before, out=self.columns[:, self.slot]).nan_to_num_(0.0, 0.0, 0.0)
        way = (x - before).add_(r - r_before, alpha=self.damping)
        self.ways[:, self.slot] = way.nan_to_num_(0.0, 0.0, 0.0)
        self.valid &= kept[:, None]
        self.valid[:, self.slot] = kept
        self.slot = (self.slot + 1) % self.valid.shape[1]
        if bool(kept.all()):
            self.point = (x, r, scaled_r)
        else:
            pairs = zip((x, r, scaled_r), self.point)
            self.point = tuple(torch.where(kept[:, None], new, old) for new, old in pairs)  # type: ignore[assignment]

    def mixed(self, x: Tensor, r: Tensor, scaled_r: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The next point, and the samples [batch] for which it is one to go to.

        The columns are of length 1 in the normal equations, to which a little of the identity is added: columns that
        are void or depend on others do no harm. Where plain steps contract, (I - dg)^-1 r is at least half of r along
        r; a point that lies back from there is not a place that plain steps lead to: a short residual may be that of a
        place where they only linger.
        """
        gram = self.columns @ self.columns.mT
        lengths = gram.diagonal(dim1=1, dim2=2).sqrt()
        used = self.valid & (lengths > 0) & lengths.isfinite()
        scale = torch.where(used, 1 / lengths, 0.0)
        gram = (scale[:, :, None] * gram * scale[:, None, :]).nan_to_num(0.0, 0.0, 0.0)
        gram += self.ridge + torch.diag_embed((~used).to(x.dtype))
        slopes = scale * (self.columns @ scaled_r[:, :, None])[:, :, 0]
        c = scale * torch.linalg.solve(gram, slopes.nan_to_num(0.0, 0.0, 0.0))
        way = self.damping * r - (c[:, None, :] @ self.ways)[:, 0]
        along = (weight * scaled_r * way).sum(1)
        return x + way, used.any(1) & (along >= ALONG * scaled_r.square().sum(1))


def inverse_sizes(states: Tensors) -> Tensor:
    """One over the norm of the state that an entry belongs to: [batch, entries]."""
    flat = [x.reshape(len(x), -1) for x in states]
    return torch.cat([(1 / (x.norm(dim=1, keepdim=True) + 1e-12)).expand_as(x) for x in flat], 1)


def advanced(net: Equations, x: Tensor, states: Tensors, fixed: Fixed, number: int, step: Sequence[float]) -> Tensor:
    """Where a plain step leads from the points x [batch, entries]."""
    moved = [part.clone() for part in unflatten(x, states)]
    net._steps_(moved, fixed, number, 1, step)
    return flatten(moved)


def on_sets(net: Equations, x: Tensor, states: Tensors) -> Tensor:
    """The points [batch, entries] with each state on its set."""
    if not net.constrained:
        return x
    parts = [part.clone() for part in unflatten(x, states)]
    net._project_(parts)
    return flatten(parts)
