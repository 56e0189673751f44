"""Every command of benchmarks/ starts: as its docstring and the pages write it."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import energyc

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(path for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text())
#: Those that pages or docstrings run by their path, and not as modules.
SCRIPTS = sorted(
    path
    for path in COMMANDS
    if re.search(rf"python benchmarks/{path.name}", path.read_text() + (ROOT / "benchmarks" / "README.md").read_text())
)
STARTS = "import runpy, sys; sys.path[0] = sys.argv[2]; runpy.run_path(sys.argv[1], run_name='started')"


@pytest.mark.parametrize("path", [p for p in COMMANDS if p not in SCRIPTS], ids=lambda path: path.stem)
def test_as_a_module(path: Path) -> None:
    try:
        importlib.import_module(f"benchmarks.{path.stem}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in ("benchmarks", "energyc", *(p.stem for p in COMMANDS)):
            raise
        pytest.skip(f"{error.name} is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_as_a_script(path: Path) -> None:
    command = [sys.executable, "-c", STARTS, str(path), str(path.parent)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=_environment())
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_edges_run() -> None:
    command = [sys.executable, "benchmarks/edges.py", "--nodes", "50", "--edges", "200"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=_environment())
    figures = re.findall(r"^(generated|by hand) +(step|gradient) .*?(\|.*)$", done.stdout, re.MULTILINE)
    assert len(figures) == 4, done.stdout + done.stderr
    norms = {(way, what): re.findall(r"\|(\w+)\| = ([\d.e-]+)", text) for way, what, text in figures}
    for what in ("step", "gradient"):
        own, other = (dict(norms[way, what]) for way in ("generated", "by hand"))
        assert own.keys() == other.keys()
        assert all(float(own[name]) == pytest.approx(float(other[name]), rel=1e-4) for name in own)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(energyc.__file__).parents[1])}
