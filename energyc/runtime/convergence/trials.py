"""Trials on samples that do not converge: the search for jumps of the force, missing lower bounds, other step sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from ..equations.equations import Equations
from ..equations.inputs import free_phase, starting_states
from ..equations.records import Fixed, FreePhase, Phase, rows_of
from ..relaxation.solver import run_free_phase, step_method
from ..relaxation.steps import advance_, energy
from ..tensors.states import finite, flatten, norm, take, unflatten
from .causes import (
    NonConvergence,
    curvature_steps,
    force_jumps,
    in_vain,
    large_step,
    no_floor,
    settles_slowly,
)

#: Phases with steps by the curvature, each with the tolerance for the step of the one before.
ATTEMPTS = 4
#: The largest residual of a converged sample if there is no tolerance.
LOOSE = 1e-2
#: The most samples that are tried of those that do not converge.
MOST_SAMPLES = 8
#: The steps that are observed.
OBSERVED = 24
#: The points of a path that is followed.
POINTS = 64
#: How many times as many steps are tried.
LONGER = 8
#: The shares of the step that are tried.
SMALLER = (1 / 4, 1 / 16, 1 / 64)
#: The share of the step with which jumps are searched for.
SHORT = 1 / 16
#: The net displacement of an oscillating sample over the length of its path, at most.
OSCILLATION = 0.5
#: The share of a jump of the force that its slopes explain, at most.
EXPLAINED = 0.5
#: The growth of unbounded states, at least.
GROWN = 3.0
#: The share of its first value by which an energy without a lower bound falls along it, at least.
FALLEN = 0.1
#: The share of their speed that such states keep, at least.
SPEED_KEPT = 0.9


def convergence_threshold(tolerance: float | None) -> float:
    """Return the largest residual of a converged sample for a ``relax.tolerance``."""
    return LOOSE if tolerance is None else tolerance


@torch.no_grad()
def find_non_convergence(net: Equations, fixed: Fixed) -> NonConvergence | None:
    """Relax, and find out why samples do not converge; None where all do.

    At most ``MOST_SAMPLES`` samples are tried, with ``LONGER`` times ``max_steps`` and with smaller steps: up to 30
    times the work of a free phase of these samples.
    """
    phase = free_phase(net, None, None, None)
    end = run_free_phase(net, starting_states(net, None, fixed), fixed, phase)
    goal = convergence_threshold(phase.tolerance)
    rows = (~(end.residual <= goal)).nonzero()[:MOST_SAMPLES, 0]
    if len(rows) == 0:
        return None
    unsettled = rows_of(fixed, rows)
    trials = Trials(net, unsettled, phase._replace(tolerance=goal, step=end.step, auto=False))
    states = take(end.states, rows)
    return next(trials.causes(states), in_vain(LONGER, len(rows)))


class Trials:
    """The samples that do not converge, and what is tried on them."""

    def __init__(self, net: Equations, fixed: Fixed, phase: Phase) -> None:
        self.net, self.fixed, self.phase = net, fixed, phase
        self.start = starting_states(net, None, fixed)
        self.scale = max(1.0, largest(self.start))

    def causes(self, states: list[Tensor]) -> Iterator[NonConvergence]:
        """Yield the causes that are found from the states at the end, the surest first."""
        if self.exploded(states):
            yield from self.smaller_steps()
            yield from self.runs_away(SMALLER[-1])
            yield from self.jumps(self.start)
            return
        if self.net.relax_solver == "gradient" and oscillates(self.observe(states, 1.0)[0]):
            yield from self.jumps(states)
            yield from self.smaller_steps()
        yield from self.runs_away(1.0)
        yield from self.more_steps()
        yield from self.smaller_steps()

    def exploded(self, states: list[Tensor]) -> bool:
        """Return whether a state is not finite, or far larger than at the start."""
        return not bool(finite(states).all()) or largest(states) > (self.net.relax_explosion or 1e4) * self.scale

    # ---------------------------------------------------------------- observations

    def observe(self, states: list[Tensor], factor: float) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Return the moves of some steps, the change of the force in each, and what J predicts of it.

        Moves and changes [batch, entries]; the prediction [batch] is along the change of the force, the larger of those
        before and after the step.
        """
        x, moves, changes, explained = [s.clone() for s in states], [], [], []
        force, step = self.net._force(x, self.fixed), self.steps(factor)
        for _ in range(OBSERVED):
            before, old = [s.clone() for s in x], force
            advance_(self.net, x, self.fixed, force, step)
            force = self.net._force(x, self.fixed)
            move, change = flatten(x) - flatten(before), flatten(force) - flatten(old)
            along = unflatten(change / norm(change).clamp_min(1e-30)[:, None], x)
            moves.append(move)
            changes.append(change)
            explained.append(torch.maximum(self.slope(before, along, move), self.slope(x, along, move)))
        return moves, changes, explained

    def slope(self, at: list[Tensor], along: list[Tensor], move: Tensor) -> Tensor:
        """|<along, J move>|: [batch]."""
        back = self.net._force_adjoint(at, self.fixed, along)
        return (flatten([torch.zeros_like(x) if b is None else b for b, x in zip(back, at)]) * move).sum(1).abs()

    def jumps(self, states: list[Tensor]) -> Iterator[NonConvergence]:
        """Find a force that jumps as the samples oscillate, even with a short step.

        J, which does not contain the jump, predicts little of the change of the force there.
        """
        if self.net.relax_solver != "gradient":
            return
        moves, changes, explained = self.observe(self.after(states, self.phase.max_steps, SHORT), SHORT)
        if not oscillates(moves):
            return
        sizes = torch.stack([norm(change) for change in changes])
        top = sizes.argmax(0, keepdim=True)
        jumps = torch.stack(explained).gather(0, top) < EXPLAINED * sizes.gather(0, top)
        if 2 * int(jumps.sum()) < jumps.numel():
            return
        by_state = [float(part.square().sum()) for part in unflatten(torch.stack(changes).abs().sum(0), self.start)]
        yield force_jumps(self.net.state_names[by_state.index(max(by_state))])

    # ---------------------------------------------------------------- trials

    def steps(self, factor: float) -> tuple[float, ...]:
        """``factor`` times the step of each state."""
        return tuple(factor * h for h in self.phase.step)

    def trial(self, factor: float, times: int) -> FreePhase:
        """A free phase with ``factor`` times the step and ``times`` as many steps at most.

        A sample has converged where it would have at the whole step: the force counts, not the length of a short step.
        """
        goal = factor * (self.phase.tolerance or LOOSE)
        longest = times * self.phase.max_steps
        phase = self.phase._replace(step=self.steps(factor), tolerance=goal, max_steps=longest)
        return run_free_phase(self.net, [x.clone() for x in self.start], self.fixed, phase)

    def smaller_steps(self) -> Iterator[NonConvergence]:
        """Find the largest of some smaller steps with which all samples converge."""
        if self.net.relax_solver != "gradient":
            return
        for factor in SMALLER:
            end = self.trial(factor, LONGER)
            if bool((end.residual <= factor * (self.phase.tolerance or LOOSE)).all()):
                steps = int(end.steps.max())
                yield large_step(factor, steps, self.smaller(factor, steps))
                return
        yield from self.steps_by_curvature()

    def steps_by_curvature(self) -> Iterator[NonConvergence]:
        """Find out whether all samples converge with step sizes by the curvature.

        The first phase finds the step; the next one has the tolerance of ``trial`` for a step of that size. Where that
        one needs a smaller step, another follows with the tolerance for it.
        """
        if self.net.relax_auto or min(self.phase.step) <= 0:
            return
        goal = self.phase.tolerance or LOOSE
        factor = self._share(self._by_curvature(goal))
        for _ in range(ATTEMPTS):
            end, before = self._by_curvature(factor * goal), factor
            factor = self._share(end)
            if bool((end.residual <= factor * goal).all()):
                steps = int(end.steps.max())
                longer = self.longer_nudges(factor)
                settings = f"relax.step = auto with {self.limit(steps)}{longer}, or {self.step_sizes(factor)}"
                yield curvature_steps(factor * max(self.phase.step), steps, settings)
                return
            if factor >= before:
                return

    def _by_curvature(self, tolerance: float) -> FreePhase:
        """A free phase whose steps follow the curvature."""
        longest = LONGER * self.phase.max_steps
        phase = self.phase._replace(auto=True, tolerance=tolerance, max_steps=longest)
        return run_free_phase(self.net, [x.clone() for x in self.start], self.fixed, phase)

    def _share(self, end: FreePhase) -> float:
        """The share of the step of the spec that a free phase ended with, at most 1."""
        return min(1.0, *(h / own for h, own in zip(end.step, self.phase.step)))

    def smaller(self, factor: float, steps: int) -> str:
        """The settings of a smaller step."""
        return f"{self.step_sizes(factor)} with {self.limit(steps)}{self.longer_nudges(factor)}"

    def step_sizes(self, factor: float) -> str:
        """The settings of ``factor`` times the step of each state."""
        names, sizes = self.net.state_names, self.phase.step
        if len(set(sizes)) == 1:
            return f"relax.step = {factor * sizes[0]:.3g}"
        return ", ".join(f"relax.step.{name} = {factor * h:.3g}" for name, h in zip(names, sizes))

    def longer_nudges(self, factor: float) -> str:
        """The setting of nudged phases that go as far with ``factor`` times the step."""
        return "" if self.net.nudge_steps is None else f", nudge.steps = {round(self.net.nudge_steps / factor)}"

    def limit(self, steps: int) -> str:
        """The settings that allow half as many steps again."""
        most = f"relax.max_steps = {max(self.phase.max_steps, math.ceil(1.5 * steps))}"
        return most if self.net.relax_tolerance is not None else f"relax.tolerance = {LOOSE:g}, {most}"

    def more_steps(self) -> Iterator[NonConvergence]:
        """Find out whether more steps of the same size are enough."""
        end = self.trial(1.0, LONGER)
        if bool((end.residual <= (self.phase.tolerance or LOOSE)).all()):
            steps = int(end.steps.max())
            yield settles_slowly(steps, self.limit(steps))

    def runs_away(self, factor: float) -> Iterator[NonConvergence]:
        """Find out whether the states grow with ``factor`` times the step, at a speed that does not fall."""
        sizes, speeds, energies = self.path(factor)
        if len(sizes) < 3 or speeds[-1] < SPEED_KEPT * speeds[0]:
            return
        circles = len(sizes) == POINTS and sizes[-1] < GROWN / 2 * sizes[POINTS // 2]
        if circles or sizes[-1] < GROWN * sizes[0]:
            return
        falls = energies[-1] == min(energies) and energies[0] - energies[-1] > FALLEN * abs(energies[0])
        yield no_floor(sizes, energies, falls)

    def path(self, factor: float) -> tuple[list[float], list[float], list[float]]:
        """Return the largest entry, the speed and the mean energy at some points from the start to a divergence."""
        sizes, speeds, energies, before = list[float](), list[float](), list[float](), self.start
        pause = max(1, round(self.phase.max_steps / POINTS / factor))
        while len(sizes) < POINTS:
            after = self.after(before, pause, factor)
            if self.exploded(after):
                if pause == 1:
                    break
                pause //= 2
                continue
            sizes.append(largest(after))
            speeds.append(float((flatten(after) - flatten(before)).norm()) / pause)
            energies.append(float(energy(self.net, after, self.fixed).mean()))
            before = after
        return sizes, speeds, energies

    def after(self, states: list[Tensor], count: int, factor: float) -> list[Tensor]:
        """The states after some steps."""
        states, method = [x.clone() for x in states], step_method(self.net)
        for _ in range(count):
            method.step_(states, self.fixed, self.steps(factor))
        return states


def largest(states: list[Tensor]) -> float:
    """The largest entry."""
    return max(float(x.abs().max()) for x in states)


def oscillates(moves: list[Tensor]) -> bool:
    """Return whether most samples end near where they began, after a path many times as long."""
    displacement = sum(moves[1:], moves[0]).abs().sum(1)
    path = sum(move.abs().sum(1) for move in moves)
    return bool((displacement <= OSCILLATION * path).double().mean() >= 0.5)
