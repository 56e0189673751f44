"""Files that a user owns are replaced whole or not at all."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from energyc.language.diagnostics import UserError
from energyc.language.syntax import read
from energyc.surfaces.api.files import write_text
from tests.cli.run import SMALL, energyc, written

Capture = pytest.CaptureFixture[str]
UNFORMATTED = SMALL.replace("param W[I, J]", "param   W[ I,J ]")


def _with_files_of_at_most(size: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A command where no file may grow beyond ``size`` bytes, which fails a write as a full disk does."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    command = [sys.executable, "-m", "energyc", *map(str, arguments)]
    return subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, timeout=120)


def test_fmt_leaves_a_spec_as_it_was_where_the_disk_is_full(tmp_path: Path) -> None:
    path = written(tmp_path, UNFORMATTED)
    done = _with_files_of_at_most(100, "fmt", path)
    assert "error[E0906]" in done.stderr and "File too large" in done.stderr, done.stderr
    assert path.read_text() == UNFORMATTED
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.slow
def test_explain_and_compile_keep_what_was_there(tmp_path: Path) -> None:
    path = written(tmp_path)
    for name, arguments in (
        ("notes.md", ("explain", "-o", tmp_path / "notes.md")),
        ("small_torch.py", ("compile", "-o", tmp_path)),
    ):
        before = tmp_path / name
        before.write_text("mine")
        assert "error[E0906]" in _with_files_of_at_most(100, arguments[0], path, *arguments[1:]).stderr
        assert before.read_text() == "mine"


def test_fmt_keeps_the_mode_and_follows_a_link(tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path, UNFORMATTED)
    path.chmod(0o640)
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.energy"
    link.symlink_to(path)
    assert energyc(capfd, "fmt", link).status == 0
    assert link.is_symlink() and path.read_text() == energyc(capfd, "fmt", "-", stdin=UNFORMATTED).out
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_mode_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    assert write_text(tmp_path / "new", "x").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    assert write_text(tmp_path / ("n" * 250), "x").read_text() == "x"
    with pytest.raises(UserError, match="File name too long"):
        write_text(tmp_path / ("n" * 300), "x")


def test_what_cannot_be_replaced_is_written_to(capfd: Capture) -> None:
    write_text(Path("/dev/stdout"), "text")
    assert capfd.readouterr().out == "text"


def test_a_path_with_a_line_break_is_a_path(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    done = energyc(capfd, "check", tmp_path / "a\nb.energy")
    assert done.status == 1 and "there is no file" in done.err
    assert energyc(capfd, "check", written(tmp_path, name="a\nb")).status == 0


def test_fmt_writes_utf8_whatever_the_terminal(tmp_path: Path) -> None:
    spec = "# Hopfield, état: é → ∂E\nnetwork n\nstate z\nenergy e = z^2\n".encode()
    command = [sys.executable, "-m", "energyc", "fmt", "-"]
    done = subprocess.run(command, input=spec, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0 and done.stdout.startswith("# Hopfield, état: é → ∂E\n".encode())


def test_a_pipe_that_nobody_writes_to(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe.energy"
    os.mkfifo(pipe)
    done = energyc(capfd, "fmt", pipe)
    assert done.status == 1 and f"error[E0901]: {pipe} is a named pipe that nobody writes to" in done.err


@pytest.mark.parametrize("named", [True, False])
def test_a_pipe_that_is_written_to_late(
    named: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A named pipe may find its writer within some seconds; that of a shell has one, however late it writes."""
    monkeypatch.setattr(read, "WAIT", 30.0 if named else 0.1)
    path = tmp_path / "pipe.energy"
    os.mkfifo(path)
    end, beginning = (None, path) if named else os.pipe()

    def write() -> None:
        time.sleep(0.5)
        with open(beginning, "w") as file:
            file.write(SMALL)

    writer = threading.Thread(target=write)
    writer.start()
    assert energyc(capfd, "fmt", "--check", path if named else f"/dev/fd/{end}").status == 0
    writer.join()
