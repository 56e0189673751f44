"""Completions by TAB, and that the shells themselves offer them."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from energyc.language.settings import Nudge, Relax, TrainOptions, table
from energyc.runtime.rules import RULES
from energyc.surfaces.cli.candidates import rule_names, setting_names
from energyc.surfaces.cli.main import COMMANDS
from energyc.surfaces.cli.main import energyc as group
from energyc.surfaces.cli.shells import SCRIPTS, candidates
from tests.cli.run import energyc, written

ROOT = Path(__file__).resolve().parents[2]
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
    """A working directory with specs, a run and other things."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.energy").write_text(SPEC)
    for folder in ("runs/s-1", "runs/s-2", "runs/notes", ".hidden", "a folder"):
        (tmp_path / folder).mkdir(parents=True)
    for run in ("s-1", "s-2"):
        (tmp_path / "runs" / run / "run.json").write_text("{}")
    (tmp_path / "runs" / "s-1" / "spec.energy").write_text(SPEC)
    (tmp_path / "a folder" / "t.energy").write_text("network t\npreset only {}\n")
    (tmp_path / "other.txt").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tr"], ["train"]),
        (["check", ""], ["a\\ folder/", "runs/", "s.energy"]),
        (["fmt", "s.energy", "s"], ["s.energy"]),
        (["eval", ""], ["a\\ folder/", "runs/"]),
        (["eval", "runs/"], ["runs/notes/", "runs/s-1", "runs/s-2"]),
        (["verify", "runs/s-2"], ["runs/s-2"]),
        (["train", "--resume", "runs/s"], ["runs/s-1", "runs/s-2"]),
        (["train", "--data", "digits", "=", "oth"], ["other.txt"]),
        (["check", "s.energy", "--preset", ""], ["small", "large", "huge"]),
        (["check", "--quiet", "s.energy", "--preset", "=", "h"], ["huge"]),
        (["check", '"a folder/t.energy"', "--preset", ""], ["only"]),
        (["check", "a\\ folder/t"], ["a\\ folder/t.energy"]),
        (["explain", "runs/s-1", "--preset", "s"], ["small"]),
        (["check", "missing.energy", "--preset", ""], []),
        (["train", "s.energy", "--set", "g"], ["gain="]),
        (["train", "s.energy", "--set", "relax.ste"], ["relax.step=", "relax.steps="]),
        (["train", "s.energy", "--set", "relax.step", "=", "0.1"], []),
        (["train", "s.energy", "--rule", "cent"], ["centered-ep"]),
        (["show", "s.energy", "--stage", "f"], ["forces"]),
        (["train", "s.energy", "--log", ""], ["tensorboard"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["train", "s.energy", "--see"], ["--seed", "--seeds"]),
        (["check", "hopf"], ["hopfield", "hopfield_conv", "hopfield_pooling", "hopfield_resnet"]),
        (["check", "kuramoto", "--set", "J"], ["J="]),
        (["new", "mine", "--from", "kura"], ["kuramoto"]),
        (["nonsense", ""], []),
    ],
)
def test_candidates_in_bash(words: list[str], expected: list[str], place: Path) -> None:
    if words[0] == "nonsense":
        expected = list(COMMANDS)  # as in any group, whose command is still missing
    assert candidates(group, "bash", ["energyc", *words]) == expected


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_offers_specs_and_runs_where_it_takes_them(name: str, place: Path) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    metavars = "".join(str(each.metavar) for each in command.params if isinstance(each, click.Argument))
    offered = candidates(group, "bash", ["energyc", name, ""])
    assert ("s.energy" in offered) == ("SPEC" in metavars)
    if "RUN" in metavars:
        assert "runs/s-1" in candidates(group, "bash", ["energyc", name, "runs/"])


def test_names_that_can_be_set(place: Path) -> None:
    offered = candidates(group, "bash", ["energyc", "train", "s.energy", "--set", ""])
    assert [name for name in offered if "." not in name] == ["A=", "B=", "C=", "H=", "gain="]


def test_what_has_a_description_shows_it(place: Path) -> None:
    assert candidates(group, "fish", ["energyc", "check", "--qu"]) == ["--quiet\tPrint the result only."]
    assert candidates(group, "zsh", ["energyc", "check", "--qu"]) == ["--quiet:Print the result only."]
    (place / "with:colon.energy").write_text("")
    assert candidates(group, "zsh", ["energyc", "check", "with"]) == ["with\\:colon.energy"]
    assert candidates(group, "zsh", ["energyc", "check", "s.energy", "--preset=s"]) == ["--preset=small"]


def test_a_home_is_expanded_and_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(place))
    assert candidates(group, "bash", ["energyc", "check", "~/s"]) == ["~/s.energy"]


def test_rules_and_settings_are_those_of_their_tables() -> None:
    assert set(rule_names()) == set(RULES)
    blocks = {block.word: set(table(block)) for block in (Relax, Nudge, TrainOptions)}
    assert set(setting_names()) == {f"{word}.{name}" for word, names in blocks.items() for name in names}


def test_presets_of_shipped_specs_are_found() -> None:
    for path in (ROOT / "specs").glob("*.energy"):
        written_there = re.findall(r"^preset (\w+)", path.read_text(), re.MULTILINE)
        assert candidates(group, "bash", ["energyc", "check", str(path), "--preset", ""]) == written_there


@pytest.mark.parametrize("damage", [b"\xff\xfe\x00", b"preset " * 100_000, b"(" * 200_000])
def test_no_spec_is_too_odd(damage: bytes, place: Path) -> None:
    (place / "odd.energy").write_bytes(damage)
    for option in ("--preset", "--set"):
        candidates(group, "bash", ["energyc", "check", "odd.energy", option, "x"])


def test_a_tab_imports_no_more_than_it_needs(place: Path) -> None:
    heavy = "{'torch', 'sympy', 'numpy', 'lark', 'rich', 'pydantic', 'energyc.language.diagnostics'} & set(sys.modules)"
    code = (
        "import sys; from energyc.surfaces.cli import main; status = main(); "
        f"print({heavy} or 'none', status, file=sys.stderr)"
    )
    words = "".join(f"{word}\n" for word in ("energyc", "train", "s.energy", "--set", "relax.ste"))
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "_ENERGYC_COMPLETE": "bash", "COMP_WORDS": words}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("relax.step=\nrelax.steps=\n", "none 0\n")


def test_no_command_imports_more_for_its_options() -> None:
    heavy = "{'torch', 'sympy', 'numpy', 'lark', 'rich', 'pydantic', 'scipy'} & set(sys.modules)"
    names = [f"energyc.surfaces.cli.{name}_command" for name in COMMANDS]
    code = f"import sys, {', '.join(names)}; sys.exit(str({heavy}) if {heavy} else 0)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_shell_that_is_not_known_gets_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    done = energyc(capfd, "completion", "csh")
    assert done.status == 2 and "bash" in done.err
    assert energyc(capfd, "completion", "bash", "--format", "json").json["script"] == SCRIPTS["bash"]


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
    (tmp_path / "runs" / "a-1").mkdir(parents=True)
    (tmp_path / "runs" / "a-1" / "run.json").write_text("{}")
    line = "energyc tra\tsma\t--pres\tti\t--set relax.mea\tresidual --target=cp\t--resume ru\ta\t--rule hol\taep\t\n"
    shown = typed([shell, *options], [prepared, line], tmp_path)
    values = "--set relax.measure=residual --target=cpp --resume runs/a-1 --rule holomorphic-aep"
    assert shown == f"train small.energy --preset tiny {values}\n"
