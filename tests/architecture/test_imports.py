"""Imports happen when they are needed: help, completion and ``import energyc`` need neither torch nor sympy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

COMPLETION = """
import os
os.environ["_ENERGYC_COMPLETE"] = "bash_source"
from energyc.surfaces.cli import main
try:
    main([])
except SystemExit:
    pass
"""
HEAVY = ("torch", "sympy", "scipy", "sklearn", "matplotlib")


LISTED = "import sys, json; print('@' + json.dumps(sorted(sys.modules)))"


def _run(code: str, environment: Mapping[str, str] | None = None) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def _modules(code: str) -> list[str]:
    listing = _run(f"{code}\n{LISTED}")
    modules: list[str] = json.loads(listing.rpartition("@")[2])
    return modules


def _loaded(code: str) -> set[str]:
    return {name.partition(".")[0] for name in _modules(code)}


@pytest.mark.parametrize(
    "code",
    [
        "import energyc; energyc.__version__; dir(energyc)",
        "from energyc.surfaces.cli import main; main(['--help'])",
        "from energyc.surfaces.cli import main; main(['train', '--help'])",
        "from energyc.surfaces.cli import main; main(['check', '-'])",
        COMPLETION,
    ],
)
def test_nothing_heavy_is_imported(code: str) -> None:
    assert not _loaded(code) & set(HEAVY)


def test_checking_a_spec_of_energies_imports_no_torch() -> None:
    from energyc.resources import resource as shipped

    code = f"import energyc; assert energyc.check({str(shipped('specs', 'hopfield.energy'))!r}).ok"
    assert "torch" not in _loaded(code)


#: The rooms that find proofs, plan modules and write them, and what only runs, pages and pictures need.
FINDING = ("proofs.conservativeness", "proofs.enclosures", "derivation", "code.plan", "code.loops", "checker")
BESIDE = ("pydantic", "rich", "filelock", "sympy", "scipy", "sklearn", "matplotlib", "IPython")


def _again(code: str, cache: Path) -> list[str]:
    """The modules that a program imports which ran before."""
    environment = {name: value for name, value in os.environ.items() if name != "ENERGYC_FRESH"}
    for _ in range(2):
        listing = _run(f"{code}\n{LISTED}", {**environment, "XDG_CACHE_HOME": str(cache)})
    modules: list[str] = json.loads(listing.rpartition("@")[2])
    return modules


@pytest.mark.parametrize(
    "code",
    [
        "import energyc; energyc.load('hopfield', target='torch')",
        "import energyc; assert energyc.check('hopfield').ok",
        "import energyc.pipeline as p; p.compile_spec('hopfield', targets=['torch', 'cpp'])",
    ],
)
def test_what_is_found_again_is_not_looked_for(code: str, tmp_path: Path) -> None:
    modules = _again(code, tmp_path)
    assert not [name for name in modules if name.startswith(tuple(f"energyc.{room}." for room in FINDING))]


def test_loading_a_network_imports_nothing_of_runs_and_pages() -> None:
    assert not _loaded("import energyc; energyc.load('hopfield', target='torch')") & set(BESIDE)


def test_help_imports_little() -> None:
    """Its time is that of its imports: a tenth of a second on a quiet machine."""
    listing = _modules("from energyc.surfaces.cli import main; main(['--help'])")
    assert len([name for name in listing if name.startswith("energyc")]) < 30
    assert len(listing) < 200
