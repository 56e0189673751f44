"""Dependencies point one way: no module is in a cycle, and each part imports what its docstring names.

A part is a package or a module at the top of energyc. Its docstring says what it knows, and ends with the parts and the
libraries that it imports: ``Imports: ``ir``, ``resolve``; libraries: ``numpy``.``
"""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.imports import FACES, ROOT, Import, cycle, imports, module_graph, modules, part_graph, part_of

PARTS = tuple(part_graph())
#: The rows of the map in pipeline.py, in the order of the pipeline.
PASSES = (
    "read",
    "parse",
    "resolve",
    "derive",
    "classify",
    "plan",
    "fuse",
    "emit",
    "run",
    "measure",
    "export",
    "report",
)


def _docstring(part: str) -> str:
    path = ROOT / f"{part}.py"
    path = path if path.exists() else ROOT / part / "__init__.py"
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def _declared(part: str) -> tuple[set[str], set[str]]:
    """The parts and the libraries that a docstring names as imported."""
    line = re.search(r"^Imports: ([^.]*)\.$", _docstring(part), re.MULTILINE)
    assert line, f"the docstring of {part} has no line `Imports: ``part``, ``part``; libraries: ``name``.`"
    parts, _, libraries = " ".join(line[1].split()).partition("; libraries:")
    return set(re.findall(r"``(\w+)``", parts)), set(re.findall(r"``(\w+)``", libraries))


def _imports_of(part: str) -> list[Import]:
    own = {name: path for name, path in modules().items() if name not in FACES and part_of(name) == part}
    return [found for name, path in own.items() for found in imports(name, path)]


def test_no_module_is_in_a_cycle() -> None:
    assert cycle(module_graph()) == []


def test_no_part_is_in_a_cycle() -> None:
    assert cycle(part_graph()) == []


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_what_its_docstring_names(part: str) -> None:
    parts, libraries = _declared(part)
    found = _imports_of(part)
    undeclared = [
        f"{each.module}:{each.line} imports {each.name}, which the docstring of {part} does not name"
        for each in found
        if each.part not in {None, part, *parts} or each.library not in {None, *libraries}
    ]
    assert not undeclared, "\n".join(undeclared)
    unused = {*parts, *libraries} - {each.part for each in found} - {each.library for each in found}
    assert not unused, f"the docstring of {part} names {unused}, and nothing of it is imported"


def test_the_map_lists_the_passes_in_the_order_of_the_imports() -> None:
    """A package imports only packages of its own row and of those above it."""
    rows = re.findall(r"^\| (\w+) +\| ([^|]*)\|", _docstring("pipeline"), re.MULTILINE)[1:]
    assert tuple(word for word, _ in rows) == PASSES
    place = {part: k for k, (_, cell) in enumerate(rows) for part in re.findall(r"`(\w+)`", cell)}
    up = [
        f"{part} -> {below}"
        for part, targets in part_graph().items()
        for below in targets
        if place.get(below, -1) > place.get(part, len(rows))
    ]
    assert not up, "\n".join(up)
