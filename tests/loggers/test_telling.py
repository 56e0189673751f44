"""A run tells its loggers how it goes, and no logger ends it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import energyc
from energyc.language.diagnostics import UserError
from energyc.running.folder.layout import RunFolder
from energyc.running.folder.logs import read_rows
from energyc.running.loggers import Ending, Logger, Run
from energyc.running.ranks.group import Group
from energyc.running.training.division import Division
from energyc.running.training.loop import train
from energyc.running.training.outcome import Diverged
from energyc.running.training.progress import Reporter
from tests.train.tiny import make_session

SETTINGS = {"steps": 12, "batch": 5, "eval_every": 4, "optimizer": "sgd", "lr": 0.02}


class Recorder(Logger):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def start(self, run: Run) -> None:
        self.told.append(("start", run))

    def scalars(self, update: int, part: str, numbers: Any) -> None:
        self.told.append(("scalars", update, part, numbers))

    def picture(self, update: int, name: str, path: Path) -> None:
        self.told.append(("picture", update, name, path))

    def finish(self, ending: Ending) -> None:
        self.told.append(("finish", ending))


class Failing(Logger):
    """Fails in one of its methods, from the second call of it on where there are two."""

    def __init__(self, method: str, error: BaseException) -> None:
        self.calls = 0

        def fail(*arguments: Any) -> None:
            self.calls += 1
            raise error

        setattr(self, method, fail)


class Messages(Reporter):
    """Keeps the messages."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def message(self, text: str) -> None:
        self.texts.append(text)


def logged(out: Path, *loggers: Logger, **options: Any) -> Any:
    session = make_session(out, SETTINGS)
    feeds = replace(session.feeds, division=Division(0.2))
    return train(replace(session, feeds=feeds, loggers=loggers), **options)


@pytest.mark.slow
def test_a_logger_is_told_every_row_in_order_then_the_pictures_then_the_end(tmp_path: Path) -> None:
    recorder, picture = Recorder(), tmp_path / "a picture.png"
    outcome = logged(tmp_path / "run", recorder, label="seed 3", pictures=lambda: [picture])
    (start, run), *told, drawn, (finish, ending) = recorder.told
    assert (start, finish) == ("start", "finish")
    assert (run.network, run.rule, run.update, run.total, run.label) == ("tiny", "centered-ep", 0, 12, "seed 3")
    assert run.folder == tmp_path / "run" and run.info["options"]["batch"] == 5
    rows = [
        (
            row["step"],
            row.get("split", row["kind"]),
            {name: value for name, value in row.items() if _is_number(name, value)},
        )
        for row in read_rows(RunFolder(tmp_path / "run").metrics)
    ]
    assert [entry[1:] for entry in told] == rows
    assert {part for _, part, _ in rows} == {"train", "test", "validation"}
    assert drawn == ("picture", 12, "a picture", picture)
    assert ending == Ending("finished", 12, "", outcome.final, outcome.best, outcome.best_step)
    assert outcome.warnings == ()


def _is_number(name: str, value: Any) -> bool:
    return name != "step" and isinstance(value, int | float)


@pytest.mark.abridged(every=6)
@pytest.mark.parametrize("method", ["start", "scalars", "picture", "finish"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SystemExit(3), AttributeError("")])
def test_a_failing_logger_is_named_and_left_out(method: str, error: BaseException, tmp_path: Path) -> None:
    failing, recorder, messages = Failing(method, error), Recorder(), Messages()
    outcome = logged(tmp_path / "run", failing, recorder, reporter=messages, pictures=lambda: [Path("a.png")] * 2)
    logged(tmp_path / "alone")
    metrics = [(tmp_path / name / "metrics.jsonl").read_bytes() for name in ("run", "alone")]
    assert metrics[0] == metrics[1] and failing.calls == 1
    assert [entry[0] for entry in recorder.told].count("finish") == 1 and len(recorder.told) > 12
    (warning,) = outcome.warnings
    assert messages.texts == [f"warning: {warning}"]
    assert f"the logger Failing failed in {method} at update" in warning and type(error).__name__ in warning


def test_what_is_not_a_logger_is_left_out_too(tmp_path: Path) -> None:
    outcome = logged(tmp_path / "run", object())  # type: ignore[arg-type]
    assert outcome.steps == 12 and "AttributeError" in outcome.warnings[0]


def test_a_logger_is_told_how_a_run_failed(tmp_path: Path) -> None:
    recorder = Recorder()
    session = make_session(tmp_path / "run", {"steps": 12, "optimizer": "sgd", "lr": 1e30, "eval_every": 50})
    with pytest.raises(Diverged) as error:
        train(replace(session, loggers=(recorder,)))
    assert recorder.told[-1] == ("finish", Ending("diverged", recorder.told[-2][1], str(error.value)))
    broken = replace(make_session(tmp_path / "broken", SETTINGS), loggers=(recorder,))
    broken.net.gradients = lambda *_, **__: {}["no such key"]  # type: ignore[attr-defined]
    with pytest.raises(KeyError):
        train(broken)
    assert recorder.told[-1][1].how == "failed"
    told = len(recorder.told)
    with pytest.raises(Exception, match="not empty"):
        train(replace(make_session(tmp_path / "run", SETTINGS), loggers=(recorder,)))
    assert len(recorder.told) == told, "a run that did not begin is not told of"


def test_a_logger_gets_numbers_that_are_not_finite(tmp_path: Path) -> None:
    recorder = Recorder()
    session = make_session(tmp_path / "run", {**SETTINGS, "steps": 2})
    session.net.metrics = lambda states, clamps, targets: {"accuracy": states["y"][:, 0] * math.nan}  # type: ignore[attr-defined]
    train(replace(session, loggers=(recorder,)))
    shown = [
        numbers["accuracy"] for kind, *_, numbers in recorder.told[1:-1] if "accuracy" in numbers and kind == "scalars"
    ]
    assert shown and all(math.isnan(value) for value in shown)


def test_only_the_rank_that_writes_tells_its_loggers(tmp_path: Path) -> None:
    class Second(Group):
        """A rank that is not the first, as far as files go."""

        is_first = False  # type: ignore[assignment]

    recorder = Recorder()
    train(replace(make_session(tmp_path / "run", SETTINGS), group=Second(), loggers=(recorder,)))
    assert recorder.told == [] and not (tmp_path / "run").exists()


SPEC = """\
network own
dim I = 3
clamp x[I]
target t[I]
param b[I] = 0
state z[I]
energy e = 1/2 * sum[i]((z[i] - x[i] - b[i])^2)
cost c = sum[i]((z[i] - t[i])^2)
relax { step = 1, steps = 2 }
train { rule = implicit, steps = 2, batch = 4, lr = 0.1 }
"""


def test_loggers_of_a_program(tmp_path: Path) -> None:
    recorder, data = Recorder(), {"x": np.eye(3, dtype=np.float32), "t": np.eye(3, dtype=np.float32)}
    run = energyc.train(SPEC, data, out=tmp_path / "run", target="torch", loggers=[recorder])
    assert [recorder.told[0][0], recorder.told[-1]] == [
        "start",
        ("finish", Ending("finished", 2, "", run.final, run.best, run.best_step)),
    ]
    energyc.resume(run, data, steps=3, loggers=[recorder])
    assert recorder.told[-1][1].update == 3
    for wrong, code in (([object()], "E0951"), (["wandb"], "E0953"), (["os:abort"], "E0953")):
        with pytest.raises(UserError) as error:
            energyc.train(SPEC, data, out=tmp_path / "none", target="torch", loggers=wrong)
        assert error.value.code == code and not (tmp_path / "none").exists()
