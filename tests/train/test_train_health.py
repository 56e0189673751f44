"""A run says how it is: what settled, how large the gradient was, what is wrong and what would help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from energyc.running.training.loop import train
from energyc.running.training.outcome import Outcome
from energyc.running.training.run_health import Relaxation, RunHealth, run_health
from energyc.runtime.convergence.causes import settles_slowly
from tests.train.tiny import make_session


def _trained(out: Path, tolerance: float | None, residual: float, slope: float = 1.0, **settings: Any) -> Outcome:
    """A run whose samples all end at this residual, and whose gradients are multiplied by ``slope``."""
    session = make_session(out, {"steps": 10, "batch": 10, "eval_every": 5, **settings})
    session.net.relax_tolerance = tolerance
    relax, gradients = session.net.relax, session.net.gradients

    def relaxed(*given: Any, **named: Any) -> Any:
        found = relax(*given, **named)
        found.residual.fill_(residual)
        return found

    def scaled(*given: Any, **named: Any) -> Any:
        found = gradients(*given, **named)
        found.residual.fill_(residual)
        for name in found.params:
            found.params[name] *= slope
        return found

    session.net.relax, session.net.gradients = relaxed, scaled  # type: ignore[method-assign, assignment]
    return train(session)


def test_states_that_are_no_equilibrium_without_a_tolerance(tmp_path: Path) -> None:
    outcome = _trained(tmp_path / "run", None, 0.3)
    (warning,) = outcome.warnings
    assert "100% of the last training samples did not settle (residual up to 3.0e-01)" in warning
    assert "no tolerance, so exactly 10 steps" in warning and "what helps: relax.tolerance" in warning
    assert outcome.health is not None and outcome.health.settled == outcome.health.settled_test == 0
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert {row["settled"] for row in rows} == {0}


def test_a_tolerance_that_is_not_reached(tmp_path: Path) -> None:
    (warning,) = _trained(tmp_path / "run", 1e-4, 2e-3).warnings
    assert "relax.tolerance = 0.0001 is not reached in 10 steps" in warning
    assert "more steps (relax.max_steps, now 100), or a smaller relax.step" in warning


def test_a_tolerance_within_rounding(tmp_path: Path) -> None:
    (warning,) = _trained(tmp_path / "run", 1e-8, 1e-7).warnings
    assert "within rounding" in warning and "train.dtype = float64" in warning


def test_a_gradient_at_rounding_that_teaches_nothing(tmp_path: Path) -> None:
    outcome = _trained(tmp_path / "run", 1e-4, 1e-5, slope=1e-11, optimizer="sgd")
    rounding, nothing = outcome.warnings
    assert rounding.startswith("the gradient is lost in rounding in 10 of 10 updates") and "float64" in rounding
    assert nothing.startswith("no evaluation had a better cost than the one before any update (best: step 0)")
    assert outcome.best_step == 0


def test_a_healthy_run_has_a_line_and_no_warning(tmp_path: Path) -> None:
    outcome = _trained(tmp_path / "run", 1e-4, 1e-5, lr=0.01)
    assert outcome.warnings == () and outcome.health is not None
    assert str(outcome.health).startswith(
        "100% of samples settled (residual within 1e-04), 100% in the last evaluation, gradient "
    )


def _rows(costs: list[float], norm: float = 1.0) -> list[dict[str, Any]]:
    update = {"kind": "train", "residual": 0.5, "settled": 0.0, "relax_steps": 10.0, "gradient_norm": norm}
    return [{**update, "step": k + 1, "cost": cost} for k, cost in enumerate(costs)]


@pytest.mark.parametrize(
    ("costs", "helps"),
    [([4.0, 1.0], "it overfits"), ([1.0, 4.0], "a lower train.lr"), ([1.0, 1.0], "a higher train.lr")],
)
def test_training_that_learns_nothing_says_where_the_cost_went(costs: list[float], helps: str) -> None:
    rows = [*_rows(costs), {"kind": "eval", "step": 2, "cost": 9.0, "residual_max": 0.5, "settled": 1.0}]
    (symptom,) = run_health(rows, Relaxation(10, None, 10, 1e-7), "bptt", best_step=0).symptoms
    assert helps in str(symptom)


@pytest.mark.parametrize(
    ("costs", "seen"),
    [
        ([4.0] * 20 + [1.0] * 20 + [0.1] * 20 + [2.0] * 20, "0.1 around update 45, 2 in the last tenth"),
        ([4.0, 0.3] * 40, ""),
        ([4.0 / (k + 1) for k in range(80)], ""),
        ([0.1] * 20 + [0.29] * 60, ""),
        ([1.0, 0.1] * 5 + [9.0] * 10, ""),
        ([0.0] * 80, ""),
    ],
    ids=["risen", "noisy", "falling", "less than three times", "too short", "zero"],
)
def test_a_cost_that_rises_again_is_told(costs: list[float], seen: str) -> None:
    found = run_health(_rows(costs), Relaxation(10, None, 10, 1e-7), "bptt").symptoms
    assert [str(symptom) for symptom in found if seen and seen in str(symptom)] == [str(symptom) for symptom in found]
    assert bool(found) == bool(seen)


def test_backpropagation_through_a_fixed_number_of_steps_needs_no_equilibrium() -> None:
    relaxation, rows = Relaxation(10, None, 10, 1e-7), _rows([4.0, 1.0])
    health = run_health(rows, relaxation, "bptt")
    assert health.symptoms == () and RunHealth.from_json(health.to_json()) == health
    assert "exactly 10 steps are made, and the gradient by bptt is that of these steps, settled or not" in str(health)
    assert "what helps if they are to settle: relax.tolerance" in str(health)
    assert not health.rests and "of samples settled" not in str(health) and "in the last evaluation" not in str(health)
    assert len(run_health(rows, relaxation, "implicit").symptoms) == 1
    assert "0% of samples settled" in str(run_health(rows, relaxation, "implicit"))
    assert "0% of samples settled" in str(run_health(rows, Relaxation(10, 1e-4, 10, 1e-7), "bptt"))


def test_what_was_tried_is_said_of_backpropagation_too() -> None:
    rows, slow = _rows([4.0, 1.0]), settles_slowly(70, "relax.max_steps = 105")
    health = run_health(rows, Relaxation(10, None, 10, 1e-7), "bptt", find=lambda: slow)
    assert health.remark.endswith("if they are to settle (it settles slowly: in 70 steps): relax.max_steps = 105")
    numbered = run_health(rows, Relaxation(10, None, 10, 1e-7, numbered=True), "bptt", find=lambda: slow)
    assert "its 10 steps differ, so there is no rest" in numbered.remark and "helps" not in numbered.remark
    settled = [{**row, "settled": 1.0} for row in rows]
    assert run_health(settled, Relaxation(10, None, 10, 1e-7), "bptt", find=lambda: slow).remark == ""


def test_rows_of_an_older_version_say_nothing_of_what_settled() -> None:
    rows = [{"kind": "train", "step": 1, "cost": 1.0, "residual": 0.5, "relax_steps": 10.0, "gradient_norm": None}]
    health = run_health(rows, Relaxation(10, None, 10, 1e-7), "implicit")
    assert health.settled is None and health.symptoms == () and str(health) == "no update was made"
