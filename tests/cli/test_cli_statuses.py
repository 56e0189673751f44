"""How commands end, and that no traceback is ever shown unasked."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from energyc.surfaces.cli.main import COMMANDS
from energyc.surfaces.cli.main import energyc as group
from energyc.surfaces.report import check
from tests.cli.run import LANGUAGE, SMALL, UNTIED, energyc, written

Capture = pytest.CaptureFixture[str]


def test_every_command_has_help(capfd: Capture) -> None:
    listing = energyc(capfd, "--help")
    assert listing.status == 0
    for name in COMMANDS:
        assert name in listing.out
        assert energyc(capfd, name, "--help").status == 0


def test_wrong_usage_is_2_and_names_the_nearest_command(tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "chekc", "x")
    assert done.status == 2
    assert "Did you mean 'check'?" in done.err
    assert energyc(capfd, "check").status == 2
    assert energyc(capfd, "check", "--colour", "x").status == 2
    assert energyc(capfd, "train").status == 2
    (tmp_path / "run.json").write_text("{}")
    changed = energyc(capfd, "train", "--resume", tmp_path, "--rule", "ep", "--set", "J=3")
    assert changed.status == 2
    assert "--resume cannot change --rule, --set" in changed.err


def test_errors_of_a_spec_go_to_standard_error(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, SMALL.replace("x[i] * W[i,j]", "x[i] * Q[i,j]").replace("metric accuracy", "metric mse"))
    done = energyc(capfd, "check", path)
    assert done.status == 1
    assert done.out == ""
    assert done.err.count("error[") >= 2, done.err
    assert f"{path}:10" in done.err


def test_errors_of_a_spec_as_json(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, SMALL.replace("W[i,j]", "Q[i,j]"))
    for command in ("check", "compile", "train", "explain"):
        done = energyc(capfd, command, path, "--format", "json")
        assert done.status == 1
        (diagnostic,) = [d for d in done.json["diagnostics"] if d["severity"] == "error"]
        assert diagnostic["line"] == 10
        assert diagnostic["file"] == str(path)
        assert {"code", "message", "column", "end_line", "end_column", "help", "related"} <= diagnostic.keys()


def test_our_bug_is_70_and_says_so(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr("energyc.code.targets.torch.target.TorchTarget.module", broken)
    path = written(tmp_path)
    done = energyc(capfd, "compile", path, "-o", tmp_path)
    assert done.status == 70
    assert "this is a bug in energyc" in done.err
    assert "stage: emit" in done.err
    assert str(path) in done.err
    assert "a wheel came off" in done.err
    assert "Traceback" not in done.err
    assert "Traceback" in energyc(capfd, "compile", path, "-o", tmp_path, "--debug").err


def test_an_interruption_is_130(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "check_source", interrupted)
    done = energyc(capfd, "check", written(tmp_path))
    assert (done.status, done.err.strip()) == (130, "interrupted")


def test_a_divergence_is_3(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, SMALL.replace(" in [0, 1]", "").replace("lr = 0.01", "lr = 1e30"))
    done = energyc(capfd, "train", path, "--out", tmp_path / "run", "--quiet")
    assert done.status == 3, done
    assert "diverged" in done.err and "look at train.lr = 1e+30" in done.err
    assert (tmp_path / "run" / "checkpoints").is_dir()
    told = energyc(capfd, "train", path, "--out", tmp_path / "other", "--format", "json")
    assert told.status == 3
    assert told.json["stopped"] == "diverged" and told.json["checkpoint"] == 0 and told.json["help"]


def test_sizes_that_do_not_fit_the_data_are_refused_by_train(tmp_path: Path, capfd: Capture) -> None:
    path, run = written(tmp_path), tmp_path / "run"
    assert energyc(capfd, "check", path, "--set", "I=100").status == 0
    done = energyc(capfd, "train", path, "--set", "I=100", "--out", run)
    assert done.status == 1 and "error[E0603]" in done.err and "digits.image" in done.err
    assert "set the options of `data digits` too, --set digits.OPTION=V" in done.err
    assert not run.exists()
    assert energyc(capfd, "train", path, "--set", "digits.side=10", "--out", run).status == 1
    both = ("--set", "digits.side=10", "--set", "I=100", "--steps", "1", "--target", "torch", "--quiet")
    assert energyc(capfd, "train", path, *both, "--out", run).status == 0
    assert "data digits = digits(side = 10)" in (run / "spec.energy").read_text()
    assert energyc(capfd, "eval", run).status == 0


OF_100_PIXELS = """
import numpy as np

