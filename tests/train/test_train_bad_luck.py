"""Bad luck while training: data that are not finite, two processes at one run, kills at the worst moment."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from energyc.files import SafePath
from energyc.language.diagnostics import UserError
from energyc.running.folder import checkpoints
from energyc.running.folder.checkpoints import Checkpoint, load_last, save
from energyc.running.folder.layout import LOCK, RunFolder, locked
from energyc.running.folder.logs import read_rows
from energyc.running.training.evaluation import evaluate
from energyc.running.training.feeds import Feeds
from energyc.running.training.loop import Training, train
from energyc.running.training.seeds import train_each
from energyc.running.training.session import Session
from tests.train.test_train_resume import start, wait_for_rows
from tests.train.tiny import TinyData, make_session

SETTINGS = {"steps": 4, "batch": 7, "eval_every": 2}


class Killed(BaseException):
    """Stands for a kill: nothing in the package catches it."""


def kill_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int = 1) -> None:
    """Let the given call of a function end the process, as far as the disk can tell."""
    real, calls = getattr(owner, name), []

    def function(*args: Any, **named: Any) -> Any:
        calls.append(name)
        if len(calls) == call:
            raise Killed
        return real(*args, **named)

    monkeypatch.setattr(owner, name, function)


def die(out: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int = 1) -> None:
    """Train until a call, and leave the lock behind as a kill does."""
    with monkeypatch.context() as patched:
        kill_at(patched, owner, name, call)
        with pytest.raises(Killed):
            train(make_session(out, SETTINGS))
    (out / LOCK).touch()


def kept(out: Path) -> dict[str, bytes]:
    """All files of a run that the same run writes again byte for byte."""
    files = [path for path in out.rglob("*") if path.is_file() and path.name != "timings.jsonl"]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def test_evaluation_of_what_is_not_finite(tmp_path: Path) -> None:
    train(make_session(tmp_path / "run", SETTINGS))
    data = Feeds({"pairs": TinyData(factor=1e30)}, {"x": ("pairs", "x")}, {"t": ("pairs", "t")})
    with pytest.raises(UserError, match="the test split cannot be evaluated: the cost is not finite") as caught:
        evaluate(replace(make_session(tmp_path / "run", SETTINGS), feeds=data))
    assert caught.value.code == "E0515"


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [
        (Training, "_save", 1),  # before the first checkpoint
        (Training, "_evaluate", 1),
        (Training, "_save", 2),  # between the evaluation of step 0 and its checkpoint
        (Training, "_save", 3),  # between that of step 2 and its checkpoint
        (RunFolder, "write_info", 1),
    ],
)
def test_killed_and_continued_gives_the_same_bytes(
    owner: Any, name: str, call: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(make_session(tmp_path / "whole", SETTINGS))
    out = tmp_path / "run"
    die(out, monkeypatch, owner, name, call)
    if (out / "run.json").exists():
        (out / ".metrics.jsonl.1.new").write_text("half a row")
    train(make_session(out, SETTINGS), resume=(out / "run.json").exists())
    assert kept(out) == kept(tmp_path / "whole")
    assert [row["step"] for row in read_rows(RunFolder(out).timings)] == [0, 2, 4]


def test_what_a_message_recommends_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for call, then in ((1, "--resume"), (0, "choose another --out")):
        out = tmp_path / f"run{call}"
        if call:
            die(out, monkeypatch, Training, "_save", call)
        else:
            out.mkdir()
            (out / "notes.txt").write_text("mine")
        with pytest.raises(UserError) as caught:
            train(make_session(out, SETTINGS))
        assert then in str(caught.value.help) and ("--resume" in str(caught.value.help)) == bool(call)
    assert train(make_session(tmp_path / "run1", SETTINGS), resume=True).steps == 4


def test_a_run_whose_checkpoints_are_gone_does_not_begin_anew(tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(make_session(out, SETTINGS))
    for path in (out / "checkpoints").iterdir():
        path.rename(tmp_path / path.name)
    with pytest.raises(UserError, match="no usable checkpoint"):
        train(make_session(out, SETTINGS), resume=True)
    assert read_rows(RunFolder(out).metrics)


@pytest.mark.parametrize("call", [1, 2])
def test_a_checkpoint_is_never_lost_to_its_successor(
    call: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(SafePath(tmp_path), Checkpoint(0, {}, state={"samples": 1}))
    with monkeypatch.context() as patched:
        kill_at(patched, SafePath, "move", call)
        with pytest.raises(Killed):
            save(SafePath(tmp_path), Checkpoint(0, {}, state={"samples": 2}))
    checkpoints.recover(SafePath(tmp_path))
    assert load_last(SafePath(tmp_path), pytest.fail).state["samples"] == 1
    save(SafePath(tmp_path), Checkpoint(0, {}, state={"samples": 3}))
    assert load_last(SafePath(tmp_path), pytest.fail).state["samples"] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000000"]


@pytest.mark.parametrize("call", [1, 2])
def test_a_reader_finds_a_checkpoint_at_any_moment_of_its_replacement(
    call: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each rename, as another process would see it; and when the writer was killed there."""
    save(SafePath(tmp_path), Checkpoint(0, {}, state={"samples": 1}))
    real, seen = SafePath.move, []

    def move(source: SafePath, new: str) -> SafePath:
        seen.append(
            (checkpoints.steps(SafePath(tmp_path)), load_last(SafePath(tmp_path), pytest.fail).state["samples"])
        )
        return real(source, new)

    with monkeypatch.context() as patched:
        patched.setattr(SafePath, "move", move)
        save(SafePath(tmp_path), Checkpoint(0, {}, state={"samples": 2}))
    assert seen == [([0], 1), ([0], 1)]
    with monkeypatch.context() as patched:
        kill_at(patched, SafePath, "move", call)
        with pytest.raises(Killed):
            save(SafePath(tmp_path), Checkpoint(0, {}, state={"samples": 3}))
    assert (
        checkpoints.steps(SafePath(tmp_path)) == [0]
        and load_last(SafePath(tmp_path), pytest.fail).state["samples"] == 2
    )


