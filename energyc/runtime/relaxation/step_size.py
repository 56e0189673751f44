"""Step-size controllers: the step sizes that are set, and step sizes by a bound on the curvature."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed, rows_of
from ..tensors.states import Tensors, flatten, norm, put_, take, unflatten
from .free_run import FreeRun
from .steps import projected

#: The secants that an estimate takes, beside the force at the states.
SECANTS = 6
#: A residual of more than this share of that at the last check does not fall.
FELL = 0.9
#: Steps from one estimate to the next, for each evaluation that it takes.
PAUSE = 4


class StepSizeController:
    """Chooses the step size of each state at the start of a free phase, and after each check: those that are set."""

    #: Whether the step sizes stay what they are.
    is_constant = True

    def begin_(self, run: FreeRun) -> None:
        """Choose the first step sizes."""

    def steps_to_first_check(self, steps: int, chunk: int) -> int:
        """Return the steps to the first check, where a constant step size would have it after ``steps``."""
        return steps

    def adapt_(self, run: FreeRun) -> None:
        """Choose the next step sizes after a check; samples may be put back."""


class CurvatureStepSize(StepSizeController):
    """Step sizes H / L, which are half of what turns a move along the steepest direction into its opposite.

    H are the step sizes that are set, as shares of each other, and L estimates |J H| at the states of the worst sample,
    J = dF/dz: at the start, and again at checks, so rarely that it takes at most a fifth of all evaluations. Where the
    residual of a sample does not fall and its moves turn back on themselves, or are not finite, the step sizes are too
    large: they are halved, and the sample goes back to the last check. Each further estimate takes back one halving.
    What an estimate costs is counted among the steps.
    """

    is_constant = False

    def __init__(self, shares: tuple[float, ...], tolerance: float | None) -> None:
        self.shares, self.goal = shares, tolerance or 0.0
        self.bound, self.halvings, self.estimated = 1.0, 0, 0
        self.checkpoint: list[Tensor] = []
        self.last_residual: Tensor

    def begin_(self, run: FreeRun) -> None:
        """Estimate the curvature at the start."""
        self.bound = curvature(run.net, run.states, run.fixed, self.shares)
        run.step = scaled(self.shares, self.bound, 0)
        run.extra += 1 + SECANTS
        run.count += 1 + SECANTS
        self._keep(run)

    def steps_to_first_check(self, steps: int, chunk: int) -> int:
        """Return a chunk."""
        return chunk

    def adapt_(self, run: FreeRun) -> None:
        """Halve the step sizes, estimate the curvature again, or neither."""
        before, step = run.extra, run.step
        rows = run.rows[~(run.residual[run.rows] <= self.goal)]
        residual = run.residual[rows]
        stuck = rows[~(residual.isfinite() & (residual <= FELL * self.last_residual[rows]))]
        too_far = stuck[self._turn_back(run, stuck)] if len(stuck) else stuck
        if len(too_far):
            self.halvings += 1
            put_(run.states, too_far, take(self.checkpoint, too_far))
        elif len(rows) and run.taken - self.estimated >= PAUSE * (1 + SECANTS):
            self.bound = curvature(run.net, take(run.states, rows), rows_of(run.fixed, rows), self.shares)
            self.estimated = run.taken
            self.halvings = max(0, self.halvings - 1)
            run.extra += 1 + SECANTS
        run.step = scaled(self.shares, self.bound, self.halvings)
        if run.step != step:
            left = run.net._residual(take(run.states, rows), rows_of(run.fixed, rows), run.step)
            run.residual = run.residual.index_copy(0, rows, left)
            run.extra += 1
        run.count[run.rows] += run.extra - before
        self._keep(run)

    def _turn_back(self, run: FreeRun, rows: Tensor) -> Tensor:
        """Return which samples of some rows have next two moves that are opposed or not finite."""
        states, fixed = take(run.states, rows), rows_of(run.fixed, rows)
        first = projected(run.net, states, fixed, run.step)
        second = projected(run.net, first, fixed, run.step)
        run.extra += 2
        return ~(((flatten(first) - flatten(states)) * (flatten(second) - flatten(first))).sum(1) >= 0)

    def _keep(self, run: FreeRun) -> None:
        """Keep the states and residuals of this check."""
        self.checkpoint, self.last_residual = [x.clone() for x in run.states], run.residual.clone()


def scaled(shares: tuple[float, ...], bound: float, halvings: int) -> tuple[float, ...]:
    """Return step sizes for a bound, halved so many times; a bound that is not a positive number counts as 1."""
    return tuple(h / (bound if 0 < bound < float("inf") else 1.0) / 2**halvings for h in shares)


def curvature(net: Equations, states: Tensors, fixed: Fixed, shares: Sequence[float]) -> float:
    """Estimate |J H| at some states, the largest of all samples, by power iteration on secants of the force.

    It takes 1 + ``SECANTS`` evaluations, and begins with cos(k^2), a direction that no force singles out. Of a gradient
    in a metric H it comes from below; of another force the lengths of its powers are as near. It is at least what keeps
    a move from being longer than |z| + sqrt(entries), so that a force without curvature gives a step too. Entries that
    a set holds do not count where the force on them is infinite.
    """
    here = flatten(states)
    direction = torch.arange(1, here.shape[1] + 1, dtype=torch.float64).square().cos().to(here).expand_as(here)
    held = torch.zeros_like(here, dtype=torch.bool)

    def moves(at: Tensor) -> Tensor:
        found = flatten([h * f for h, f in zip(shares, net._force(unflatten(at, states), fixed))])
        return torch.where(held & ~found.isfinite(), 0.0, found) if net.constrained else found

    first, width = moves(here), torch.finfo(net.dtype).eps ** (1 / 3) * (1 + norm(here))[:, None]
    if net.constrained and not bool(first.isfinite().all()):
        ahead = unflatten(here + first, states)
        held = flatten(net._proximal_adjoint(ahead, unflatten(direction, states), fixed, shares)) == 0
        first = torch.where(held & ~first.isfinite(), 0.0, first)
    size = norm(direction)
    for _ in range(SECANTS):
        direction = direction / size.clamp_min(torch.finfo(net.dtype).tiny)[:, None]
        direction = (moves(here + width * direction) - first) / width
        size = norm(direction)
    least = norm(first) / (norm(here) + here.shape[1] ** 0.5)
    return float(torch.maximum(size, least).nan_to_num(float("inf")).max())
