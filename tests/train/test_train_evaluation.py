"""What evaluations do with the free phase: samples stop at the tolerance, and updates are what they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import energyc
from energyc.running.folder.logs import Row

SPEC = """
network line
dim J = 3, T = 40
clamp x[J]
target t[J]
param c[J] = 1/2
state y[J]
energy E = sum[j](y[j]^2) - sum[j](c[j] * y[j] * x[j])
cost mse = sum[j]((y[j] - t[j])^2)
relax { step = 1/4, steps = 40, tolerance = 1e-3, chunk = 2 }
train { rule = bptt, batch = 4, lr = 0.1, steps = 3 }
"""
NUMBERED = SPEC.replace("relax {", "param r[T] = 1\nflow y[j] = -r[k] * grad(E, y[j])\nrelax k in T {")


def rows(out: Path, kind: str, spec: str = SPEC, **settings: Any) -> list[Row]:
    x = torch.linspace(-1, 1, 36).reshape(12, 3)
    data = {"x": x, "t": x / 3}
    run = energyc.train(spec, data, test=data, settings={f"train.{k}": v for k, v in settings.items()}, out=out)
    return [row for row in run.rows if row["kind"] == kind]


def test_samples_stop_at_the_tolerance_and_updates_do_not_change(tmp_path: Path) -> None:
    early, whole = (rows(tmp_path / how, "eval", eval_exit=how) for how in ("early", "spec"))
    assert all(row["relax_steps"] < 20 and row["residual_max"] <= 1e-3 and row["settled"] == 1 for row in early)
    assert all(row["relax_steps"] == 40 and row["residual_max"] < 1e-6 for row in whole)
    assert [row["cost"] for row in early] == pytest.approx([row["cost"] for row in whole], abs=1e-4)
    assert [row["samples"] for row in early] == [4] * 4
    updates = [rows(tmp_path / f"{how}-again", "train", eval_exit=how) for how in ("early", "spec")]
    assert updates[0] == updates[1] and updates[0][0]["relax_steps"] == 40


def test_where_steps_are_numbered_all_are_made(tmp_path: Path) -> None:
    assert all(row["relax_steps"] == 40 for row in rows(tmp_path / "run", "eval", NUMBERED))


def test_all_samples_are_evaluated_where_that_is_set(tmp_path: Path) -> None:
    assert rows(tmp_path / "run", "eval", eval_samples=2000)[-1]["samples"] == 12


def test_a_run_that_is_resumed_evaluates_as_one_that_went_through(tmp_path: Path) -> None:
    x = torch.linspace(-1, 1, 36).reshape(12, 3)
    data, settings = {"x": x, "t": x / 3}, {"train.steps": 6}
    whole = energyc.train(SPEC, data, test=data, settings=settings, out=tmp_path / "whole")
    halved = energyc.train(
        SPEC, data, test=data, settings=settings, out=tmp_path / "halved", callback=lambda row: row["step"] < 3
    )
    assert energyc.resume(halved, data, test=data).rows == whole.rows
