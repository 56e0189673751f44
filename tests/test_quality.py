"""Style and types are part of the test run."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MUTATING = frozenset({"append", "extend", "insert", "update", "setdefault", "pop", "clear", "add", "remove", "discard"})


COMMANDS = {
    "lint": ["ruff", "check", "--output-format", "concise", "."],
    "format": ["ruff", "format", "--check", "--exclude", "tests/golden", "energyc", "tests", "benchmarks"],
    "types": ["mypy"],
}


@pytest.mark.parametrize(
    "command",
    [COMMANDS["lint"], COMMANDS["format"], pytest.param(COMMANDS["types"], marks=pytest.mark.slow)],
    ids=COMMANDS,
)
def test_quality(command: list[str]) -> None:
    pytest.importorskip(command[0])
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _changed_names(tree: ast.Module) -> list[tuple[int, str]]:
    """Places inside functions that change a name of the module: ``global``, an item set, a mutating method."""
    names = {
        t.id for node in tree.body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)
    }
    names |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            found.append((node.lineno, ", ".join(node.names)))
        target = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            target = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATING:
            target = node.func.value
        if isinstance(target, ast.Name) and target.id in names and target.id.isupper():
            found.append((node.lineno, target.id))
    return found


def test_no_module_changes_its_own_state() -> None:
    wrong = [
        f"{path}:{line} changes {name}"
        for path in sorted(file.relative_to(ROOT).as_posix() for file in (ROOT / "energyc").rglob("*.py"))
        for line, name in _changed_names(ast.parse((ROOT / path).read_text()))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_test_sees_a_change() -> None:
    tree = ast.parse("A = {}\n\ndef f():\n    A['x'] = 1\n    A.update({})\n    global B\n    B = 2\n")
    assert sorted(name for _, name in _changed_names(tree)) == ["A", "A", "B"]
