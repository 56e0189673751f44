"""The names that no reader looks up where they stand, noted in ``References`` all the same.

Bodies of functions are read where they are called, settings without their places, ties by the texts of their indices.
And a mistake ends the reading of what it is in: the names behind it are still those that ``collect`` found, so that an
editor can show and rename them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from energyc.language.diagnostics import Span
from energyc.language.resolve.blocks import Part
from energyc.language.resolve.keys import layer_of, note_pair, note_preset, note_value
from energyc.language.resolve.names import OF_STATES, Names
from energyc.language.resolve.words import INDEXED, NORMALISERS, RESERVED_FUNCTIONS
from energyc.language.syntax import ast

#: The places where the indices and arguments around an expression are declared.
Local = Mapping[str, Span]


def note_unread(part: Part, *, mistaken: bool) -> None:
    """Note the names of a part and of its blocks that no reader has noted; ``mistaken`` after a mistake in the file."""
    for statement in part.statements:
        match statement:
            case ast.Function():
                _note_function(part, statement)
            case ast.Settings(word=word, pairs=pairs):
                _note_dims(part.names, statement)
                for pair in pairs:
                    note_pair(part, pair, word, pair.key)
            case ast.Preset(name=name, pairs=pairs):
                part.names.references.declare(name, "preset", Span(0, 0), statement)
                for pair in pairs:
                    note_preset(part, pair)
            case ast.Data(pairs=pairs):
                for pair in pairs:
                    note_value(part.names, pair.value)
            case ast.Equation() if mistaken or statement.word == "tie":
                _note_equation(part, statement)
            case ast.Repeat(count=count):
                part.names.read(count)
            case _ if mistaken and not isinstance(statement, ast.Layer):
                _note_declarations(part, statement)
    for block in part.blocks:
        note_unread(block, mistaken=mistaken)


# ------------------------------------------------------------------ declarations and equations


def _note_declarations(part: Part, statement: ast.Statement) -> None:
    for tree in ast.walk(statement):
        _note_dims(part.names, tree)
        if isinstance(tree, ast.Field):
            part.names.read(tree.owner)
        elif isinstance(tree, ast.Apply):
            part.names.read(tree.name)


def _note_dims(names: Names, tree: ast.Tree) -> None:
    """The dims that a piece of a declaration names."""
    match tree:
        case ast.InputItem(dims=dims, kind=kind):
            named: tuple[ast.Name | None, ...] = (*dims, kind)
        case ast.ParamItem(dims=dims) | ast.StateItem(dims=dims) | ast.NoiseItem(dims=dims) | ast.NamedSet(dims=dims):
            named = dims
        case ast.Settings(dim=dim):
            named = (dim,)
        case _:
            return
    for name in named:
        if name is not None:
            names.read(name)


def _note_equation(part: Part, equation: ast.Equation) -> None:
    left = equation.left
    if equation.word in (*OF_STATES, "force"):
        part.names.read(left.name)
    binders = [(binder.name, binder.dim) for binder in left.indices or ()]
    _note_expression(part, equation.right, _bound(part.names, binders, {}, equation.span))


def _note_function(part: Part, function: ast.Function) -> None:
    local: dict[str, Span] = {}
    for names, kind in ((function.indices or (), "index"), (function.arguments, "argument")):
        for name in names:
            part.names.references.declare(name, kind, function.span, function)
            local[name.text] = name.span
    along = frozenset(name.text for name in function.indices or ())
    _note_expression(part, function.body, local, along)


def _bound(
    names: Names,
    binders: Iterable[tuple[ast.Name, ast.Name | None]],
    around: Local,
    region: Span,
    along: frozenset[str] = frozenset(),
) -> Local:
    """The names around an expression in a bracket; one of ``along`` is the index of the function that it is in."""
    local = dict(around)
    for name, dim in binders:
        if dim is not None:
            names.read(dim)
        if name.text in along and dim is None:
            names.references.note(name.span, local[name.text])
        else:
            names.references.declare(name, "index", region)
            local[name.text] = name.span
    return local


def _note_expression(part: Part, expr: ast.Expr, local: Local, along: frozenset[str] = frozenset()) -> None:
    """Every name of an expression, without recursion along it."""
    pending = [(expr, local)]
    while pending:
        tree, around = pending.pop()
        match tree:
            case ast.Apply():
                pending += _note_apply(part.names, tree, around, along)
            case ast.Field():
                _note_field(part, tree)
                pending += [(slot.expr, around) for slot in tree.slots or ()]
            case _:
                pending += [(child, around) for child in ast.children(tree) if isinstance(child, ast.Expr)]


def _note_apply(names: Names, expr: ast.Apply, local: Local, along: frozenset[str]) -> Iterator[tuple[ast.Expr, Local]]:
    """Note the name of an element or call; the expressions inside of it, with the names around them."""
    name, slots = expr.name, expr.slots or ()
    if expr.slots is None and expr.arguments is None and name.text in local:
        names.references.note(name.span, local[name.text])
    elif expr.arguments is None or name.text not in RESERVED_FUNCTIONS:
        names.read(name)
    inner = local
    if _binds(expr):
        plain = [(ast.plain_name(slot.expr), slot.dim) for slot in slots]
        binders = [(index, dim) for index, dim in plain if index is not None]
        inner = _bound(names, binders, local, expr.span, along)
    else:
        yield from ((slot.expr, local) for slot in slots)
    yield from ((inside, inner) for inside in (expr.guard,) if inside is not None)
    yield from ((argument.value, inner) for argument in expr.arguments or ())


def _binds(expr: ast.Apply) -> bool:
    """Whether the bracket of a call binds its indices."""
    if expr.arguments is None or expr.name.text not in INDEXED or expr.name.text in NORMALISERS:
        return False
    names = [ast.plain_name(slot.expr) for slot in expr.slots or ()]
    return all(name is None or name.text != "batch" for name in names)


def _note_field(part: Part, expr: ast.Field) -> None:
    entry, layer = part.names.read(expr.owner), layer_of(part, expr.owner.text)
    if entry is not None and entry.kind == "layer" and layer is not None and expr.field.text in layer.names.own:
        layer.names.read(expr.field)
