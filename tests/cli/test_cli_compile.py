"""``energyc compile`` says how its modules are imported."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from energyc.code.targets import TARGETS
from tests.cli.run import energyc, written

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
    program = f"{line}\nprint(Small.__name__, 'energyc' in sys.modules)".replace("\nprint", "; import sys\nprint")
    found = subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True, text=True, timeout=120)
    assert found.stdout == "Small False\n", found.stderr
