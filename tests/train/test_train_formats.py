"""Reading a run folder: types are checked in one place, and everything else is kept as it is."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from energyc.language.diagnostics import UserError
from energyc.running.folder.formats import Malformed, Manifest, Row, RunInfo, State, Summary, parse, parse_row
from energyc.running.runs.saved import load_run

BEST = {"step": 10, "value": 0.5, "numbers": {"cost": 0.5, "samples": 20}}


def test_what_is_written_comes_back_in_the_same_order_and_types() -> None:
    state = {"epoch": 1, "samples": 20, "best": BEST, "evaluated": None, "controller": None, "extra": {"a": [1]}}
    assert json.dumps(parse(State, json.dumps(state))) == json.dumps(state)
    row = {"step": 3, "kind": "train", "cost": 0.5, "residual": None, "of_a_later_version": [1, "x"]}
    assert json.dumps(parse(Row, json.dumps(row))) == json.dumps(row)


def test_numbers_that_are_not_finite_are_numbers() -> None:
    best = parse(State, json.dumps({"best": {**BEST, "value": math.nan}}))["best"]
    assert best is not None and math.isnan(best["value"])


@pytest.mark.parametrize(
    ("form", "content", "place"),
    [
        (RunInfo, "[]", ""),
        (RunInfo, "{", ""),
        (RunInfo, b"\xff\x00", ""),
        (RunInfo, '{"data": {"digits": 3}}', "data.digits"),
        (RunInfo, '{"device": ["cpu"]}', "device"),
        (RunInfo, '{"steps": true}', "steps"),
        (State, '{"samples": "20"}', "samples"),
        (State, '{"best": {"step": 1e300, "value": 0.5, "numbers": {}}}', "best.step"),
        (State, '{"best": {"step": -1, "value": 0.5, "numbers": {}}}', "best.step"),
        (State, '{"evaluated": {"step": 1, "numbers": {"cost": "low"}}}', "evaluated.numbers.cost"),
        (Manifest, '{"step": 3, "files": ["params"]}', "files"),
        (Row, '{"kind": "train"}', "step"),
        (Row, '{"step": 99999999999999999999}', "step"),
        (Row, '{"step": 1, "residual": "small"}', "residual"),
        (Summary, '{"seeds": [0, "1"]}', "seeds.1"),
        (Summary, '{"seeds": []}', "seeds"),
        (RunInfo, '{"options": {"rates": 3}}', "options.rates"),
        (RunInfo, '{"options": {"scores": ["auc"]}}', "options.scores.0"),
        (RunInfo, '{"fold": "first"}', "fold"),
        (Summary, '{"folds": [0, -1]}', "folds.1"),
        (
            State,
            '{"evaluated": {"step": 1, "numbers": {}, "validation": {"cost": "low"}}}',
            "evaluated.validation.cost",
        ),
        (RunInfo, '{"options": {"penalty": {"target": "low"}}}', "options.penalty.target"),
        (RunInfo, '{"made_of": {"samples": {"x": 3}}}', "made_of.samples.x"),
        (RunInfo, '{"made_of": {"samples": {"x": {"shape": [1], "means": [0.5]}}}}', "made_of.samples.x.means"),
        (RunInfo, '{"made_of": {"files": ["digits"]}}', "made_of.files"),
        (RunInfo, '{"overrides": ["J=3"]}', "overrides"),
        (RunInfo, "[" * 100_000, "invalid JSON"),
        (State, '{"controller": {"weight": 1, "other": 2}}', "controller.average"),
        (State, f'{{"best": {{"step": 1, "value": 1e0, "numbers": {{"cost": 1{"0" * 400}}}}}}}', "best.numbers.cost"),
    ],
)
def test_another_type_is_refused_with_its_place(form: type, content: str | bytes, place: str) -> None:
    with pytest.raises(Malformed, match=f"^{place}"):
        parse(form, content)


def test_only_numbers_are_read_under_further_names() -> None:
    row = {"step": 3, "kind": "train", "cost": 0.5, "gradient_norm": "steep", "accuracy": 10**400, "lr": [1], "beta": 2}
    empty = dict.fromkeys(("gradient_norm", "accuracy", "lr"))
    assert parse_row(json.dumps(row)) == {**row, **empty}


def test_paths_that_are_not_utf8_come_back() -> None:
    path = os.fsdecode(b"f\xff")
    assert parse(RunInfo, json.dumps({"spec": path}))["spec"] == path


def test_a_run_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"data": {"digits": 3}}')
    with pytest.raises(
        UserError, match=r"is not a run folder: run\.json: data\.digits: Input should be a valid string"
    ):
        load_run(tmp_path)
