"""The solver of a free phase: its tables, and parts that it does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc
from energyc.language.settings.phases import Relax
from energyc.runtime.equations.inputs import free_phase, prepared, starting_states
from energyc.runtime.relaxation.free_run import FreeRun
from energyc.runtime.relaxation.precision import Precision
from energyc.runtime.relaxation.solver import STEP_METHODS, STOPPING_CRITERIA, Solver, run_free_phase
from energyc.runtime.relaxation.step_methods import GradientDescent
from energyc.runtime.relaxation.step_size import StepSizeController
from energyc.runtime.relaxation.steps import MEASURES
from energyc.runtime.relaxation.stopping import Batch, StoppingCriterion

SPEC = """\
network bowl
dim D = 3
clamp x[D]
param w[D] = 1
state z[D]
energy pull = 1/2 * sum[d](w[d] * (z[d] - x[d])^2)
readout o[d] = z[d]
target y[D]
cost c = sum[d]((o[d] - y[d])^2)
relax { step = 1/4, steps = 4, tolerance = 1e-6, max_steps = 100, chunk = 2 }
train { rule = implicit }
"""


@pytest.fixture
def net() -> Any:
    return energyc.load(SPEC, target="torch", dtype=torch.float64)


@pytest.fixture
def clamps() -> dict[str, Tensor]:
    return {"x": torch.tensor([[1.0, 2.0, 3.0], [0.1, 0.2, 0.3]], dtype=torch.float64)}


class Halving(StepSizeController):
    """Halves the step size after each check."""

    def begin_(self, run: FreeRun) -> None:
        run.step = (1.0,)

    def steps_to_first_check(self, steps: int, chunk: int) -> int:
        return 1

    def adapt_(self, run: FreeRun) -> None:
        run.step = tuple(h / 2 for h in run.step)


class ThreeChecks(StoppingCriterion):
    """Stops every sample after three checks, with a step before each."""

    checks = 0

    def steps_to_next_check(self, done: int) -> int:
        return 1

    def moving(self, residual: Tensor, count: Tensor) -> Tensor:
        self.checks += 1
        return torch.full_like(count, self.checks < 3, dtype=torch.bool)


class Counted(GradientDescent):
    """Notes the step size of each chunk."""

    def __init__(self, net: Any) -> None:
        super().__init__(net)
        self.sizes: list[Sequence[float]] = []

    def steps_(self, states: list[Tensor], fixed: Any, first: int, count: int, step: Any, callback: Any = None) -> None:
        self.sizes.append(step)
        super().steps_(states, fixed, first, count, step, callback)


@torch.no_grad()
def test_parts_are_combined_as_they_are(net: Any, clamps: dict[str, Tensor]) -> None:
    fixed, phase = prepared(net, clamps), free_phase(net, None, None, None)
    method, criterion = Counted(net), ThreeChecks(net, phase)
    solver = Solver(net, method, Halving(), criterion, Precision(), Batch(), None)
    end = solver.run(starting_states(net, None, fixed), fixed)
    assert method.sizes == [(1.0,), (0.5,), (0.25,)]
    assert end.steps.tolist() == [3, 3] and end.step == (0.125,)
    torch.testing.assert_close(end.states[0], clamps["x"])


@torch.no_grad()
def test_a_solver_is_that_of_the_settings(net: Any, clamps: dict[str, Tensor]) -> None:
    fixed = prepared(net, clamps)
    for exit_ in STOPPING_CRITERIA:
        for name in ("gradient", "anderson", "newton"):
            net.relax_exit, net.relax_solver = exit_, name
            solver = Solver.from_settings(net, free_phase(net, None, None, None), None, uniform=False)
            assert type(solver.method) is STEP_METHODS[name] and type(solver.criterion) is STOPPING_CRITERIA[exit_]
            own, start = solver.run(starting_states(net, None, fixed), fixed), starting_states(net, None, fixed)
            again = run_free_phase(net, start, fixed, free_phase(net, None, None, None))
            assert torch.equal(own.states[0], again.states[0]) and torch.equal(own.steps, again.steps)


def test_the_tables_have_what_the_language_admits() -> None:
    fields, tables = (
        Relax.__dataclass_fields__,
        {"exit": STOPPING_CRITERIA, "measure": MEASURES, "solver": STEP_METHODS},
    )
    for name, table in tables.items():
        assert set(fields[name].metadata["setting"].kind.words) == set(table)
