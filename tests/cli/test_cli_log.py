"""``train --log``: TensorBoard, a logger of one's own, and what is not a logger."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from energyc.running.runs.saved import load_run
from tests.cli.run import energyc, written

Capture = pytest.CaptureFixture[str]
MINE = """\
from energyc.running.loggers import Logger

class Lines(Logger):
    def start(self, run):
        self.file = open(f"lines-{run.label or 'one'}.txt", "a")
        print("start", run.network, run.update, file=self.file)

    def finish(self, ending):
        print("finish", ending.how, ending.update, file=self.file)
        self.file.close()

class Broken(Logger):
    def scalars(self, update, part, numbers):
        raise ConnectionError("no route to host")

number = 3

def fails():
    return open("nowhere/to/be/found")
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of the user's in the working directory, under a name of its own for each test."""
    name = f"mylogs_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    yield name
    for imported in [module for module in sys.modules if module.startswith(name)]:
        del sys.modules[imported]


@pytest.mark.slow
def test_a_logger_of_ones_own_from_the_working_directory(mine: str, tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "train", written(tmp_path), "--out", "run", "--steps", 2, "--log", f"{mine}:Lines")
    assert done.status == 0, done.err
    assert (tmp_path / "lines-one.txt").read_text() == "start small 0\nfinish finished 2\n"
    resumed = energyc(capfd, "train", "--resume", "run", "--steps", 3, "--log", f"{mine}:Lines")
    assert resumed.status == 0, resumed.err
    assert (tmp_path / "lines-one.txt").read_text().splitlines()[2:] == ["start small 2", "finish finished 3"]
    of_file = energyc(capfd, "train", written(tmp_path), "--out", "three", "--steps=1", "--log", f"{mine}.py:Lines")
    assert of_file.status == 0 and len((tmp_path / "lines-one.txt").read_text().splitlines()) == 6
    several = energyc(
        capfd, "train", written(tmp_path), "--out", "two", "--steps=1", "--seeds=2", "--log", f"{mine}:Lines"
    )
    assert several.status == 0 and (tmp_path / "lines-seed 1.txt").read_text() == "start small 0\nfinish finished 1\n"


@pytest.mark.slow
def test_a_failing_logger_is_a_warning(mine: str, tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "train", written(tmp_path), "--steps", 1, "--log", f"{mine}:Broken", "--format", "json")
    warning = "the logger Broken failed in scalars at update 0 and was left out: ConnectionError: no route to host"
    assert done.status == 0 and warning in done.json["warnings"]


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize(
    ("reference", "code", "text"),
    [
        ("tensorbord", "E0953", "did you mean `tensorboard`?"),
        ("wandb", "E0953", "module:factory"),
        ("MINE:", "E0953", "no logger"),
        ("nowhere.at.all:make", "E0950", "there is no module nowhere"),
        ("MINE:Line", "E0950", "did you mean Lines?"),
        ("MINE:number.real.there", "E0950", "has no number.real.there"),
        ("MINE:number", "E0951", "makes an object of type int, which has no method start"),
        ("MINE:fails", "E0950", "MINE:fails raised FileNotFoundError: [Errno 2] No such file or directory"),
        ("missing.py:make", "E0950", "there is no file missing.py"),
        ("collections:Counter", "E0951", "makes an object of type Counter, which has no method start"),
    ],
)
def test_what_is_no_logger(reference: str, code: str, text: str, mine: str, tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "train", written(tmp_path), "--log", reference.replace("MINE", mine))
    assert done.status == 1 and f"error[{code}]" in done.err and text.replace("MINE", mine) in done.err
    assert not (tmp_path / "runs").exists()


def test_a_module_that_cannot_be_imported(mine: str, tmp_path: Path, capfd: Capture) -> None:
    for name, line, reason in (("one", "1 / 0", "ZeroDivisionError"), ("two", "raise SystemExit(9)", "SystemExit: 9")):
        (tmp_path / f"{mine}_{name}.py").write_text(line + "\n")
        done = energyc(capfd, "train", written(tmp_path), "--log", f"{mine}_{name}:make")
        assert done.status == 1 and f"raised {reason}" in done.err and "Traceback" not in done.err


@pytest.mark.slow
def test_tensorboard_is_written_and_continued(mine: str, tmp_path: Path, capfd: Capture) -> None:
    pytest.importorskip("tensorboard")
    from tests.loggers.test_tensorboard import assert_series_of, events

    assert energyc(capfd, "train", written(tmp_path), "--out", "run", "--steps=2", "--log=tensorboard").status == 0
    assert energyc(capfd, "train", "--resume", "run", "--steps", 3).status == 0
    assert_series_of(Path("run"))
    pictures = events(Path("run")).Tags()["images"]
    assert pictures == [] or "pictures/learning" in pictures
    assert load_run("run").info["loggers"] == ["tensorboard"]


@pytest.mark.slow
def test_a_resumed_run_goes_on_where_tensorboard_is_missing(
    mine: str, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    assert energyc(capfd, "train", written(tmp_path), "--out", "run", "--steps=1", "--log=tensorboard").status == 0
    monkeypatch.setitem(sys.modules, "tensorboard.plugins.text.summary_v2", None)
    done = energyc(capfd, "train", "--resume", "run", "--steps", 2)
    assert done.status == 0 and "the run logs to tensorboard no longer" in done.err
    refused = energyc(capfd, "train", written(tmp_path), "--log", "tensorboard")
    assert refused.status == 1 and "E0952" in refused.err


@pytest.mark.slow
def test_a_run_folder_names_nothing_that_is_called(mine: str, tmp_path: Path, capfd: Capture) -> None:
    assert energyc(capfd, "train", written(tmp_path), "--out", "run", "--steps", 1).status == 0
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    (tmp_path / "run" / "run.json").write_text(json.dumps({**info, "loggers": [f"{mine}:Lines", "os:abort", "wandb"]}))
    assert energyc(capfd, "train", "--resume", "run", "--steps", 2).status == 0
    assert not list(tmp_path.glob("lines-*")) and mine not in sys.modules
