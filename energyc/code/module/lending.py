"""The runtime of this process, lent to a module that is loaded where energyc is at hand.

A module carries what its rules and settings reach, for the networks it was made for. Where energyc is at hand the whole
runtime stands in the place of that: any solver and exit, ``bptt`` inside a host, recorded steps on a GPU, the search
for why samples do not settle.
"""

from __future__ import annotations

import ast
from importlib import import_module
from types import ModuleType

from energyc.code.module.library import library

#: What a module defines for itself under a name of the runtime: the record of what is fixed.
OWN = frozenset({"Fixed"})


def lent(module: ModuleType, tree: ast.Module) -> ast.Module:
    """The program of a module without the runtime that it carries, whose names in ``module`` are those of energyc.

    One that imports nothing of torch carries none, whatever its definitions are called.
    """
    definitions = library().definitions if any(map(_imports_torch, tree.body)) else {}
    carried = {name for node in tree.body if (name := _defined(node)) in definitions and name not in OWN}
    if carried:
        import_module("energyc.runtime.networks.layers")  # which registers all parts
    for name in carried:
        setattr(module, name, getattr(import_module(definitions[name].module), name))
    tree.body = [node for node in tree.body if _defined(node) not in carried]
    return tree


def _imports_torch(node: ast.stmt) -> bool:
    names = [name.name for name in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", "")]
    return "torch" in names


def _defined(node: ast.stmt) -> str:
    """The name that a statement at the head of a module defines."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""
