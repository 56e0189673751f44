"""No text that was printed is parsed again: what a pass asks of generated code it asks of its tree.

What takes text apart in the wing ``code`` is listed here, each with the text that it takes apart: all of it was written
by people.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

CODE = Path(__file__).parents[2] / "energyc" / "code"

#: Libraries that read text, and methods of strings that take it apart.
LIBRARIES = frozenset({"re", "ast", "symtable", "tokenize", "parser"})
METHODS = frozenset({"split", "rsplit", "partition", "rpartition", "splitlines"})

#: The modules that may, and what they read.
READERS = {
    "module/runtime_classes.py": "the files of the runtime, which people wrote",
    "tree/quotation.py": "quotations in the source of this compiler",
    "module/names.py": "names of a spec, and lists of reserved words",
    "targets/names.py": "names of a spec, and lists of reserved words",
    "plan/routines.py": "names of quantities",
    "tree/expressions.py": "dotted names in the source of this compiler",
    "tree/facts.py": "names of modules",
    "tree/prose.py": "sentences and formulas for docstrings",
    "tree/python.py": "remarks, and source that a person wrote",
    "tree/cpp.py": "remarks, and source that a person wrote",
    "targets/cpp/target.py": "the name of a compiler, and what it says of itself",
    "targets/jax/reserved.py": "lists of names",
    "module/instantiate.py": "the whole text of a module, in lines for tracebacks",
}


def _taking_apart(path: Path) -> Iterator[str]:
    """The places of a file that take text apart."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (f"{node.lineno}: import {n.name}" for n in names if n.name in LIBRARIES)
            case ast.ImportFrom(module=str(module)) if module in LIBRARIES:
                yield f"{node.lineno}: from {module} import"
            case ast.Call(func=ast.Attribute(attr=method)) if method in METHODS:
                yield f"{node.lineno}: .{method}()"


def test_nothing_that_was_printed_is_parsed_again() -> None:
    found = {str(path.relative_to(CODE)): list(_taking_apart(path)) for path in CODE.rglob("*.py")}
    assert not {name: places for name, places in found.items() if places and name not in READERS}
    assert all(found[name] for name in READERS), "a reader that takes nothing apart"


def test_what_is_quoted_is_a_literal() -> None:
    """A quotation stands in the source, or is the form of a function: it is never put together."""
    made = []
    for path in CODE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="quote" | "quote_body" | "quoted"), args=[text, *_]):
                    plain = isinstance(text, ast.Constant | ast.Name) or (
                        isinstance(text, ast.IfExp) and isinstance(text.body, ast.Constant)
                    )
                    made += [] if plain else [f"{path.relative_to(CODE)}:{node.lineno}"]
    assert not made
