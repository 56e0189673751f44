"""Which module imports which, read from the source: imports inside functions and for the type checker count too."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import energyc

ROOT = Path(energyc.__file__).resolve().parent
#: The faces of the package, which may import anything.
FACES = (
    "energyc",
    "energyc.api",
    "energyc.runtime",
    "energyc.__main__",
    "energyc.data",
    "energyc.data.arrays",
    "energyc.loggers",
)
#: The wings, each after those that it may import from. The other modules of the package stand beside them.
WINGS = ("mathematics", "language", "derivation", "runtime", "proofs", "code", "running", "studies", "surfaces")


#: The packages that ``compile --standalone`` copies as they are, and which import themselves by relative names.
COPIED = ("energyc.runtime", "energyc.jax")


@dataclass(frozen=True)
class Import:
    """``module`` imports ``name``, the full name of a module or of what is taken from it, at ``line``."""

    module: str
    line: int
    name: str

    @property
    def part(self) -> str | None:
        """The part of energyc that is imported; None for a library."""
        return part_of(self.name) if self.name.startswith("energyc.") else None

    @property
    def library(self) -> str | None:
        """The library that is imported; None for the standard one and for energyc."""
        top = self.name.partition(".")[0]
        return None if top == "energyc" or top in sys.stdlib_module_names else top


@cache
def modules() -> Mapping[str, Path]:
    """Every module of energyc by its full name."""
    return {_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    """``energyc.mathematics.ir.nodes`` is of the part ``ir``, ``energyc.pipeline`` a part of its own.

    A module beside the rooms of a wing is of the part that has the wing's name.
    """
    first, *rest = module.split(".")[1:]
    return rest[0] if first in WINGS and rest and (ROOT / first / rest[0]).is_dir() else first


def wing_of(module: str) -> str | None:
    """``energyc.mathematics.ir.nodes`` is in the wing ``mathematics``; None for what is in no wing."""
    first = module.split(".")[1]
    return first if first in WINGS else None


@cache
def parts() -> tuple[str, ...]:
    """The parts of energyc."""
    return tuple(dict.fromkeys(part_of(module) for module in modules() if module not in FACES))


@cache
def imports(module: str, path: Path) -> tuple[Import, ...]:
    """All imports of a module, wherever in it."""
    return tuple(_imports(module, path))


def _imports(module: str, path: Path) -> Iterator[Import]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (Import(module, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(module, path, node)
            yield from (Import(module, node.lineno, f"{source}.{alias.name}") for alias in node.names)


def _absolute(module: str, path: Path, node: ast.ImportFrom) -> str:
    """The full name of what is imported from: a package that is copied as it is imports itself by relative names."""
    if not node.level:
        return node.module or ""
    assert module.startswith(COPIED), f"{path}:{node.lineno}: a relative import"
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


@cache
def module_graph() -> Mapping[str, Set[str]]:
    """Each module and the modules of energyc that it imports from."""
    known = modules()
    return {module: set(_imported(module, path, known)) - {module} for module, path in known.items()}


def _imported(module: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for found in imports(module, path):
        owner = found.name if found.name in known else found.name.rpartition(".")[0]
        if owner in known:
            yield owner


@cache
def part_graph() -> Mapping[str, Set[str]]:
    """Each part of energyc and the other parts that it imports from."""
    graph: dict[str, set[str]] = {}
    for module, targets in module_graph().items():
        if module not in FACES:
            part = part_of(module)
            graph.setdefault(part, set()).update({part_of(t) for t in targets if t not in FACES} - {part})
    return graph


def cycle(graph: Mapping[str, Set[str]]) -> list[str]:
    """A cycle of a graph, each node imported by the next; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
