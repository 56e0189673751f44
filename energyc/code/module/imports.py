"""The import statements at the head of a generated module, in the order of isort."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from energyc.code.module.library import library
from energyc.code.tree.statements import Blank, Body, Import, Verbatim

#: Where each name comes from: a module, and what it is called there (None: it is the module).
Names = dict[str, tuple[str, str | None]]


def imports(read: Collection[str], from_energyc: Collection[str] = ()) -> Body:
    """Imports of the names that a module reads, and of those that it takes from energyc.

    The standard library, torch and energyc are a paragraph each, and so is what is only tried.
    """
    sources = library().imports
    modules: Names = {name: sources[name] for name in read if name in sources}
    torch = {name: source for name, source in modules.items() if source[0].split(".")[0] == "torch"}
    standard = {name: source for name, source in modules.items() if name not in torch}
    definitions = library().definitions
    own: Names = {name: (definitions[name].module, name) for name in from_energyc if name in definitions}
    attempts = library().attempts
    tried = dict.fromkeys(attempts[name] for name in sorted(read) if name in attempts)
    paragraphs = [*filter(None, map(_paragraph, (standard, torch, own))), *((Verbatim(text),) for text in tried)]
    return tuple(statement for paragraph in paragraphs for statement in (Blank(), *paragraph))[1:]


def _paragraph(names: Names) -> Body:
    whole, items = [], defaultdict[str, list[str]](list)
    for name, (module, item) in names.items():
        if item is None:
            whole.append(Import(module, alias=name if name != module else None))
        else:
            items[module].append(item)
    whole.sort(key=lambda statement: (statement.module, statement.alias or ""))
    return (*whole, *(Import(module, tuple(sorted(items[module], key=_case))) for module in sorted(items)))


def _case(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name)
