"""The classes of the runtime as their source states them: members and defaults, read without importing torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from energyc import runtime


@dataclass(frozen=True)
class RuntimeClass:
    """A class of the runtime: its bases, its members, and the attributes to which it gives plain values."""

    bases: tuple[str, ...]
    members: frozenset[str]
    defaults: Mapping[str, object]


def members(name: str) -> frozenset[str]:
    """Return the methods and attributes of a class and of those that it inherits from. Raises KeyError."""
    return _classes()[name].members.union(*(members(base) for base in _bases(name)))


def defaults(name: str) -> dict[str, object]:
    """Return the attributes to which a class, or one that it inherits from, gives plain values. Raises KeyError."""
    inherited = [defaults(base) for base in reversed(_bases(name))]
    return {key: value for found in (*inherited, _classes()[name].defaults) for key, value in found.items()}


def _bases(name: str) -> list[str]:
    return [base for base in _classes()[name].bases if base in _classes()]


@cache
def _classes() -> Mapping[str, RuntimeClass]:
    """The classes that networks are made of, by name: those below the rooms of equations, networks and kernels."""
    root = Path(str(runtime.__file__)).parent
    paths = [path for room in ("equations", "networks", "kernels") for path in sorted((root / room).glob("*.py"))]
    nodes = [node for path in paths for node in ast.parse(path.read_text(encoding="utf-8")).body]
    return {node.name: _class(node) for node in nodes if isinstance(node, ast.ClassDef)}


def _class(node: ast.ClassDef) -> RuntimeClass:
    bases = tuple(base.id for base in node.bases if isinstance(base, ast.Name))
    names = frozenset(name for statement in node.body for name in _members(statement))
    values = dict(item for statement in node.body for item in _defaults(statement))
    return RuntimeClass(bases, names, values)


def _members(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name):
            yield name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _defaults(statement: ast.stmt) -> Iterator[tuple[str, object]]:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            pass
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case _:
            return
    if isinstance(value, ast.Constant | ast.Tuple | ast.Dict):
        yield name, ast.literal_eval(value)
