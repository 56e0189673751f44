"""The source of the runtime and of the rules, cut into definitions: what a self-contained module carries along.

Nothing is run: the files are read as text, so that compiling needs no torch.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from energyc import runtime

#: Modules whose functions equations may call.
HELPERS = frozenset({"draws", "functions", "holomorphic", "indexing", "param_sets", "reductions", "segments", "sets"})


@dataclass(frozen=True)
class Definition:
    """A top-level class, function or alias: where it is, its source, the names it reads."""

    name: str
    module: str
    text: str
    reads: frozenset[str]


@dataclass(frozen=True)
class Library:
    """All definitions, each after those of the modules that its own imports; and the imports from elsewhere.

    ``imports`` maps a name to the module it comes from and what it is called there (None: it is a module);
    ``attempts`` maps the names of an import that may fail to the statement that tries it.
    """

    definitions: Mapping[str, Definition]
    imports: Mapping[str, tuple[str, str | None]]
    attempts: Mapping[str, str]

    def closure(self, names: Iterable[str], without: Iterable[str] = ()) -> list[Definition]:
        """The definitions of some names and of all that they need, in order; ``without`` are defined elsewhere."""
        needed: set[str] = set()
        stack = list(names)
        while stack:
            name = stack.pop()
            if name in self.definitions and name not in needed and name not in without:
                needed.add(name)
                stack.extend(self.definitions[name].reads)
        return [definition for name, definition in self.definitions.items() if name in needed]

    def defaults(self, name: str) -> dict[str, object]:
        """The attributes that a class, or one that it inherits from, gives plain values."""
        body = self._class(name)
        inherited = (self.defaults(base) for base in reversed(self._bases(body)))
        own = dict(item for statement in body.body for item in _defaults(statement))
        return {**{k: v for defaults in inherited for k, v in defaults.items()}, **own}

    def members(self, name: str) -> set[str]:
        """The methods and attributes of a class and of those that it inherits from."""
        body = self._class(name)
        functions = {node.name for node in body.body if isinstance(node, ast.FunctionDef)}
        annotated = {n.target.id for n in body.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
        return {*functions, *annotated, *self.defaults(name)}.union(*map(self.members, self._bases(body)))

    def _class(self, name: str) -> ast.ClassDef:
        body = ast.parse(self.definitions[name].text).body[0]
        assert isinstance(body, ast.ClassDef)
        return body

    def _bases(self, body: ast.ClassDef) -> list[str]:
        """The classes of the library that a class inherits from."""
        return [base.id for base in body.bases if isinstance(base, ast.Name) and base.id in self.definitions]

    def helpers(self) -> list[str]:
        """The functions that equations may call."""
        return [name for name, d in self.definitions.items() if d.module.rpartition(".")[2] in HELPERS]


@cache
def library() -> Library:
    """The library of this version of energyc."""
    modules = {module: ast.parse(text) for module, text in _sources().items()}
    definitions: dict[str, Definition] = {}
    imports: dict[str, tuple[str, str | None]] = {}
    attempts: dict[str, str] = {}
    for module in _in_order(modules):
        text = _sources()[module]
        for node in modules[module].body:
            for definition in _definitions(node, module, text):
                definitions[definition.name] = definition
            imports.update(_imports(node))
            if isinstance(node, ast.Try):
                tried = [name for statement in node.body for name in _imports(statement)]
                attempts.update(dict.fromkeys(tried, ast.unparse(node)))
    return Library(MappingProxyType(definitions), MappingProxyType(imports), MappingProxyType(attempts))


@cache
def _sources() -> Mapping[str, str]:
    root = Path(runtime.__file__).parent
    files = [file for place in (root, root / "rules") for file in sorted(place.glob("*.py")) if file.stem != "__init__"]
    return {_module(root, file): file.read_text(encoding="utf-8") for file in files}


def _module(root: Path, file: Path) -> str:
    """``energyc.runtime.rules.ep`` is the module of ``rules/ep.py``."""
    return ".".join([runtime.__name__, *file.relative_to(root).with_suffix("").parts])


def _in_order(modules: Mapping[str, ast.Module]) -> list[str]:
    """The modules, each after those it imports."""
    order: list[str] = []

    def visit(module: str) -> None:
        for node in modules[module].body:
            if isinstance(node, ast.ImportFrom) and str(node.module) in modules and node.module not in order:
                visit(str(node.module))
        if module not in order:
            order.append(module)

    for module in modules:
        visit(module)
    return order


def _definitions(node: ast.stmt, module: str, text: str) -> Iterator[Definition]:
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            name = node.name
        case ast.Assign(targets=[ast.Name(id=name)]):
            pass
        case _:
            return
    lines = text.split("\n")
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    first = min([node.lineno, *(d.lineno for d in decorators)]) - 1
    while lines[first - 1].startswith("#:"):
        first -= 1
    yield Definition(name, module, "\n".join(lines[first : node.end_lineno]), free_names(ast.unparse(node)))


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


def free_names(text: str) -> frozenset[str]:
    """The names that a text reads and does not bind, those in its annotations among them."""
    tables = [symtable.symtable(text, "<definition>", "exec")]
    names = {symbol.get_name() for symbol in tables[0].get_symbols() if not symbol.is_assigned()}
    while tables:
        table = tables.pop()
        tables += table.get_children()
        names |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return frozenset(names | _in_annotations(ast.parse(text)))


def _in_annotations(tree: ast.AST) -> set[str]:
    """Names in annotations, which the symbol table of a module with postponed annotations leaves out."""
    annotations = [getattr(node, field, None) for node in ast.walk(tree) for field in ("annotation", "returns")]
    return {n.id for root in annotations if root is not None for n in ast.walk(root) if isinstance(n, ast.Name)}


def _imports(node: ast.stmt) -> dict[str, tuple[str, str | None]]:
    """What a statement imports from outside of energyc."""
    if isinstance(node, ast.Import):
        return {alias.asname or alias.name.split(".")[0]: (alias.name, None) for alias in node.names}
    outside = isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith(("energyc", "__future__"))
    if isinstance(node, ast.ImportFrom) and outside:
        return {alias.asname or alias.name: (str(node.module), alias.name) for alias in node.names}
    return {}
