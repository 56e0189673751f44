"""The source of the runtime and of the rules, cut into definitions: what a self-contained module carries along.

Nothing is run: the files are read as text, so that compiling needs no torch.
"""

from __future__ import annotations

import ast
import symtable
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType

from energyc import files, runtime

#: Modules whose functions equations may call.
HELPERS = frozenset({"draws", "functions", "holomorphic", "indexing", "param_sets", "reductions", "segments", "sets"})


@dataclass(frozen=True)
class Reads:
    """The names that a piece of source reads and does not bind, and the attributes that it reads of anything."""

    names: frozenset[str]
    attributes: frozenset[str]

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(text: str) -> Reads:
        """Of a whole text. Modules made in one process share most of what they carry: each text is read once."""
        nodes = list(ast.walk(ast.parse(text)))
        return Reads(frozenset(_unbound(text) | _in_annotations(nodes)), frozenset(_attributes(nodes)))


@dataclass(frozen=True)
class Member:
    """A method or an attribute of a class; an attribute may be declared without a value.

    One that ``passes`` calls the same member of a class behind its own.
    """

    name: str
    text: str
    is_method: bool
    has_value: bool
    passes: bool

    @cached_property
    def reads(self) -> Reads:
        """The names that it reads. Arguments are a method's own; a class's names come before the module's."""
        return Reads.of(self.text)


@dataclass(frozen=True)
class Definition:
    """A top-level class, function or alias: where it is, and its source.

    Of a class its head and members, and the attributes to which it gives plain values.
    """

    name: str
    module: str
    text: str
    head: str = ""
    bases: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    defaults: tuple[tuple[str, object], ...] = ()

    @cached_property
    def reads(self) -> Reads:
        """The names that it reads, of a class those of its head."""
        return Reads.of(f"{self.head}\n    pass" if self.head else self.text)

    @cached_property
    def ending(self) -> frozenset[str]:
        """The members at which a search for them ends: they have a value and do not pass on."""
        return frozenset(member.name for member in self.members if member.has_value and not member.passes)


@dataclass(frozen=True)
class Library:
    """All definitions, each after those of the modules that its own imports; and the imports from elsewhere.

    ``imports`` maps a name to the module it comes from and what it is called there (None: it is a module);
    ``attempts`` maps the names of an import that may fail to the statement that tries it. ``parts`` maps the kind and
    the name of what a setting chooses to the definition that is registered for it.
    """

    definitions: Mapping[str, Definition]
    imports: Mapping[str, tuple[str, str | None]]
    attempts: Mapping[str, str]
    parts: Mapping[tuple[str, str], str]

    @cached_property
    def owned(self) -> Mapping[str, list[tuple[Definition, Member]]]:
        """The members of each name, with the class of each."""
        found: dict[str, list[tuple[Definition, Member]]] = {}
        for definition in self.definitions.values():
            for member in definition.members:
                found.setdefault(member.name, []).append((definition, member))
        return MappingProxyType(found)

    def named(self, names: Iterable[str]) -> list[Definition]:
        """The definitions among some names."""
        return [self.definitions[name] for name in names if name in self.definitions]

    def defaults(self, name: str) -> dict[str, object]:
        """The attributes that a class, or one that it inherits from, gives plain values."""
        inherited = (self.defaults(base) for base in reversed(self.bases(name)))
        return {k: v for defaults in (*inherited, dict(self.definitions[name].defaults)) for k, v in defaults.items()}

    def members(self, name: str) -> set[str]:
        """The methods and attributes of a class and of those that it inherits from."""
        own = {member.name for member in self.definitions[name].members}
        return own.union(*map(self.members, self.bases(name)))

    def bases(self, name: str) -> list[str]:
        """The classes of the library that a class inherits from."""
        return [base for base in self.definitions[name].bases if base in self.definitions]

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
    parts: dict[tuple[str, str], str] = {}
    for module in _in_order(modules):
        text = _sources()[module]
        for node in modules[module].body:
            for definition in _definitions(node, module, text):
                definitions[definition.name] = definition
            parts.update(_parts(node))
            imports.update(_imports(node))
            if isinstance(node, ast.Try):
                tried = [name for statement in node.body for name in _imports(statement)]
                attempts.update(dict.fromkeys(tried, ast.unparse(node)))
    proxy = MappingProxyType
    return Library(proxy(definitions), proxy(imports), proxy(attempts), proxy(parts))


