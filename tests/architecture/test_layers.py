"""Dependencies point one way along the pipeline."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import energyc

ROOT = Path(energyc.__file__).resolve().parent

#: From the first to the last: a part may import those before it and itself.
ORDER = (
    "version",
    "resources",
    "diagnostics",
    "syntax",
    "ir",
    "calculus",
    "resolve",
    "notation",
    "derive",
    "analysis",
    "plan",
    "emit",
    "runtime",
    "rules",
    "verify",
    "data",
    "train",
    "report",
    "pipeline",
    "runs",
    "verification",
    "sampling",
    "cli",
)
#: Parts that know even less than the order allows.
NARROW = {
    "ir": set(),
    "calculus": {"ir"},
    "data": {"diagnostics"},
    "train": {"diagnostics", "data", "version"},
    "plan": {"ir", "calculus", "resolve", "derive"},
}


def _modules(part: str) -> list[Path]:
    single = ROOT / f"{part}.py"
    return [single] if single.exists() else sorted((ROOT / part).rglob("*.py"))


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    """The parts of energyc that a module imports, wherever in it; not those for the type checker alone."""
    tree = ast.parse(path.read_text())
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from ((name.split(".")[1], node.lineno) for name in names if name.startswith("energyc."))


@pytest.mark.parametrize("part", ORDER)
def test_a_part_imports_only_what_comes_before_it(part: str) -> None:
    allowed = NARROW.get(part, set(ORDER[: ORDER.index(part)])) | {part}
    modules = _modules(part)
    assert modules, f"there is no part {part}"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules
        for name, line in _imports(path)
        if name not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def test_every_part_has_its_place() -> None:
    found = {path.stem for path in ROOT.glob("*.py")} | {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert found - {"__init__", "__main__"} == set(ORDER)


def test_the_driver_says_what_the_passes_are() -> None:
    text = ast.get_docstring(ast.parse((ROOT / "pipeline.py").read_text())) or ""
    for word in ("read", "parse", "resolve", "derive", "classify", "plan", "emit", "run", "report"):
        assert f"| {word} " in text
