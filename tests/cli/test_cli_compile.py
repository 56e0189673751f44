"""``energyc compile`` says how its modules are imported."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from energyc.code.targets import TARGETS
from tests.cli.run import energyc, in_python, written

Capture = pytest.CaptureFixture[str]
#: Folders as they may be given, of which the last is absolute.
FOLDERS = (".", "modules", "a 'folder' with \"quotes\"", "../beside", "{}/elsewhere")
NEEDED = {"jax": "jax", "triton": "triton"}


@pytest.mark.parametrize(("target", "folder"), [*((t, "modules") for t in TARGETS), *(("torch", f) for f in FOLDERS)])
def test_the_last_line_imports_the_module(
    target: str, folder: str, tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if target in NEEDED and importlib.util.find_spec(NEEDED[target]) is None:
        pytest.skip(f"{target} is not installed")
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.chdir(place)
    options = ("compile", written(place), "--target", target, "-o", folder.format(tmp_path))
    done = energyc(capfd, *options)
    line = done.err.splitlines()[-1].removeprefix("in Python: ")
    assert done.status == 0 and energyc(capfd, *options, "--format", "json").json["files"][0]["import"] == line
    found = in_python(f"{line}\nprint(Small.__name__)", folder=place)
    assert found.stdout == "Small\n", found.stderr


@pytest.mark.parametrize("target", TARGETS)
def test_show_prints_the_file_that_compile_writes(target: str, tmp_path: Path, capfd: Capture) -> None:
    path = written(tmp_path)
    assert energyc(capfd, "compile", path, "--target", target, "-o", tmp_path).status == 0
    shown = energyc(capfd, "show", path, "--stage", target)
    assert shown.status == 0 and shown.out == (tmp_path / f"small_{target}.py").read_text()


@pytest.mark.parametrize("runtime", ["import", "full", "copy"])
def test_the_option_of_earlier_versions_warns(runtime: str, tmp_path: Path, capfd: Capture) -> None:
    done = energyc(capfd, "compile", written(tmp_path), "--runtime", runtime, "-o", tmp_path)
    assert done.status == 0 and f"--runtime {runtime}" in done.err.splitlines()[0]
    assert ("--standalone" in done.err.splitlines()[0]) == (runtime != "import")
    assert "--runtime" not in energyc(capfd, "compile", "--help").out
