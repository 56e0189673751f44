"""Completions by TAB, and that the shells themselves offer them."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from energyc.language.settings import Nudge, Relax, TrainOptions, table
from energyc.runtime.rules import RULES
from energyc.surfaces.cli.main import COMMANDS
from energyc.surfaces.cli.main import energyc as group
from tests.cli.run import ROOT, energyc, in_python, written

NAMES = ROOT / "grammar" / "names.json"
SPEC = """\
network s   # preset not_one { }
dim A = 2, B = 3,
    C = 4   # dim E = 5
dim F = f(A, x = 2), G = 2 * A, H = 1e3
const gain = 1/2
preset small { A = 1 }
preset large { A = 9 } preset huge {}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a spec and a run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.energy").write_text(SPEC)
    (tmp_path / "runs" / "s-1").mkdir(parents=True)
    (tmp_path / "runs" / "s-1" / "spec.energy").write_text(SPEC)
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a folder" / "t.energy").write_text("network t\npreset only {}\n")
    return tmp_path


@pytest.fixture
def candidates(monkeypatch: pytest.MonkeyPatch) -> object:
    """The candidates for the last word of a line."""

    def found(*words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", shlex.join(["energyc", *words]))
        items = ShellComplete(group, {}, "energyc", "_ENERGYC_COMPLETE").get_completions(list(words[:-1]), words[-1])
        return [f"<{item.type}>" if item.type != "plain" else str(item.value) for item in items]

    return found


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tr"], ["train"]),
        (["check", ""], ["<file>"]),
        (["fmt", "s.energy", "s"], ["<file>"]),
        (["eval", "runs/"], ["<dir>"]),
        (["train", "--resume", "runs/s"], ["<dir>"]),
        (["train", "--data", "oth"], ["<file>"]),
        (["check", "s.energy", "--preset", ""], ["small", "large", "huge"]),
        (["check", "--quiet", "s.energy", "--preset", "h"], ["huge"]),
        (["check", "a folder/t.energy", "--preset", ""], ["only"]),
        (["explain", "runs/s-1", "--preset", "s"], ["small"]),
        (["check", "missing.energy", "--preset", ""], []),
        (["train", "s.energy", "--set", "g"], ["gain="]),
        (["train", "s.energy", "--set", "relax.ste"], ["relax.step=", "relax.steps="]),
        (["train", "s.energy", "--rule", "cent"], ["centered-ep"]),
        (["show", "s.energy", "--stage", "f"], ["forces"]),
        (["train", "s.energy", "--log", ""], ["tensorboard"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["train", "s.energy", "--see"], ["--seed", "--seeds"]),
        (["check", "hopf"], ["hopfield", "hopfield_conv", "hopfield_pooling", "hopfield_resnet"]),
        (["check", "kuramoto", "--set", "J"], ["J="]),
        (["new", "mine", "--from", "kura"], ["kuramoto"]),
    ],
)
def test_candidates(words: list[str], expected: list[str], place: Path, candidates: object) -> None:
    assert candidates(*words) == expected  # type: ignore[operator]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_offers_files_where_it_takes_them(name: str, place: Path, candidates: object) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    metavars = "".join(str(each.metavar) for each in command.params if isinstance(each, click.Argument))
    offered = candidates(name, "")  # type: ignore[operator]
    assert ("<file>" in offered) == ("SPEC" in metavars)
    if metavars.startswith("RUN"):
        assert offered == ["<dir>"]


def test_names_that_can_be_set(place: Path, candidates: object) -> None:
    offered = candidates("train", "s.energy", "--set", "")  # type: ignore[operator]
    assert [name for name in offered if "." not in name] == ["A=", "B=", "C=", "H=", "gain="]


def test_rules_and_settings_are_those_of_their_tables(update_golden: bool) -> None:
    settings = [f"{block.word}.{name}" for block in (Relax, Nudge, TrainOptions) for name in table(block)]
    expected = json.dumps({"rules": list(RULES), "settings": settings}, indent=1) + "\n"
    if update_golden:
        NAMES.write_text(expected)
    assert NAMES.read_text() == expected


