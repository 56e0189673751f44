"""Failures that are nobody's bug: numbers that overflow, closed or full streams, names that no disk takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from energyc.language.diagnostics import UserError, arithmetic
from tests.cli.run import ROOT, SMALL, energyc, in_python, written
from tests.quick import few

Capture = pytest.CaptureFixture[str]
LONG = "n" * 300
NO_COST = "\n".join(line for line in SMALL.splitlines() if not line.startswith("cost"))


def run_shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A shell command in a folder, where ``energyc`` runs this package."""
    line = command.replace("energyc", f"{sys.executable} -m energyc", 1)
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        line, shell=True, cwd=folder, env=env, capture_output=True, text=True, errors="replace", timeout=120
    )


@pytest.mark.parametrize(
    ("edits", "doing"),
    [
        ({"adam, lr = 0.01": "rmsprop, lr = 1e300"}, "update 1 failed on numbers"),
        ({"step = 1/2": "step = 1e300"}, "the evaluation failed on numbers"),
        (
            {
                "V[J, K] ~ glorot, b[K] = 0.1": "V[J, K] = 0, b[K] = 0",
                "y[K] in [0, 1]": "y[K]",
                "1/2 * sum[k](y[k]^2)": "sum[k](abs(y[k])^(3/2))",  # y rests where its curvature is infinite
            },
            "update 1 failed on numbers: the implicit solve",
        ),
    ],
)
def test_numbers_that_overflow_while_training(
    edits: dict[str, str], doing: str, tmp_path: Path, capfd: Capture
) -> None:
    text = SMALL.replace("centered-ep", "implicit")
    for old, new in edits.items():
        text = text.replace(old, new)
    path = written(tmp_path, text)
    done = energyc(capfd, "train", path, "--out", tmp_path / "run", "--quiet")
    assert done.status == 1
    assert f"error[E0515]: {doing}" in done.err, done.err


def test_only_what_numbers_do_is_no_bug() -> None:
    for error in (ZeroDivisionError("division by zero"), RuntimeError("the input matrix is singular")):
        with pytest.raises(UserError, match="the sum failed on numbers") as caught, arithmetic("the sum"):
            raise error
        assert caught.value.code == "E0515"
    with pytest.raises(UserError, match=r"linalg\.inv: .* singular"), arithmetic("the inverse"):
        torch.linalg.inv(torch.zeros(2, 2))
    for bug in (RuntimeError("The size of tensor a (3) must match"), TypeError("not finite"), KeyError("overflow")):
        with pytest.raises(type(bug)), arithmetic("the sum"):
            raise bug


def test_training_needs_a_cost(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, NO_COST)
    assert "small has no cost" in energyc(capfd, "check", path).out
    done = energyc(capfd, "train", path, "--out", tmp_path / "run")
    assert done.status == 1
    assert "error[E0516]: small has no cost" in done.err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["energyc check small.energy", "energyc check small.energy --format json"])
def test_a_full_output(command: str, tmp_path: Path) -> None:
    written(tmp_path)
    done = run_shell(f"{command} > /dev/full", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("error[E0906]: cannot write the output: No space left on device"), done.stderr
    assert run_shell(f"{command} > /dev/full 2> /dev/full", tmp_path).returncode == 1


@pytest.mark.slow
def test_closed_streams(tmp_path: Path) -> None:
    written(tmp_path)
    assert run_shell("energyc check small.energy >&-", tmp_path).returncode == 0
    assert run_shell("energyc check nowhere.energy 2>&-", tmp_path).returncode == 1
    done = run_shell("energyc check - <&-", tmp_path)
    assert done.returncode == 1
    assert "error[E0901]: standard input is closed" in done.stderr


@pytest.mark.abridged
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_description_that_the_terminal_cannot_encode(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "small.energy").write_text("# Zwölf → eins\n" + SMALL, encoding="utf-8")
    done = run_shell("energyc check small.energy", tmp_path, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert "network small: Zw" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", LONG),
        ("new", LONG),
        ("eval", LONG),
        ("train", "--resume", LONG),
        ("train", "small.energy", "--out", LONG),
        ("explain", "small.energy", "-o", f"{LONG}.md"),
    ],
)
def test_names_that_no_disk_takes(
    arguments: tuple[str, ...], tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = energyc(capfd, *arguments)
    assert done.status == 1
    assert "File name too long" in done.err, done.err


#: Commands one after another in one process, whose streams and arguments are those of a terminal.
ONE_BY_ONE = """
import sys
from energyc.surfaces.cli import main
spec, run = sys.argv[1:]
commands = ["check", "fmt", "explain", f"train --steps 1 --out|{run}", "verify"]
lines = [[*c.partition("|")[0].split(), *filter(None, c.partition("|")[2:]), spec] for c in commands]
lines += [[*command.split(), run] for command in ("train --steps 2 --resume", "eval", "plot", "verify")]
sys.exit(next((str(line) for line in lines if main(line) != 0), 0))
"""


@pytest.mark.slow
def test_paths_that_are_not_utf8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"f\xff")
    folder.mkdir()
    (folder / "small.energy").write_text(SMALL)
    done = in_python(ONE_BY_ONE, folder / "small.energy", folder / "run", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "run" / "run.json").read_text())["network"] == "small"


#: Four processes that begin at the same moment, with everything imported by a first run.
AT_ONCE = """
import os, sys
from energyc.surfaces.cli import main
command = ["train", "small.energy", "--steps", "1", "--quiet"]
main([*command, "--out", "first"])
begun = []
for _ in range(4):
    if (child := os.fork()) == 0:
        os._exit(main(command))
    begun.append(child)
sys.exit(sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in begun))
"""


