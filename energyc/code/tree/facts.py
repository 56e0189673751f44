"""The facts that a pass asks of generated code, read off its tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s
from energyc.code.tree.node import Node


def reads(*nodes: Node) -> set[str]:
    """The names that nodes read; what only stands on the left of an assignment is not among them."""
    return s.names_in(nodes)


def assigned(*nodes: Node) -> set[str]:
    """The names that nodes give a value, those of loops and of functions among them."""
    return {name for node in nodes for part in node.walk() for name in _binds(part)}


def attributes(owner: str, *nodes: Node) -> set[str]:
    """The attributes that nodes read or set of what is called ``owner``: of ``fixed.X`` it is X."""
    owning = e.Name(owner)
    parts = (part for node in nodes for part in node.walk())
    return {part.name for part in parts if isinstance(part, e.Attribute) and part.value == owning}


def live(body: Iterable[s.Statement], needed: Iterable[str] = ()) -> tuple[s.Statement, ...]:
    """Statements without the assignments to plain names that nothing after them reads.

    ``needed`` are names that are read after the last statement. A change in place of a name that is not read falls with
    it: ``x += y`` and ``x.add_(y)``, which give only x another value. An assignment to several names keeps its place
    while one of them is read.
    """
    known, kept = set(needed), list[s.Statement]()
    for statement in reversed(list(body)):
        changed = _changed(statement)
        if changed and not changed & known:
            continue
        if isinstance(statement, s.For):
            statement = replace(statement, body=live(statement.body, known | reads(statement)))
        kept.append(statement)
        if isinstance(statement, s.Assign):
            known -= changed
        known |= reads(statement) | (changed if not isinstance(statement, s.Assign) else set())
    return tuple(kept[::-1])


def free_names(*nodes: Node) -> frozenset[str]:
    """The names that a program reads and does not define: what it needs imports or definitions for."""
    found: set[str] = set()
    own = {name for node in nodes for name in _defined(node)}
    for node in nodes:
        found |= _free(node)
    return frozenset(found - own)


def _changed(statement: s.Statement) -> set[str]:
    """The plain names that a statement does no more than change."""
    match statement:
        case s.Assign(e.Name(name), _) | s.Augment(_, e.Name(name), _):
            return {name}
        case s.Assign(e.Tuple(items), _) if all(isinstance(item, e.Name) for item in items):
            return {item.id for item in items if isinstance(item, e.Name)}
        case s.Do(e.Call(e.Attribute(e.Name(name), method), _, _)) if method.endswith("_"):
            return {name}
        case s.Declare(_, name):
            return {name}
    return set()


def _binds(node: Node) -> Iterator[str]:
    match node:
        case s.Assign(target, _) | s.For(target, _, _) | s.Augment(_, target, _):
            yield from _plain(target)
        case s.Annotated(name) | s.Declare(_, name) | s.Loop(_, name):
            yield name
        case s.Function(name) | s.Class(name):
            yield name
        case s.Import(module, names, alias):
            yield from (alias,) if alias else names or (module.partition(".")[0],)
        case s.Verbatim(defines=names):
            yield from names


def _plain(target: e.Expr) -> Iterator[str]:
    match target:
        case e.Name(name):
            yield name
        case e.Tuple(items) | e.List(items):
            for item in items:
                yield from _plain(item)


def _defined(node: Node) -> Iterator[str]:
    """The names that a node gives to the scope it is in; what is inside functions and classes is theirs."""
    yield from _binds(node)
    if not isinstance(node, s.Function | s.Class | e.Expr):
        for child in node.children:
            yield from _defined(child)


def _free(node: Node) -> set[str]:
    match node:
        case s.Function():
            own = {p.name for p in node.parameters}.union(*map(_names_defined, node.body))
            outside = [*node.before, *node.parameters, *([node.returns] if node.returns is not None else [])]
            return set().union(*map(_free, node.body)) - own | reads(*outside)
        case s.Class():
            own = set().union(*map(_names_defined, node.body))
            found = [_free(part) - (set() if isinstance(part, s.Function) else own) for part in node.body]
            return set().union(*found) | reads(*node.bases, *node.before)  # methods do not see the names of their class
        case s.If() | s.For() | s.Module():
            return set().union(*map(_free_child, _head_and_body(node)))
    return reads(node)


def _head_and_body(node: Node) -> Iterator[Node]:
    if isinstance(node, s.For):
        yield node.iterable
        yield from node.body
    else:
        yield from node.children


def _free_child(node: Node) -> set[str]:
    return _free(node) if isinstance(node, s.Statement) else reads(node)


def _names_defined(node: Node) -> set[str]:
    return set(_defined(node))