def samples():
    random = np.random.default_rng(0)
    return {"image": random.random((30, 100), dtype=np.float32), "label": random.integers(0, 10, 30)}
"""


@pytest.mark.slow
def test_data_of_a_program_have_the_sizes_that_were_set(tmp_path: Path, capfd: Capture) -> None:
    """By the names of the fields, whatever the options of the spec's data line; the run keeps the sizes."""
    path, run = written(tmp_path), tmp_path / "run"
    (tmp_path / "mine.py").write_text(OF_100_PIXELS)
    data = ("--data", f"{tmp_path / 'mine.py'}:samples")
    done = energyc(capfd, "train", path, *data, "--set", "I=100", "--steps", "2", "--out", run)
    assert done.status == 0, done.err
    assert energyc(capfd, "eval", run, *data, "--format", "json").json["samples"] == 6
    assert energyc(capfd, "train", "--resume", run, *data, "--steps", "3").status == 0
    other = energyc(capfd, "train", path, *data, "--set", "I=81", "--out", tmp_path / "other")
    assert other.status == 1 and "error[E0932]" in other.err and "[samples, 81]" in other.err


def test_rules_are_held_against_the_network(tmp_path: Path, capfd: Capture) -> None:
    small, untied = written(tmp_path), written(tmp_path, UNTIED, "untied")
    unknown = energyc(capfd, "compile", small, "--rule", "centred-ep")
    assert unknown.status == 1
    assert "did you mean centered-ep?" in unknown.err
    biased = energyc(capfd, "train", untied, "--rule", "centered-ep", "--out", tmp_path / "run")
    assert biased.status == 1
    assert "error[E0921]" in biased.err
    assert "because of ffn" in biased.err
    assert "--allow-biased" in biased.err


def test_settings_from_outside(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path)
    assert energyc(capfd, "check", path, "--set", "J=5", "--format", "json").json["dims"]["J"] == 5
    assert energyc(capfd, "check", path, "--preset", "tiny", "--format", "json").json["dims"]["J"] == 3
    both = energyc(capfd, "check", path, "--preset", "tiny", "--set", "J=4", "--format", "json")
    assert both.json["dims"]["J"] == 4
    for wrong in ("J", "J=", "=3", "J=1 } energy e = 0 preset q { J = 2", "J=__import__('os')"):
        done = energyc(capfd, "check", path, "--set", wrong)
        assert done.status == 1, wrong
        assert "error[E0905]" in done.err, done.err
    assert "did you mean" in energyc(capfd, "check", path, "--set", "relax.stps=3").err


def test_train_settings_that_do_not_fit_are_all_shown_with_their_places(tmp_path: Path, capfd: Capture) -> None:
    path = written(
        tmp_path, SMALL.replace("optimizer = adam,", "gate = -2,\n  penalty = jacobian(target = 0), betas = [1],")
    )
    for arguments in (("check", path), ("train", path, "--out", tmp_path / "run")):
        done = energyc(capfd, *arguments)
        assert done.status == 1
        assert done.err.count("error[E0502]") == 3
        assert all(f"{path}:{place}" in done.err for place in ("16:29", "17:3", "17:35")), done.err
        assert "the target of `train.penalty` is a positive number, not `0`" in done.err
    set_outside = energyc(
        capfd, "check", written(tmp_path), "--set", "train.gate=[1,2]", "--set", "relax.step=[1,f(a=2)]"
    )
    assert "`train.gate` is a positive number, not `[1, 2]`" in set_outside.err
    assert "`relax.step` is a positive number, auto or certified, not `[1, f(a = 2)]`" in set_outside.err


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ("", "E0903", "--data '' gives no path"),
        ("digits=", "E0903", "--data digits= gives no path"),
        ("foo=there.txt", "E0903", "write --data digits=PATH"),
        ("a/b=c", "E0913", "a/b=c: not found"),
    ],
)
def test_data_that_is_not_clear(given: str, code: str, said: str, tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "train", written(tmp_path), "--data", given, "--out", tmp_path / "run")
    assert done.status == 1
    assert f"error[{code}]" in done.err and said in done.err, done.err