@cache
def _sources() -> Mapping[str, str]:
    root = Path(str(files.__file__)).parent
    paths = [root / "files.py", *sorted(Path(str(runtime.__file__)).parent.glob("*/*.py"))]
    return {_module(root, path): path.read_text(encoding="utf-8") for path in paths if path.stem != "__init__"}


def _module(root: Path, path: Path) -> str:
    """``energyc.runtime.rules.ep`` is the module of ``runtime/rules/ep.py``."""
    return ".".join([root.name, *path.relative_to(root).with_suffix("").parts])


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
    source = _source(node, lines)
    if not isinstance(node, ast.ClassDef):
        yield Definition(name, module, source)
        return
    bases = tuple(base.id for base in node.bases if isinstance(base, ast.Name))
    documented = isinstance(node.body[0], ast.Expr)
    head = "\n".join(lines[_first(node, lines) : node.body[0].end_lineno if documented else node.body[0].lineno - 1])
    members = tuple(member for statement in node.body for member in _members(statement, lines))
    defaults = tuple(item for statement in node.body for item in _defaults(statement))
    yield Definition(name, module, source, head, bases, members, defaults)


def _members(node: ast.stmt, lines: list[str]) -> Iterator[Member]:
    """A statement in the body of a class as a member of it."""
    match node:
        case ast.FunctionDef(name=name):
            value: ast.expr | None = None
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            pass
        case _:
            return
    text = textwrap.dedent(_source(node, lines))
    is_method = isinstance(node, ast.FunctionDef)
    passes = "super()" in text or isinstance(value, ast.Call)
    yield Member(name, text, is_method, is_method or value is not None, passes)


def _parts(node: ast.stmt) -> Iterator[tuple[tuple[str, str], str]]:
    """The part that a definition is registered as: ``@part(kind, name)``."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "part":
                kind, name = map(ast.literal_eval, call.args)
                yield (kind, name), node.name


def _source(node: ast.stmt, lines: list[str]) -> str:
    """The lines of a statement, with its decorators and the comment on it."""
    return "\n".join(lines[_first(node, lines) : node.end_lineno])


def _first(node: ast.stmt, lines: list[str]) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    first = min([node.lineno, *(d.lineno for d in decorators)]) - 1
    while lines[first - 1].strip().startswith("#:"):
        first -= 1
    return first


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


def _unbound(text: str) -> set[str]:
    """The names that a text reads and does not bind, but for annotations, which are postponed."""
    top = symtable.symtable(text, "<definition>", "exec")
    names = {symbol.get_name() for symbol in top.get_symbols() if not (symbol.is_assigned() or symbol.is_annotated())}
    tables = top.get_children()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        names |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return names


def _attributes(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The attributes that are read of anything, also by their names."""
    for node in nodes:
        match node:
            case ast.Attribute(attr=name):
                yield name
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
                yield name


def _in_annotations(nodes: Sequence[ast.AST]) -> set[str]:
    """The names in annotations."""
    annotations = [getattr(node, field, None) for node in nodes for field in ("annotation", "returns")]
    return {n.id for root in annotations if root is not None for n in ast.walk(root) if isinstance(n, ast.Name)}


def _imports(node: ast.stmt) -> dict[str, tuple[str, str | None]]:
    """The names that a statement imports from outside of energyc."""
    if isinstance(node, ast.Import):
        return {alias.asname or alias.name.split(".")[0]: (alias.name, None) for alias in node.names}
    outside = isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith(("energyc", "__future__"))
    if isinstance(node, ast.ImportFrom) and outside:
        return {alias.asname or alias.name: (str(node.module), alias.name) for alias in node.names}
    return {}
