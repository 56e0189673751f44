"""The import statements at the head of a generated module, in the order of isort."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from energyc.code.emit.library import library

#: The most characters of a line.
LONGEST = 120
#: Where each name comes from: a module, and what it is called there (None: it is the module).
Names = dict[str, tuple[str, str | None]]


def import_lines(read: Collection[str], from_energyc: Collection[str] = ()) -> str:
    """Imports of the names that a module reads, and of those that it takes from energyc.

    The standard library, torch and energyc are a paragraph each, and so is what is only tried.
    """
    sources = library().imports
    modules: Names = {name: sources[name] for name in read if name in sources}
    torch = {name: source for name, source in modules.items() if source[0].split(".")[0] == "torch"}
    standard = {name: source for name, source in modules.items() if name not in torch}
    definitions = library().definitions
    own: Names = {name: (definitions[name].module, name) for name in from_energyc if name in definitions}
    paragraphs = ["\n".join(_paragraph(part)) for part in (standard, torch, own) if part]
    attempts = library().attempts
    return "\n\n".join([*paragraphs, *dict.fromkeys(attempts[name] for name in sorted(read) if name in attempts)])


def _paragraph(names: Names) -> list[str]:
    whole, items = [], defaultdict[str, list[str]](list)
    for name, (module, item) in names.items():
        if item is None:
            whole.append(f"import {module}" + f" as {name}" * (name != module))
        else:
            items[module].append(item)
    return [*sorted(whole), *(_statement(module, sorted(items[module], key=_case)) for module in sorted(items))]


def _statement(module: str, names: list[str]) -> str:
    """On one line where it fits, else a line for each name."""
    line = f"from {module} import {', '.join(names)}"
    each = "".join(f"    {name},\n" for name in names)
    return line if len(line) <= LONGEST else f"from {module} import (\n{each})"


def _case(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name)
