"""Bad luck while training: data that are not finite, two processes at one run, kills at the worst moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from energyc.diagnostics import UserError
from energyc.train.evaluation import evaluate
from energyc.train.loop import train
from tests.train.tiny import make_session

SETTINGS = {"steps": 4, "batch": 7, "eval_every": 2}


def test_evaluation_of_data_that_are_not_finite(tmp_path: Path) -> None:
    train(make_session(tmp_path / "run", SETTINGS))
    with pytest.raises(UserError, match=r"the test split cannot be evaluated: .* is not finite") as caught:
        evaluate(make_session(tmp_path / "run", SETTINGS, bad=True))
    assert caught.value.code == "E0515"
