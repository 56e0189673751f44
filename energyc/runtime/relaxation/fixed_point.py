"""Step methods for the fixed point of a plain step: Anderson acceleration and Newton's method."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed
from ..tensors.gmres import gmres
from ..tensors.states import Tensors, flatten, per_sample, unflatten
from .descent import GradientDescent, StepCallback
from .steps import projected

#: The least share of the residual that a mixed step covers along it.
ALONG = 0.25


class AndersonAcceleration(GradientDescent):
    """Anderson acceleration of the plain step g (Walker and Ni 2011), each sample by itself.

    With r = g(z) - z, and X and R the differences of the last points and of their r,

        z <- P(z + damping r - (X + damping R) c),    c = argmin |r - R c|^2,

    where P projects on the sets of the states, each state in units of its size. A mixed step after which r is longer is
    taken back: the sample makes the plain step instead and forgets its history. At the end it makes the plain step,
    which costs nothing.
    """

    def steps_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        first: int,
        count: int,
        step: Sequence[float],
        callback: StepCallback | None = None,
    ) -> None:
        """Make ``count`` evaluations of the plain step, mixed with those before."""
        net = self.net
        x, weight = flatten(states), inverse_sizes(states)
        history, plain = History(x, net.relax_memory, net.relax_damping), x
        size = torch.full_like(x[:, 0], float("inf"))
        mixed = torch.zeros_like(size, dtype=torch.bool)
        for number in range(first, first + count):
            if callback is not None:
                callback(number, unflatten(x, states))
            r = advanced(net, x, states, fixed, number, step) - x
            scaled_r = weight * r
            length = scaled_r.norm(dim=1)
            kept = ~mixed | (length <= size)
            plain = torch.where(kept[:, None], x + r, plain)
            history.add(x, r, scaled_r, kept)
            ahead, mixed = history.mixed(x, r, scaled_r, weight)
            mixed &= kept
            x = on_sets(net, torch.where(mixed[:, None], ahead, plain), states)
            size = torch.where(kept, length, size)
        for x_state, value in zip(states, unflatten(plain, states)):
            x_state.copy_(value)


class History:
    """The last differences of points and of their residuals: ``memory`` columns of each sample, some of them void."""

    def __init__(self, x: Tensor, memory: int, damping: float) -> None:
        self.damping = damping
        self.point: tuple[Tensor, Tensor, Tensor] | None = None
        self.columns, self.directions = (x.new_zeros(len(x), memory, x.shape[1]) for _ in range(2))
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
        direction = (x - before).add_(r - r_before, alpha=self.damping)
        self.directions[:, self.slot] = direction.nan_to_num_(0.0, 0.0, 0.0)
        self.valid &= kept[:, None]
        self.valid[:, self.slot] = kept
        self.slot = (self.slot + 1) % self.valid.shape[1]
        if bool(kept.all()):
            self.point = (x, r, scaled_r)
        else:
            pairs = zip((x, r, scaled_r), self.point)
            self.point = tuple(torch.where(kept[:, None], new, old) for new, old in pairs)  # type: ignore[assignment]

    def mixed(self, x: Tensor, r: Tensor, scaled_r: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the next point, and the samples [batch] that should go there.

        The columns have length 1 in the normal equations, to which a little of the identity is added: columns that are
        void or depend on others do no harm. Where plain steps contract, (I - dg)^-1 r is at least half of r along r. A
        point that lies back from there is not a place that plain steps lead to: a short residual may be that of a place
        where they only linger.
        """
        gram = self.columns @ self.columns.mT
        lengths = gram.diagonal(dim1=1, dim2=2).sqrt()
        used = self.valid & (lengths > 0) & lengths.isfinite()
        scale = torch.where(used, 1 / lengths, 0.0)
        gram = (scale[:, :, None] * gram * scale[:, None, :]).nan_to_num(0.0, 0.0, 0.0)
        gram += self.ridge + torch.diag_embed((~used).to(x.dtype))
        slopes = scale * (self.columns @ scaled_r[:, :, None])[:, :, 0]
        c = scale * torch.linalg.solve(gram, slopes.nan_to_num(0.0, 0.0, 0.0))
        direction = self.damping * r - (c[:, None, :] @ self.directions)[:, 0]
        along = (weight * scaled_r * direction).sum(1)
        return x + direction, used.any(1) & (along >= ALONG * scaled_r.square().sum(1))


def inverse_sizes(states: Tensors) -> Tensor:
    """Return one over the norm of the state that an entry belongs to: [batch, entries]."""
    flat = [x.reshape(len(x), -1) for x in states]
    return torch.cat([(1 / (x.norm(dim=1, keepdim=True) + 1e-12)).expand_as(x) for x in flat], 1)


def advanced(net: Equations, x: Tensor, states: Tensors, fixed: Fixed, number: int, step: Sequence[float]) -> Tensor:
    """Return where a plain step leads from the points x [batch, entries]."""
    moved = [part.clone() for part in unflatten(x, states)]
    net._steps_(moved, fixed, number, 1, step)
    return flatten(moved)


def on_sets(net: Equations, x: Tensor, states: Tensors) -> Tensor:
    """Return the points [batch, entries] with each state on its set."""
    if not net.constrained:
        return x
    parts = [part.clone() for part in unflatten(x, states)]
    net._project_(parts)
    return flatten(parts)


class Newton(GradientDescent):
    """A damped Newton step on R(z) = P(z + step F(z)) - z in place of a plain step.

    P is a projection or a proximal point, and P' its derivative: of a box or a kink its active set (a semismooth
    method, Qi and Sun 1993). GMRES solves (I - P'(I + step J)) d = R, with products in full precision.
    """

    def step_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """Make one damped Newton step.

        The step is halved until the largest entry of |R| falls; where it never does the step is the plain one. The
        length of R would let an entry go far away where its force saturates, if only others come closer.
        """
        with self.net._precise():
            self.solved_step_(states, fixed, step)

    def solved_step_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """Make the step with products as they are."""
        net = self.net
        moved = projected(net, states, fixed, step)
        here, gap = flatten(states), flatten(moved) - flatten(states)

        def operator(direction: Tensor) -> Tensor:
            parts = unflatten(direction, states)
            pushed = [h * u for h, u in zip(step, net._force_jvp(states, fixed, parts))]
            if not net.constrained:
                return -flatten(pushed)
            at = [x + h * f for x, f, h in zip(states, net._force(states, fixed), step)]
            return direction - flatten(net._proximal_adjoint(at, [d + u for d, u in zip(parts, pushed)], fixed, step))

        goal = 1e-10 if net.dtype == torch.float64 else 1e-5
        delta, _ = gmres(operator, gap, tolerance=goal, restart=50, cycles=4)
        damping, size = gap.new_ones(len(gap)), gap.abs().amax(1)
        for _ in range(30):
            trial = unflatten(here + damping[:, None] * delta, states)
            net._project_(trial)
            left = (flatten(projected(net, trial, fixed, step)) - flatten(trial)).abs().amax(1)
            worse = ~(left <= (1 - 1e-4 * damping) * size)
            if not bool(worse.any()):
                break
            damping = torch.where(worse, damping / 2, damping)
        for x, plain, newton in zip(states, moved, trial):
            x.copy_(torch.where(per_sample(worse, x), plain, newton))