def test_presets_of_shipped_specs_are_found(candidates: object) -> None:
    for path in (ROOT / "specs").glob("*.energy"):
        written_there = re.findall(r"^preset (\w+)", path.read_text(), re.MULTILINE)
        assert candidates("check", str(path), "--preset", "") == written_there  # type: ignore[operator]


@pytest.mark.parametrize("damage", [b"\xff\xfe\x00", b"preset " * 100_000, b"(" * 200_000])
def test_no_spec_is_too_odd(damage: bytes, place: Path, candidates: object) -> None:
    (place / "odd.energy").write_bytes(damage)
    for option in ("--preset", "--set"):
        candidates("check", "odd.energy", option, "x")  # type: ignore[operator]


def test_a_tab_imports_no_more_than_it_needs(place: Path) -> None:
    heavy = "{'torch', 'sympy', 'numpy', 'lark', 'rich', 'pydantic', 'energyc.language.diagnostics'} & set(sys.modules)"
    code = (
        "import sys; from energyc.surfaces.cli import main; status = main(); "
        f"print({heavy} or 'none', status, file=sys.stderr)"
    )
    words = {"COMP_WORDS": "energyc train s.energy --set relax.ste", "COMP_CWORD": "4"}
    done = in_python(code, folder=place, _ENERGYC_COMPLETE="bash_complete", **words)
    assert (done.stdout, done.stderr) == ("plain,relax.step=\nplain,relax.steps=\n", "none 0\n")


def test_no_command_imports_more_for_its_options() -> None:
    heavy = "{'torch', 'sympy', 'numpy', 'lark', 'rich', 'pydantic', 'scipy'} & set(sys.modules)"
    names = [f"energyc.surfaces.cli.{name}_commands" for name in ("spec", "run", "study", "machine")]
    code = f"import sys, {', '.join(names)}; sys.exit(str({heavy}) if {heavy} else 0)"
    done = in_python(code)
    assert done.returncode == 0, done.stderr


def test_a_shell_that_is_not_known_gets_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    done = energyc(capfd, "completion", "csh")
    assert done.status == 2 and "bash" in done.err
    script = energyc(capfd, "completion", "bash", "--format", "json").json["script"]
    assert "_ENERGYC_COMPLETE=bash_complete" in script


# ---------------------------------------------------------------- the shells


def typed(command: list[str], lines: list[str], folder: Path) -> str:
    """The words of the last command that a shell on a terminal of its own ran, after the lines were typed."""
    programs, got = folder / "bin", folder / "got.txt"
    programs.mkdir()
    asked = '[ -n "$_ENERGYC_COMPLETE" ] || [ "$1" = completion ]'
    run = f'{asked} || {{ echo "$@" > {got}.new; mv {got}.new {got}; exit; }}'
    start = f'PYTHONPATH={ROOT} exec {sys.executable} -m energyc "$@"'
    (programs / "energyc").write_text(f"#!/bin/sh\n{run}\n{start}\n")
    (programs / "energyc").chmod(0o755)
    environ = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe(command[0], command, environ)
    try:
        shown = ""
        for line in lines:
            os.write(terminal, line.encode())
        deadline = time.monotonic() + 60
        while not got.exists() and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.05)[0]:
                shown += os.read(terminal, 4096).decode(errors="replace")
        return got.read_text() if got.exists() else shown
    finally:
        os.close(terminal)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


@pytest.mark.abridged
@pytest.mark.parametrize(
    ("shell", "options", "prepared"),
    [
        ("bash", ["--norc", "--noprofile", "-i"], 'eval "$(energyc completion bash)"\n'),
        ("zsh", ["-f", "-i"], 'autoload -U compinit; compinit -u; eval "$(energyc completion zsh)"\n'),
        ("fish", ["--no-config", "-i"], "energyc completion fish | source\n"),
    ],
)
def test_a_shell_completes(shell: str, options: list[str], prepared: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    written(tmp_path)
    line = "energyc tra\tsma\t--pres\tti\t --rule hol\taep\t\n"
    shown = typed([shell, *options], [prepared, line], tmp_path)
    assert shown == "train small.energy --preset tiny --rule holomorphic-aep\n"
