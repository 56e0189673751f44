"""The step-size controller that goes by a bound on the curvature."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.parts import part
from energyc.runtime.equations.records import Fixed, Phase
from energyc.runtime.relaxation.steps import projected
from energyc.runtime.tensors.states import Tensors, flatten, norm, put_, take, unflatten

#: The secants that an estimate takes, beside the force at the states.
SECANTS = 6
#: A residual of more than so much of that at the last look does not fall.
FELL = 0.9
#: Steps from one estimate to the next, for each evaluation that it takes.
PAUSE = 4


@part("step size", "auto")
class CurvatureStepSize:
    """Steps H / L, which are half of what turns a move along the steepest direction into its opposite.

    H are the steps that are set, as shares of each other, and L estimates |J H| at the states of the worst sample,
    J = dF/dz: at the start, and again at looks, so rarely that it takes at most a fifth of all evaluations. Where the
    residual of a sample does not fall and its moves turn back on themselves, or are not finite, the steps are too
    large: they are halved, and the sample goes back to the last look. Each further estimate takes back one halving.
    """

    def __init__(self, net: Equations, states: Tensors, fixed: Fixed, phase: Phase) -> None:
        self.net, self.shares, self.goal = net, phase.step, phase.tolerance or 0.0
        self.halvings, self.bound = 0, curvature(net, states, fixed, phase.step)
        self.step = scaled(phase.step, self.bound, 0)
        self.evaluations, self.estimated = 1 + SECANTS, 0
        self.kept = [x.clone() for x in states]
        self.last = torch.full((len(states[0]),), float("inf"), device=net.device, dtype=net.dtype)

    def adapted(self, states: list[Tensor], fixed: Fixed, residual: Tensor, rows: Tensor, taken: int) -> Tensor:
        """The residual after a look, by the steps that follow; of ``rows`` those above the tolerance are looked at."""
        rows, before = rows[~(residual[rows] <= self.goal)], self.step
        stuck = rows[~(residual[rows].isfinite() & (residual[rows] <= FELL * self.last[rows]))]
        large = stuck[self._turned(take(states, stuck), fixed.rows(stuck))] if len(stuck) else stuck
        if len(large):
            self.halvings += 1
            put_(states, large, take(self.kept, large))
        elif len(rows) and taken - self.estimated >= PAUSE * (1 + SECANTS):
            self.bound = curvature(self.net, take(states, rows), fixed.rows(rows), self.shares)
            self.evaluations, self.estimated = self.evaluations + 1 + SECANTS, taken
            self.halvings = max(0, self.halvings - 1)
        self.step = scaled(self.shares, self.bound, self.halvings)
        if self.step != before:
            residual = residual.index_copy(0, rows, self.net._residual(take(states, rows), fixed.rows(rows), self.step))
            self.evaluations += 1
        self.kept, self.last = [x.clone() for x in states], residual.clone()
        return residual

    def _turned(self, states: list[Tensor], fixed: Fixed) -> Tensor:
        """The samples the next two moves of which are opposed, or no finite numbers: [batch]."""
        first = projected(self.net, states, fixed, self.step)
        second = projected(self.net, first, fixed, self.step)
        self.evaluations += 2
        return ~(((flatten(first) - flatten(states)) * (flatten(second) - flatten(first))).sum(1) >= 0)


def scaled(shares: tuple[float, ...], bound: float, halvings: int) -> tuple[float, ...]:
    """Steps for a bound, halved so many times; a bound that says nothing is 1."""
    return tuple(h / (bound if 0 < bound < float("inf") else 1.0) / 2**halvings for h in shares)


def curvature(net: Equations, states: Tensors, fixed: Fixed, shares: Sequence[float]) -> float:
    """An estimate of |J H| at some states, the largest of all samples, by power iteration on secants of the force.

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