@pytest.mark.slow
def test_what_a_run_was_made_with_is_gone(tmp_path: Path, capfd: Capture) -> None:
    run, text, moved = tmp_path / "run", tmp_path / "text.txt", tmp_path / "moved.txt"
    text.write_text("To be or not to be, that is the question. " * 40)
    spec = written(tmp_path, LANGUAGE, "chars")
    folder = energyc(capfd, "train", spec, "--data", tmp_path, "--out", run)
    assert "error[E0913]" in folder.err and f"{tmp_path}: a folder; expected a text file" in folder.err
    assert energyc(capfd, "train", spec, "--data", text, "--out", run, "--quiet").status == 0
    text.rename(moved)
    for command in (("train", "--resume", run), ("eval", run), ("plot", run)):
        gone = energyc(capfd, *command)
        assert gone.status == 1
        assert f"made with the data text from {text}" in gone.err and "--data text=PATH" in gone.err, gone.err
    assert energyc(capfd, "eval", run, "--data", f"text={moved}").status == 0
    moved.write_text(moved.read_text().replace("not", "nut"))
    other = energyc(capfd, "train", "--resume", run, "--data", moved)
    assert other.status == 1
    assert "error[E0520]: the data text are not those that the run" in other.err
    (run / "metrics.jsonl").unlink()
    lost = energyc(capfd, "plot", run, "--data", moved)
    assert lost.status == 1
    assert "metrics.jsonl are gone" in lost.err and "--resume" not in lost.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("sample", "run", "--temperature", "nan"),
        ("sample", "run", "--temperature", "inf"),
        ("sample", "run", "--seed", "99999999999999999999999"),
        ("train", "spec", "--seed", "99999999999999999999"),
        ("bench", "spec", "--seconds", "inf"),
    ],
)
def test_numbers_that_nothing_can_be_done_with(arguments: tuple[str, ...], capfd: Capture) -> None:
    done = energyc(capfd, *arguments)
    assert done.status == 2
    assert f"Invalid value for '{arguments[2]}': {arguments[3]} is not" in done.err


def test_colour_is_asked_for_or_not(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    assert "\x1b[" in energyc(capfd, "check", path, "--color", "always").out
    assert "\x1b[" not in energyc(capfd, "check", path).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" in energyc(capfd, "check", path, "--color=always").out


def test_standard_input(capfd: Capture) -> None:
    done = energyc(capfd, "check", "-", "--format", "json", stdin=SMALL)
    assert done.status == 0
    assert done.json["network"] == "small"
    assert energyc(capfd, "check", "-", stdin="").status == 1


@pytest.mark.slow
def test_ctrl_c_while_training_saves_and_says_how_to_resume(tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ["train", str(written(tmp_path)), "--steps", "100000", "--out", str(run), "--set", "train.log_every=1"]
    process = subprocess.Popen([sys.executable, "-m", "energyc", *arguments], stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not (run / "metrics.jsonl").exists() or not (run / "metrics.jsonl").read_text().count('"train"'):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert f"energyc train --resume {run}" in said
    assert "Traceback" not in said


def test_divergence_at_the_edge_of_a_box_names_what_reads_it(tmp_path: Path, capfd: Capture) -> None:
    cost = "cost likelihood = -sum[k](where(k == label, log(y[k]), 0))"
    spec = re.sub(r"cost mse = .*", cost, SMALL).replace("b[K] = 0.1", "b[K] = -1")
    note = "the cost takes log of 0 at y = 0, the edge of its set, where the slope of log is infinite"
    assert note in energyc(capfd, "check", written(tmp_path, spec)).out
    done = energyc(capfd, "train", written(tmp_path, spec), "--out", tmp_path / "run")
    assert done.status == 3 and "lower lr" not in done.err
    assert note in done.err and "a set that ends short of the edge" in done.err


# ---------------------------------------------------------------- documentation


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "interface.md").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_its_options_are_documented(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert f"`energyc {name}" in PAGE
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[-1] in PAGE, parameter.opts
