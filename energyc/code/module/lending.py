"""The members and parts of the runtime that a loaded module does not carry, lent to it by the runtime of this process.

A module carries what its rules and settings reach. Where energyc is at hand its network has everything that a network
has: any solver and exit, ``bptt`` inside a host, recorded steps on a GPU, the search for why samples do not settle.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from energyc.code.module.library import Definition, library


def lend(module: ModuleType) -> None:
    """Complete the classes and the parts of a loaded module by those of the runtime."""
    from energyc.runtime.equations.parts import PARTS

    import_module("energyc.runtime.networks.layers")  # which registers all parts
    for key, part in PARTS.items():
        getattr(module, "PARTS", {}).setdefault(key, part)
    for definition in library().definitions.values():
        kind = getattr(module, definition.name, None)
        is_carried = isinstance(kind, type) and kind.__module__ == module.__name__
        if is_carried and definition.members and "Protocol" not in definition.bases:
            for name, member in _members(definition, module):
                if name == "__repr__" or name not in vars(kind):
                    setattr(kind, name, member)


def _members(definition: Definition, module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The members of a class, and of the classes behind it that the module left out."""
    own = vars(getattr(import_module(definition.module), definition.name))
    left_out = [base for base in library().bases(definition.name) if not hasattr(module, base)]
    yield from ((member.name, own[member.name]) for member in definition.members if member.name in own)
    for base in left_out:
        own_names = {member.name for member in definition.members}
        behind = _members(library().definitions[base], module)
        yield from ((name, member) for name, member in behind if name not in own_names)
