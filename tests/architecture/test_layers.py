"""Dependencies point one way: between wings, between parts and between modules.

A wing is a package at the top of energyc; a part is a room of a wing, or a module beside the wings. The docstring of a
part says what it knows, and ends with the parts and the libraries that it imports:
``Imports: ``ir``, ``resolve``; libraries: ``numpy``.``
"""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.imports import (
    FACES,
    ROOT,
    WINGS,
    Import,
    cycle,
    imports,
    module_graph,
    modules,
    part_graph,
    part_of,
    parts,
    wing_of,
)

#: A wing that has rooms alone imports nothing itself.
PARTS = tuple(part for part in parts() if part not in WINGS or part == "runtime")
#: The rows of the map in pipeline.py, in the order of the pipeline.
PASSES = ("read", "parse", "resolve", "classify", "derive", "plan", "lower", "emit")


def _docstring(part: str) -> str:
    places = [*(ROOT / wing for wing in WINGS), ROOT]
    paths = [path for place in places for path in (place / f"{part}.py", place / part / "__init__.py") if path.exists()]
    return ast.get_docstring(ast.parse(paths[0].read_text())) or ""


def _declared(part: str) -> tuple[set[str], set[str]]:
    """The parts and the libraries that a docstring names as imported."""
    line = re.search(r"^Imports: ([^.]*)\.$", _docstring(part), re.MULTILINE)
    assert line, f"the docstring of {part} has no line `Imports: ``part``, ``part``; libraries: ``name``.`"
    names, _, libraries = " ".join(line[1].split()).partition("; libraries:")
    return set(re.findall(r"``(\w+)``", names)), set(re.findall(r"``(\w+)``", libraries))


def _imports_of(part: str) -> list[Import]:
    own = {name: path for name, path in modules().items() if name not in FACES and part_of(name) == part}
    return [found for name, path in own.items() for found in imports(name, path)]


def test_no_module_is_in_a_cycle() -> None:
    assert cycle(module_graph()) == []


def test_no_part_is_in_a_cycle() -> None:
    assert cycle(part_graph()) == []


def test_wings_import_from_wings_before_them() -> None:
    """``pipeline`` calls the wings up to ``code``, and the registry of data; wings after ``code`` build on it."""
    place = {wing: k for k, wing in enumerate(WINGS)}
    up = [
        f"{module} -> {target}"
        for module, targets in module_graph().items()
        for target in targets
        if module not in FACES and target not in FACES
        if (above := wing_of(target)) and (below := wing_of(module)) and place[above] > place[below]
    ]
    assert not up, "\n".join(up)


def test_the_pipeline_is_below_training() -> None:
    """Modules of the later wings that ``pipeline`` imports do not import it."""
    graph = part_graph()
    later = {part for part in graph["pipeline"] if (ROOT / "running" / part).is_dir()}
    assert later == {"data"}
    assert "pipeline" not in graph["data"]


def test_every_package_is_a_wing_or_a_face() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == {*WINGS, "data", "checker", "jax"}


def test_the_checker_imports_the_standard_library_alone() -> None:
    """And what a proof rests on does not grow; the others read files and put statements into words."""
    own = {name: path for name, path in modules().items() if name.startswith("energyc.checker")}
    found = [each for name, path in own.items() for each in imports(name, path)]
    others = [each for each in found if each.part not in (None, "checker") or each.library is not None]
    assert not others, others
    lines = {name.rpartition(".")[2]: len(path.read_text().splitlines()) for name, path in own.items()}
    around = sum(lines.pop(name) for name in ("__main__", "entries", "shapes", "statements"))
    assert sum(lines.values()) < 4200
    assert around < 420


def test_the_runtime_of_jax_imports_itself_by_relative_names() -> None:
    """So that a copy of the folder works anywhere; and nothing of energyc imports it, as JAX need not be installed."""
    own = {name: path for name, path in modules().items() if name.split(".")[1:2] == ["jax"]}
    nodes = [node for path in own.values() for node in ast.walk(ast.parse(path.read_text()))]
    absolute = [n.module for n in nodes if isinstance(n, ast.ImportFrom) and not n.level]
    assert not [name for name in absolute if (name or "").startswith("energyc")]
    assert not [m for m, targets in module_graph().items() if m not in own and any(t in own for t in targets)]


@pytest.mark.parametrize("wing", WINGS)
def test_a_wing_lists_its_rooms(wing: str) -> None:
    """And says what enters and what leaves."""
    text = ast.get_docstring(ast.parse((ROOT / wing / "__init__.py").read_text())) or ""
    rooms = {path.parent.name for path in (ROOT / wing).glob("*/__init__.py")}
    assert set(re.findall(r"^\| ``(\w+)`` \|", text, re.MULTILINE)) >= rooms
    assert re.search(r"^In: .*Out: ", text, re.MULTILINE)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_what_its_docstring_names(part: str) -> None:
    others, libraries = _declared(part)
    found = _imports_of(part)
    undeclared = [
        f"{each.module}:{each.line} imports {each.name}, which the docstring of {part} does not name"
        for each in found
        if each.part not in {None, part, *others} or each.library not in {None, *libraries}
    ]
    assert not undeclared, "\n".join(undeclared)
    unused = {*others, *libraries} - {each.part for each in found} - {each.library for each in found}
    assert not unused, f"the docstring of {part} names {unused}, and nothing of it is imported"


def test_the_map_lists_the_passes() -> None:
    """Each with a room that is there, and each a function of the module."""
    rows = re.findall(r"^\| (\w+) +\| ([^|]*)\|", _docstring("pipeline"), re.MULTILINE)[1:]
    assert tuple(word for word, _ in rows) == PASSES
    rooms = [room for _, cell in rows for room in re.findall(r"`([\w/]+)`", cell)]
    assert all((ROOT / room).is_dir() for room in rooms)
    source = ast.parse((ROOT / "pipeline.py").read_text())
    functions = {node.name for node in source.body if isinstance(node, ast.FunctionDef)}
    assert functions >= set(PASSES)