def test_a_full_disk_puts_the_old_checkpoint_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(SafePath(tmp_path), Checkpoint(0, {}, state={"samples": 1}))
    real, calls = SafePath.move, []

    def full(source: SafePath, new: str) -> SafePath:
        calls.append(new)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(source, new)

    monkeypatch.setattr(SafePath, "move", full)
    with pytest.raises(OSError, match="No space"):
        save(SafePath(tmp_path), Checkpoint(0, {}, state={"samples": 2}))
    assert load_last(SafePath(tmp_path), pytest.fail).state["samples"] == 1


def test_a_lock_names_its_holder_and_ends_with_it(tmp_path: Path) -> None:
    with locked(tmp_path):
        with (
            pytest.raises(UserError, match=f"is being trained by process {os.getpid()} on ") as caught,
            locked(tmp_path),
        ):
            pass
        assert caught.value.code == "E0517"
    assert not list(tmp_path.iterdir())
    (tmp_path / LOCK).write_text("process 1 on a machine that is off")
    with locked(tmp_path):
        pass


@pytest.mark.slow
def test_one_process_at_a_time_resumes_a_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = start(out, pause=0.01)
    wait_for_rows(out, 5)
    for resume, code in ((True, "E0517"), (False, "E0510")):
        with pytest.raises(UserError) as caught:
            train(make_session(out, SETTINGS), resume=resume)
        assert caught.value.code == code
    assert first.wait(timeout=120) == 0
    rows = [row for row in read_rows(RunFolder(out).metrics) if row["kind"] == "train"]
    assert [row["step"] for row in rows] == list(range(1, 81))


@pytest.mark.slow
def test_several_processes_resume_a_run_at_once(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = start(out, pause=0.02)
    wait_for_rows(out, 20)
    first.kill()
    first.wait(timeout=60)
    others = [start(out, pause=0.02, resume=True) for _ in range(3)]
    errors = [other.communicate(timeout=240)[1] for other in others]
    assert [other.returncode for other in others].count(0) >= 1, errors
    assert all(other.returncode == 0 or "is being trained by" in e for other, e in zip(others, errors, strict=True))
    rows = [row for row in read_rows(RunFolder(out).metrics) if row["kind"] == "train"]
    assert [row["step"] for row in rows] == list(range(1, 81))


def test_seeds_are_locked_as_a_whole(tmp_path: Path) -> None:
    def make(seed: int, path: Path) -> Session:
        with pytest.raises(UserError, match="is being trained by"):
            train_each(make, [0], tmp_path / "run", resume=True)
        return make_session(path, {**SETTINGS, "seed": seed})

    train_each(make, [0, 1], tmp_path / "run")
    assert not list((tmp_path / "run").rglob(LOCK))


def test_a_disk_that_is_full_at_the_beginning_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, real = tmp_path / "run", SafePath.write

    def full(path: SafePath, content: bytes) -> None:
        if path.name == "run.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    with monkeypatch.context() as patched, pytest.raises(UserError, match="no checkpoint was written yet"):
        patched.setattr(SafePath, "write", full)
        train(make_session(out, SETTINGS))
    assert list(out.iterdir()) == []
    assert train(make_session(out, SETTINGS)).steps == SETTINGS["steps"]
