"""Stopping criteria: when the samples of a free phase stop, alone or as a batch, and which of them diverged."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed, Phase
from ..tensors.states import Tensors, finite, largest_magnitude
from .steps import measured

# -------------------------------------------------------------------- each sample


class StoppingCriterion:
    """At least ``least`` steps, then chunks for the samples whose residual is above ``goal``, at most ``most`` steps.

    ``phase`` is the phase as it is carried out.
    """

    def __init__(self, net: Equations, phase: Phase) -> None:
        self.phase = phase
        self.least = phase.steps or 0
        self.most = self.least if phase.tolerance is None else phase.max_steps
        self.goal = float("inf") if phase.tolerance is None else phase.tolerance
        self.patience = net.relax_patience
        self.in_a_row: Tensor | None = None

    @property
    def reads_next_step(self) -> bool:
        """Return whether a sample stops by the residual of its next step alone, which a kernel can check by itself."""
        return self.most >= self.least and self.patience == 1

    @property
    def end(self) -> int:
        """The steps after which every sample stops."""
        return max(self.least, self.most)

    def steps_to_first_check(self, taken: int) -> int:
        """Return the steps to the first check, after ``taken`` ones."""
        return max(self.least - taken, self.phase.chunk if taken else 0)

    def steps_to_next_check(self, done: int) -> int:
        """Return the steps from a check after ``done`` evaluations to the next one."""
        return min(self.phase.chunk, (self.least if done < self.least else self.most) - done)

    def before_steps(self, states: Tensors) -> None:
        """Be shown the states before the steps to a check."""

    def residual(self, net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float], count: int) -> Tensor:
        """Return the residual after ``count`` steps: that of the next step, [batch]."""
        return net._residual(states, fixed, step)

    def moving(self, residual: Tensor, count: Tensor) -> Tensor:
        """Return which samples go on, by their residual and their steps: [batch] each."""
        left = ~self.confirmed(residual <= self.goal) & (count < self.most)
        return residual.isfinite() & ((count < self.least) | left)

    def confirmed(self, within: Tensor) -> Tensor:
        """Return which samples were ``within`` the tolerance at as many checks in a row as patience asks: [batch]."""
        if self.patience == 1:
            return within
        before = torch.zeros_like(within, dtype=torch.int64) if self.in_a_row is None else self.in_a_row
        self.in_a_row = torch.where(within, before + 1, 0)
        return self.in_a_row >= self.patience


class EarlyExit(StoppingCriterion):
    """A check after each chunk from the first step on."""

    def __init__(self, net: Equations, phase: Phase) -> None:
        super().__init__(net, phase)
        self.is_early = phase.tolerance is not None
        if self.is_early:
            self.least = 0

    def steps_to_first_check(self, taken: int) -> int:
        """Return a chunk."""
        return self.phase.chunk if self.is_early else super().steps_to_first_check(taken)


class InferenceExit(EarlyExit):
    """Outside of training at most ``phase.steps`` and a check after each: the residual is that of the step just made.

    In training exactly ``phase.steps``.
    """

    def __init__(self, net: Equations, phase: Phase) -> None:
        if net.training:
            phase = phase._replace(tolerance=None)
        elif phase.tolerance is not None:
            phase = phase._replace(chunk=1, max_steps=phase.steps or 0)
        super().__init__(net, phase)
        self.before: list[Tensor] = []

    @property
    def reads_next_step(self) -> bool:
        """Return whether a sample stops by the residual of its next step: not where it reads the step just made."""
        return not self.is_early and super().reads_next_step

    def before_steps(self, states: Tensors) -> None:
        """Keep the states, which the next step is measured from."""
        self.before = [x.clone() for x in states] if self.is_early else []

    def residual(self, net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float], count: int) -> Tensor:
        """Return the measure of the step just made, if there was one: [batch]."""
        if self.is_early and count:
            return measured(net, self.before, states, fixed, step)
        return super().residual(net, states, fixed, step, count)


# -------------------------------------------------------------------- the batch


class Batch:
    """Coupling of the samples of a batch: none if each stands for itself."""

    #: Whether each sample is on its own.
    is_independent = True

    def moving(self, moving: Tensor) -> Tensor:
        """Return which samples go on, by those that would alone: [batch]."""
        return moving

    def residual(self, states: Tensors, residual: Tensor) -> Tensor:
        """Return the residual of each sample at the end: [batch]."""
        return residual


class CoupledBatch(Batch):
    """Samples that depend on each other, by means over the batch: they stop together."""

    is_independent = False

    def moving(self, moving: Tensor) -> Tensor:
        """Return all samples where one goes on."""
        return moving | moving.any()

    def residual(self, states: Tensors, residual: Tensor) -> Tensor:
        """Return the residual, infinite for all samples if one diverged."""
        if bool(finite([residual, *(x.square() for x in states)]).all()):
            return residual
        return torch.full_like(residual, float("inf"))


# -------------------------------------------------------------------- divergence


def frozen(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float], scale: Tensor) -> Tensor:
    """Return which samples diverged until rounding stopped them, which would read as converged: [batch].

    The states are ``relax_explosion`` times as large as at the start and most entries move by less than an ulp, even
    when they are displaced a little. At an equilibrium they would be pushed back: there the force is a small remainder
    of larger ones.
    """
    if net.relax_explosion is None:
        return torch.zeros(len(states[0]), dtype=torch.bool, device=net.device)
    stuck = largest_magnitude(states) > net.relax_explosion * scale
    if not bool(stuck.any()):
        return stuck
    stuck &= immobile(net, states, fixed, step)
    if bool(stuck.any()):
        stuck &= immobile(net, [displaced(x) for x in states], fixed, step)
    return stuck


def immobile(net: Equations, states: Tensors, fixed: Fixed, step: Sequence[float]) -> Tensor:
    """Return which samples have most of their entries moved by less than an ulp in a step: [batch]."""
    force = net._force(states, fixed)
    ulp = torch.finfo(net.dtype).eps / 2
    still = [((h * f).abs() < ulp * x.abs()).reshape(len(x), -1) for x, f, h in zip(states, force, step)]
    return torch.cat(still, 1).to(net.dtype).mean(1) > 0.5


def displaced(x: Tensor) -> Tensor:
    """Return the state with its entries a little larger and smaller in turn."""
    width = torch.finfo(x.dtype).eps ** 0.25
    turns = torch.arange(x[0].numel(), device=x.device).view(x.shape[1:]) % 2
    return x * (1 + width - 2 * width * turns.to(x.dtype))