@pytest.mark.slow
def test_several_runs_begun_at_once_take_a_folder_each(tmp_path: Path) -> None:
    written(tmp_path)
    done = in_python(AT_ONCE, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [f"small-{k}" for k in range(1, 5)]


def test_a_run_that_never_begins_leaves_no_folder(
    tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, SMALL.replace("step = 1/2", "step = 1e300"))
    monkeypatch.chdir(tmp_path)
    assert energyc(capfd, "train", path).status == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_resumed_run_remembers_where_it_came_from(tmp_path: Path, capfd: Capture) -> None:
    path, run = written(tmp_path), tmp_path / "run"
    flags = ("--preset", "tiny", "--set", "relax.steps=11", "--steps", "1")
    assert energyc(capfd, "train", path, *flags, "--out", run, "--quiet").status == 0
    before = json.loads((run / "run.json").read_text())
    assert before["overrides"] == {"relax.steps": "11"} and before["preset"] == "tiny"
    assert energyc(capfd, "train", "--resume", run, "--steps", "2", "--quiet").status == 0
    after = json.loads((run / "run.json").read_text())
    assert {key: after[key] for key in ("spec", "preset", "overrides")} == {
        "spec": str(path),
        "preset": "tiny",
        "overrides": {"relax.steps": "11"},
    }


@pytest.mark.parametrize("seeds", ["[]", "[0]", "[-1]", "[1e300]", f"[{10**30}]", '"0"'])
def test_a_folder_of_seeds_without_seeds(seeds: str, tmp_path: Path, capfd: Capture) -> None:
    (tmp_path / "summary.json").write_text(f'{{"seeds": {seeds}}}')
    done = energyc(capfd, "train", "--resume", tmp_path)
    assert done.status == 1
    assert "error[E0511]" in done.err, done.err


NUMERIC = (
    *("relax.step", "relax.step.s", "relax.tolerance", "relax.explosion", "nudge.beta", "nudge.radius"),
    *("train.lr", "train.lr.W", "train.weight_decay", "train.eps", "train.clip", "train.gate"),
    *("train.residual_defence",),
)


@pytest.mark.abridged
@pytest.mark.parametrize("value", few(["1e300", "1e30", "1e-300"], ["1e300"]))
@pytest.mark.parametrize("name", few(NUMERIC, ("relax.step", "relax.tolerance", "nudge.beta", "train.lr")))
def test_an_extreme_setting_is_named_where_training_fails(
    name: str, value: str, tmp_path: Path, capfd: Capture
) -> None:
    """It may also do no harm; where it does, it is named, and nothing is called a bug."""
    done = energyc(capfd, "train", written(tmp_path, SMALL), "--out", tmp_path / "run", "--set", f"{name}={value}")
    assert done.status in (0, 1, 3), done.err
    assert done.status == 0 or f"{name} = {float(value):g}" in done.err, done.err


@pytest.mark.abridged
@pytest.mark.parametrize(("name", "status"), [("train.lr", 3), ("relax.step", 1), ("nudge.beta", 0)])
def test_extreme_settings_that_do_harm(name: str, status: int, tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "train", written(tmp_path, SMALL), "--out", tmp_path / "run", "--set", f"{name}=1e300")
    assert done.status == status and f"look at {name} = 1e+300" in done.out + done.err


@pytest.mark.slow
def test_a_warning_of_python_is_one_line_without_a_place_in_the_code(tmp_path: Path) -> None:
    shared = tmp_path / "cache" / "energyc"
    shared.mkdir(parents=True)
    shared.chmod(0o777)
    written(tmp_path)
    command = "energyc train small.energy --target cpp --steps 1"
    done = run_shell(command, tmp_path, XDG_CACHE_HOME=str(shared.parent))
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "nothing is kept" in line]
    assert line.startswith("warning: nothing is kept for another process: others may write into ")


# ---------------------------------------------------------------- the end of a process


#: What libraries leave behind: an object that speaks when the interpreter frees it, an exit function, a thread.
LEFT_BEHIND = """
import atexit, os, sys, threading, time, types
{before}
import energyc.surfaces.cli
def main():
    sys.modules["loud"] = types.SimpleNamespace(loud=Loud())
    atexit.register(lambda: print("exit function"))
    threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
    return energyc.surfaces.cli.main()
class Loud:
    def __del__(self):
        os.write(2, b"leaked\\n")
sys.argv = ["energyc", *{arguments}]
sys.modules["energyc.surfaces.cli.main"].main = main
energyc.surfaces.cli.process()
"""


@pytest.mark.parametrize(("arguments", "status"), [(["list", "tsallis-free"], 1), (["--version"], 0), (["nope"], 2)])
def test_a_process_ends_without_a_word_of_libraries(arguments: list[str], status: int) -> None:
    done = in_python(LEFT_BEHIND.format(before="", arguments=arguments))
    assert done.returncode == status
    lines = done.stdout.splitlines()
    assert "thread" in lines and lines[-1] == "exit function"
    assert "leaked" not in done.stderr


def test_no_exit_function_is_left_out() -> None:
    before = "import atexit; atexit.register(lambda: print('profiler'))"
    done = in_python(LEFT_BEHIND.format(before=before, arguments=["--version"]))
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and "thread" in lines and lines[-2:] == ["exit function", "profiler"]
