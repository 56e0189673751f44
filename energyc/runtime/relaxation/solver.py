"""The solver of a free phase, made of what the settings of a network choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Self

from torch import Tensor

from ..equations.equations import Equations
from ..equations.records import Fixed, FreePhase, Phase, rows_of
from ..tensors.states import Tensors, largest_magnitude, take
from .free_run import FreeRun, Observer
from .precision import LowPrecisionStart, Precision
from .step_methods import AndersonAcceleration, BlockDescent, GradientDescent, Newton, StepCallback, StepMethod
from .step_size import CurvatureStepSize, StepSizeController
from .steps import choose
from .stopping import Batch, CoupledBatch, EarlyExit, InferenceExit, StoppingCriterion, frozen

#: The step methods by the values of ``relax.solver``.
STEP_METHODS: Mapping[str, type[StepMethod]] = MappingProxyType(
    {"gradient": GradientDescent, "anderson": AndersonAcceleration, "newton": Newton, "blocks": BlockDescent}
)
#: The stopping criteria by the values of ``relax.exit``.
STOPPING_CRITERIA: Mapping[str, type[StoppingCriterion]] = MappingProxyType(
    {"settled": StoppingCriterion, "early": EarlyExit, "inference": InferenceExit}
)


def step_method(net: Equations) -> StepMethod:
    """Return the step method of a network. Raises ValueError for a setting that names none."""
    return choose("solver", STEP_METHODS, net.relax_solver)(net)


@dataclass(frozen=True)
class Solver:
    """The solver of one free phase: it owns its parts, which know nothing of each other."""

    net: Equations
    method: StepMethod
    controller: StepSizeController
    criterion: StoppingCriterion
    precision: Precision
    batch: Batch
    observer: Observer | None

    @classmethod
    def from_settings(cls, net: Equations, phase: Phase, observer: Observer | None, uniform: bool) -> Self:
        """Return the solver that the settings of a network choose for a phase; ``uniform`` steps have one precision."""
        criterion = choose("exit", STOPPING_CRITERIA, net.relax_exit)(net, phase)
        return cls(
            net,
            step_method(net),
            CurvatureStepSize(phase.step, criterion.phase.tolerance) if phase.auto else StepSizeController(),
            criterion,
            Precision() if net.relax_products is None else LowPrecisionStart(net, phase, uniform),
            CoupledBatch() if net.coupled else Batch(),
            observer,
        )

    @property
    def phase(self) -> Phase:
        """The phase as the stopping criterion carries it out."""
        return self.criterion.phase

    def run(self, states: list[Tensor], fixed: Fixed) -> FreePhase:
        """Relax in place from the given states until no sample goes on."""
        with self.precision.context():
            scale = largest_magnitude(states).max().clamp_min(1.0)
            run = FreeRun(self.net, states, fixed, self.phase.step)
            self.controller.begin_(run)
            self.warm_up_(run)
            if not self.run_in_kernel_(run):
                self.run_in_chunks_(run)
            return self.result(run, scale)

    def warm_up_(self, run: FreeRun) -> None:
        """Make the first steps in low precision, where the precision has any."""
        left = self.phase._replace(chunk=self.net.relax_chunk, max_steps=self.criterion.most - run.evaluations)
        self.precision.warm_up_(run, left, self.method, self.callback(run))

    def run_in_chunks_(self, run: FreeRun) -> None:
        """Make steps of the samples that still move, and check which of them go on.

        A check waits once for the device, to know which samples go on; the last one does not, where no further steps
        are left.
        """
        count = self.steps_to_first_check(run)
        while True:
            self.advance_(run, count)
            moving = self.criterion.moving(run.residual, run.count)
            if run.evaluations >= self.criterion.end:
                break
            run.rows = self.batch.moving(moving).nonzero()[:, 0]
            if len(run.rows) == 0:
                break
            count = self.criterion.steps_to_next_check(run.evaluations)

    def steps_to_first_check(self, run: FreeRun) -> int:
        """Return the steps to the first check."""
        count = self.criterion.steps_to_first_check(run.taken)
        count = self.controller.steps_to_first_check(count, self.phase.chunk)
        return max(0, min(count, self.criterion.most - run.evaluations))

    def advance_(self, run: FreeRun, count: int) -> None:
        """Make some steps of the samples that still move, measure their residual, and adapt the step sizes."""
        rows = run.moving
        states = run.states if rows is None else take(run.states, rows)
        fixed = run.fixed if rows is None else rows_of(run.fixed, rows)
        self.criterion.before_steps(states)
        if self.observer is None or not self.observer.steps_(run, states, fixed, count):
            self.method.steps_(states, fixed, run.taken, count, run.step, self.callback(run))
        run.taken += count
        run.states = run.with_moving(states)
        run.count[run.rows] += count
        run.residual[run.rows] = self.criterion.residual(self.net, states, fixed, run.step, count)
        self.controller.adapt_(run)

    def callback(self, run: FreeRun) -> StepCallback | None:
        """Return the function that shows each step to the observer; None where there is none."""
        return None if self.observer is None else partial(self.observer.before_step, run)

    def run_in_kernel_(self, run: FreeRun) -> bool:
        """Return whether a kernel made all steps of each sample; those that diverged, if any, are left at the start."""
        if not self.net.settling or run.taken or self.observer is not None:
            return False
        if not (self.controller.is_constant and self.batch.is_independent and self.criterion.reads_next_step):
            return False
        checks = self.criterion.steps_to_first_check(0), self.phase.chunk, self.criterion.most
        ends = self.net._settle_(run.states, run.fixed, run.step, checks, self.criterion.goal)
        if ends is None:
            return False
        run.residual, run.count = ends
        run.rows = run.residual.isinf().nonzero()[:, 0]
        return len(run.rows) == 0

    def result(self, run: FreeRun, scale: Tensor) -> FreePhase:
        """Return the end of the phase; a sample that rounding stopped has an infinite residual."""
        stuck = frozen(self.net, run.states, run.fixed, run.step, scale)
        residual = self.batch.residual(run.states, run.residual.masked_fill(stuck, float("inf")))
        return FreePhase(run.states, residual, run.count, stuck, run.step)


def run_free_phase(
    net: Equations,
    states: list[Tensor],
    fixed: Fixed,
    phase: Phase,
    observer: Observer | None = None,
    uniform: bool = False,
) -> FreePhase:
    """Relax a network in place by the solver that its settings choose; ``uniform`` steps have one precision."""
    return Solver.from_settings(net, phase, observer, uniform).run(states, fixed)


def free_steps(
    net: Equations, states: list[Tensor], fixed: Fixed, first: int, count: int, step: Sequence[float]
) -> None:
    """Make steps of a free phase in place, the first of them with the number ``first``."""
    if net.graphs is not None and not (net.graphs.within or net.numbered or count < 2):

        def again(own: list[Tensor], at: Fixed, _: Tensors) -> None:
            free_steps(net, own, at, first, count, step)

        net.graphs.repeat(net, ("free", count, *step), again, states, fixed)
        return
    method = step_method(net)
    for number in range(first, first + count):
        method.step_(states, net._at(fixed, number), step)
