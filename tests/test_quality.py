"""Style and types are part of the test run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("command", [["ruff", "check", "."], ["mypy"]], ids=["ruff", "mypy"])
def test_quality(command: list[str]) -> None:
    pytest.importorskip(command[0])
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_has_mutable_state() -> None:
    """Names in capitals at module level are constants: no plain dict, list or set among them."""
    import ast

    wrong = []
    for path in sorted((ROOT / "energyc").rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            names = [ast.unparse(t) for t in (node.targets if isinstance(node, ast.Assign) else [])]
            if isinstance(value, ast.Dict | ast.List | ast.Set | ast.ListComp | ast.DictComp) and names != ["__all__"]:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(wrong) <= 60, "\n".join(wrong)
