"""Step methods: the interface, projected gradient descent, block coordinate descent, and two for the fixed point.

Anderson acceleration and Newton's method look for the fixed point of a plain step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed
from ..tensors.gmres import gmres
from ..tensors.states import Rate, Tensors, flatten, per_sample, subtract, unflatten
from .steps import advance_, projected

#: Called before each step with its number and the states. It may return the force there, which the step then uses.
StepCallback = Callable[[int, list[Tensor]], Tensors | None]
#: What a nudge subtracts from the force, of states, what is fixed, and targets.
NudgeForce = Callable[[Tensors, Fixed, Tensors], Sequence[Tensor | None]]
#: The least share of the residual that a mixed step covers along it.
ALONG = 0.25


class StepMethod(ABC):
    """Update of the states from one step to the next, in place.

    ``uses_known_force``: whether a step can use a force that is known at the states already.
    """

    uses_known_force = False

    def __init__(self, net: Equations) -> None:
        self.net = net

    @abstractmethod
    def step_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """Make one step of a free phase; ``step`` is the step size of each state."""

    @abstractmethod
    def nudged_step_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        nudge: NudgeForce,
        strength: float | Tensor,
        step: Sequence[float],
    ) -> None:
        """Make one step of a nudged phase, under F - strength ``nudge``; the strength may be one for each sample."""

    def steps_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        first: int,
        count: int,
        step: Sequence[float],
        callback: StepCallback | None = None,
    ) -> None:
        """Make ``count`` steps of a free phase, the first of them with the number ``first``.

        Without a callback the network makes them together.
        """
        net = self.net
        if callback is None:
            net._steps_(states, fixed, first, count, step)
            return
        for number in range(first, first + count):
            force = callback(number, states)
            if force is None or not self.uses_known_force:
                self.step_(states, net._at(fixed, number), step)
            else:
                advance_(net, states, fixed, force, step)


class GradientDescent(StepMethod):
    """Projected gradient descent: all states move at once."""

    uses_known_force = True

    def step_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """Make one plain step."""
        advance_(self.net, states, fixed, self.net._force(states, fixed), step)

    def nudged_step_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        nudge: NudgeForce,
        strength: float | Tensor,
        step: Sequence[float],
    ) -> None:
        """Make one plain step under F - strength ``nudge``."""
        force = subtract(self.net._force(states, fixed), nudge(states, fixed, targets), strength)
        advance_(self.net, states, fixed, force, step)


class BlockDescent(StepMethod):
    """Block coordinate descent: a sweep in place of a step moves block after block, the others held.

    Where the force on a state is ``b - D z`` with the other blocks held, D > 0, the state moves to the minimiser of the
    energy: ``b / D`` on its set, ``z + F / D`` before. That is a plain step of size 1 / D. Other states make a plain
    step of the size that is set.
    """

    def step_(self, states: list[Tensor], fixed: Fixed, step: Sequence[float]) -> None:
        """Make one sweep."""
        for number in range(len(self.net.blocks)):
            self.move_block_(number, states, fixed, step)

    def nudged_step_(
        self,
        states: list[Tensor],
        fixed: Fixed,
        targets: Tensors,
        nudge: NudgeForce,
        strength: float | Tensor,
        step: Sequence[float],
    ) -> None:
        """Make one sweep under F - strength ``nudge``, from the last block to the first: outputs come first.

        The slope of a squared error is added to D. Another nudge is held while its block moves.
        """
        net = self.net
        is_cost = nudge == net._cost_force or (nudge == net._nudge and not net.descends)
        for number in reversed(range(len(net.blocks))):
            if is_cost and net.cost_slopes.keys().isdisjoint(net.blocks[number]):
                self.move_block_(number, states, fixed, step)
            else:
                pushes = nudge(states, fixed, targets)
                slopes = net.cost_slopes if is_cost else {}
                self.move_block_(number, states, fixed, step, pushes, strength, slopes)

    def move_block_(
        self,
        number: int,
        states: list[Tensor],
        fixed: Fixed,
        step: Sequence[float],
        pushes: Sequence[Tensor | None] = (),
        strength: float | Tensor = 0.0,
        push_slopes: Mapping[int, float | None] = {},
    ) -> None:
        """Move a block under F - strength ``pushes``; a state whose step size is 0 is held.

        ``push_slopes`` are the slopes of pushes that are affine as the force is.
        """
        net = self.net
        block, given = net.blocks[number], net._block(number, states, fixed)
        computed, sizes = iter(given[len(block) :]), dict[int, Rate]()
        for k, force in zip(block, given):
            slope: Rate | None = net.block_slopes.get(k)
            if k in net.block_slopes and slope is None:
                slope = next(computed)
            if step[k] == 0:
                continue
            push = pushes[k] if pushes else None
            if push is not None:
                factor = per_sample(strength, force) if isinstance(strength, Tensor) else strength
                force = force - factor * push
                slope = None if slope is None else total_slope(slope, factor, push_slopes.get(k))
            size = step[k] if slope is None else 1 / slope
            sizes[k] = size
            if isinstance(size, Tensor):
                states[k].addcmul_(force, size)
            else:
                states[k].add_(force, alpha=size)
        if sizes and net.constrained:
            net._proximal_block_(number, states, fixed, sizes)


def total_slope(slope: Rate, factor: Rate, push_slope: float | None) -> Rate:
    """Return D of a force less ``factor`` times a push of this slope; D alone where that is not positive or unknown."""
    if not push_slope:
        return slope
    total = slope + factor * push_slope
    if isinstance(total, Tensor):
        return torch.where(total > 0, total, slope)
    return total if total > 0 else slope


# -------------------------------------------------------------------- fixed points


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
