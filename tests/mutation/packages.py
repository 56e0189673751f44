"""Which files of the compiler are mutated, and by which name a function is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

#: The packages as the pipeline has them, each with the folders that stand for it, wherever they are in ``energyc``.
PACKAGES = {
    "calculus": ("calculus",),
    "derive": ("derive",),
    "analysis": ("analysis", "proofs"),
    "plan": ("plan",),
    "loops": ("loops",),
    "emit": ("emit", "module", "targets", "tree"),
    "runtime": ("runtime",),
    "rules": ("rules",),
}
#: What stands outside of every function of a file.
MODULE = "<module>"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def package_of(path: str) -> str | None:
    """The package of a file, by the innermost folder that stands for one; None where there is none."""
    folders = PurePosixPath(path).parts[:-1]
    for folder in reversed(folders[folders.index("energyc") + 1 :] if "energyc" in folders else ()):
        for package, names in PACKAGES.items():
            if folder in names:
                return package
    return None


def sources(root: Path) -> Iterator[tuple[str, str]]:
    """Package and path of each file to mutate, paths from ``root``, in order."""
    for path in sorted((root / "energyc").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if package := package_of(name):
            yield package, name


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """All functions below a node with their names: ``Class.method``, ``outer.inner``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            name = prefix + child.name
            if isinstance(child, Function):
                yield name, child
            yield from functions(child, f"{name}.")
        else:
            yield from functions(child, prefix)
