"""The tool that measures the tests, on a toy whose mutants are known."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant, drawn, mutants
from tests.mutation.packages import package_of
from tests.mutation.selection import Record

ROOT = Path(__file__).resolve().parents[2]
TOY = '''"""A toy: 1 + 2."""

from __future__ import annotations


def clipped(é: int, low: int) -> int:  # lowest
    """At least 0."""
    if é < low:
        return low
    return min(é, 9)


def scaled(x, y):
    if not x and y:
        raise ValueError("x" + "y" * 2)
    return combined(x, y) if x else -(x) * 3


def unused(x):
    return x - 1
'''
TESTS = """from functools import cache
from energyc.calculus.toy import clipped, scaled
import energyc.calculus.toy as toy
toy.combined = lambda x, y: x - y

@cache
def low():
    return clipped(1, 2)

def test_low():
    assert low() == 2

def test_low_is_kept():
    assert low() == 2

def test_high():
    assert clipped(12, 2) == 9

def test_scaled():
    assert scaled(3, 1) == 2
"""
EXPECTED = {
    ("clipped", "bound", "<", "<="),
    ("clipped", "condition", "é < low", "(not (é < low))"),
    ("clipped", "return", "return low", "pass"),
    ("clipped", "extreme", "min", "max"),
    ("clipped", "constant", "9", "8"),
    ("scaled", "connective", "and", "or"),
    ("scaled", "condition", "not x and y", "(not (not x and y))"),
    ("scaled", "condition", "x", "(not (x))"),
    ("scaled", "arguments", "x, y", "y, x"),
    ("scaled", "sign", "-", ""),
    ("scaled", "product", "*", "/"),
    ("scaled", "constant", "3", "2"),
    ("unused", "sign", "-", "+"),
    ("unused", "constant", "1", "2"),
}
#: What the toy's tests do not notice: no number is at the bound, and none is 0.
SURVIVING = {("clipped", "bound"), ("scaled", "constant"), ("scaled", "sign"), ("scaled", "product")}


def told(mutant: Mutant) -> tuple[str, str, str, str]:
    return mutant.function, mutant.operator, mutant.old, mutant.new


def test_the_mutants_of_a_file_are_those_of_its_code_alone() -> None:
    found = list(mutants("calculus", "toy.py", TOY))
    assert {told(mutant) for mutant in found} == EXPECTED and len(found) == len(EXPECTED)


def test_a_mutant_changes_its_line_and_no_other() -> None:
    for mutant in mutants("calculus", "toy.py", TOY):
        lines, changed = TOY.splitlines(), mutant.applied(TOY).splitlines()
        assert [k for k, (a, b) in enumerate(zip(lines, changed, strict=True), start=1) if a != b] == [mutant.line]


def test_packages_are_found_wherever_they_stand() -> None:
    assert package_of("energyc/calculus/adjoint.py") == "calculus"
    assert package_of("energyc/mathematics/calculus/adjoint.py") == "calculus"
    assert package_of("energyc/runtime/rules/ep.py") == "rules"
    assert package_of("energyc/proofs/checker.py") == "analysis"
    assert package_of("energyc/pipeline.py") is None and package_of("tests/calculus/test.py") is None


def test_mutants_are_drawn_by_the_seed_and_spread_over_the_packages(tmp_path: Path) -> None:
    for package in ("calculus", "plan", "rules"):
        path = tmp_path / "energyc" / package / "toy.py"
        path.parent.mkdir(parents=True)
        path.write_text(TOY, encoding="utf-8")
    some = drawn(tmp_path, 18, 6)
    assert some == drawn(tmp_path, 18, 99)[:6] and drawn(tmp_path, 18, 99) != drawn(tmp_path, 19, 99)
    assert [mutant.package for mutant in some] == ["calculus", "plan", "rules"] * 2


def test_batches_keep_within_their_seconds_and_begin_with_narrow_and_quick_ones() -> None:
    seconds = {"a.py::x[1]": 0.1, "a.py::x[2]": 0.2, "a.py::y": 1.0, "b.py::x": 0.3, "b.py::y": 9.0}
    record = Record(seconds=seconds, collecting={"a.py": 0.5, "b.py": 0.5})
    assert record.ordered(list(seconds)) == ["a.py::x[1]", "b.py::x", "a.py::y", "b.py::y", "a.py::x[2]"]
    assert record.batches(list(seconds), (1.5, 2.0)) == [["a.py::x[1]", "b.py::x"], ["a.py::y"]]
    record.breadth = dict(zip(seconds, (99, 99, 3, 50, 5), strict=True))
    assert record.ordered(list(seconds)) == ["a.py::y", "a.py::x[1]", "b.py::x", "b.py::y", "a.py::x[2]"]


def measured(tmp_path: Path, *parts: str) -> str:
    """What the tool prints in the end, of the toy and its tests."""
    (tmp_path / "energyc" / "calculus").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    for name, text in {"energyc/__init__.py": "", "energyc/calculus/toy.py": TOY, "tests/test_toy.py": TESTS}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    for step in ("record", "run"):
        for part in parts or ("1/1",):
            command = [sys.executable, "-m", "tests.mutation", step, "--repository", str(tmp_path), "--imports", ""]
            done = subprocess.run([*command, "--part", part], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="the files of a repository are listed by git")


@pytest.mark.slow
@needs_git
def test_a_toy_is_measured_by_two_processes(tmp_path: Path) -> None:
    assert "| calculus | 14 | 8 | 0 | 4 | 2 | 57% |" in measured(tmp_path, "1/2", "2/2")


@pytest.mark.slow
@needs_git
def test_a_toy_is_measured(tmp_path: Path) -> None:
    assert "| calculus | 14 | 8 | 0 | 4 | 2 | 57% |" in measured(tmp_path)
    lines = (tmp_path / "build" / "mutation" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    results = [json.loads(line) for line in lines]
    assert {(r["function"], r["operator"]) for r in results if r["outcome"] == "survived"} == SURVIVING
    assert {r["function"] for r in results if r["outcome"] == "unreached"} == {"unused"}
    copy = tmp_path / "build" / "mutation" / "tree" / "energyc" / "calculus" / "toy.py"
    assert copy.read_text(encoding="utf-8") == TOY
