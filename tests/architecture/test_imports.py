"""Imports happen when they are needed: help, completion and ``import energyc`` need neither torch nor sympy."""

from __future__ import annotations

import json
import subprocess
import sys

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


def _run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def _modules(code: str) -> list[str]:
    listing = _run(f"{code}\nimport sys, json; print('@' + json.dumps(sorted(sys.modules)))")
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


def test_help_imports_little() -> None:
    """Its time is that of its imports: a tenth of a second on a quiet machine."""
    listing = _modules("from energyc.surfaces.cli import main; main(['--help'])")
    assert len([name for name in listing if name.startswith("energyc")]) < 30
    assert len(listing) < 200
