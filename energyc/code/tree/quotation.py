"""Python that a person wrote, as a tree: what is constant in generated code is written as it will be read.

``quote("F.pad({x}[..., None], ({before}, {after}))", x=..., before=..., after=...)`` is the tree of that call. The text
is source of this compiler, or a form of the table of functions; it never comes out of a printer.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s
from energyc.code.tree.expressions import Expr
from energyc.code.tree.node import Node

_HOLE = "hole_in_quotation_"
_UNARIES = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_BINARIES = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.MatMult: "@",
    ast.Pow: "**", ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.And: "and", ast.Or: "or",
}  # fmt: skip
_COMPARISONS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip


def quote(text: str, /, **holes: Expr) -> Expr:
    """An expression, its ``{holes}`` filled.

    Raises SyntaxError for what is not Python, KeyError for a hole without a filling, TypeError for Python that
    generated code does not use.
    """
    made = filled(_expression(text), holes)
    assert isinstance(made, Expr)
    return made


def quote_body(text: str, /, **holes: Expr) -> s.Body:
    """Statements, as :func:`quote`."""
    made = [filled(statement, holes) for statement in _body(text)]
    return tuple(statement for statement in made if isinstance(statement, s.Statement))


@cache
def _expression(text: str) -> Expr:
    return _expr(ast.parse(_marked(text), mode="eval").body)


@cache
def _body(text: str) -> s.Body:
    return tuple(_statements(ast.parse(_marked(text)).body))


def _marked(text: str) -> str:
    """The text with a name in the place of each hole; ``{{`` is a brace."""
    parts = string.Formatter().parse(text)
    return "".join(before + (f"{_HOLE}{hole}" if hole is not None else "") for before, hole, _, _ in parts)


def filled(node: Node, holes: Mapping[str, Expr]) -> Node:
    """Return a node with expressions in the place of its holes. Raises KeyError for a hole without one."""
    if isinstance(node, e.Hole):
        return holes[node.name]
    return node.mapped(lambda child: filled(child, holes))


# ------------------------------------------------------------------ from Python's own tree


def _expr(node: ast.expr) -> Expr:
    if type(node) not in _READERS:
        raise TypeError(f"generated code has no {type(node).__name__}")
    return _READERS[type(node)](node)


def _all(nodes: list[ast.expr]) -> tuple[Expr, ...]:
    return tuple(map(_expr, nodes))


def _perhaps(node: ast.expr | None) -> Expr | None:
    return None if node is None else _expr(node)


def _name(node: ast.Name) -> Expr:
    return e.Hole(node.id.removeprefix(_HOLE)) if node.id.startswith(_HOLE) else e.Name(node.id)


def _constant(node: ast.Constant) -> Expr:
    if isinstance(node.value, str):
        return e.String(node.value)
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return e.Number(node.value)
    return e.Constant(node.value)


def _call(node: ast.Call) -> Expr:
    keywords = tuple((str(keyword.arg), _expr(keyword.value)) for keyword in node.keywords)
    return e.Call(_expr(node.func), _all(node.args), keywords)


def _subscript(node: ast.Subscript) -> Expr:
    index = node.slice
    several = isinstance(index, ast.Tuple) and index.elts
    return e.Subscript(_expr(node.value), _all(index.elts) if several else (_expr(index),))  # type: ignore[attr-defined]


def _several(node: ast.BoolOp) -> Expr:
    first, *rest = _all(node.values)
    for part in rest:
        first = e.Binary(_BINARIES[type(node.op)], first, part)
    return first


def _compare(node: ast.Compare) -> Expr:
    if len(node.ops) != 1:
        raise TypeError("generated code has no chain of comparisons")
    return e.Comparison(_COMPARISONS[type(node.ops[0])], _expr(node.left), _expr(node.comparators[0]))


_READERS: Mapping[type[ast.expr], Callable[[Any], Expr]] = MappingProxyType(
    {
        ast.Name: _name,
        ast.Constant: _constant,
        ast.Attribute: lambda n: e.Attribute(_expr(n.value), n.attr),
        ast.Call: _call,
        ast.Subscript: _subscript,
        ast.Slice: lambda n: e.Slice(_perhaps(n.lower), _perhaps(n.upper), _perhaps(n.step)),
        ast.UnaryOp: lambda n: e.Unary(_UNARIES[type(n.op)], _expr(n.operand)),
        ast.BinOp: lambda n: e.Binary(_BINARIES[type(n.op)], _expr(n.left), _expr(n.right)),
        ast.BoolOp: _several,
        ast.Compare: _compare,
        ast.IfExp: lambda n: e.Conditional(_expr(n.test), _expr(n.body), _expr(n.orelse)),
        ast.Tuple: lambda n: e.Tuple(_all(n.elts)),
        ast.List: lambda n: e.List(_all(n.elts)),
        ast.Set: lambda n: e.SetOf(_all(n.elts)),
        ast.Dict: lambda n: e.Dict(tuple(zip(_all(n.keys), _all(n.values), strict=True))),
        ast.Starred: lambda n: e.Starred(_expr(n.value)),
    }
)


def _statements(nodes: list[ast.stmt]) -> Iterator[s.Statement]:
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=value):
                yield s.Assign(_expr(target), _expr(value))
            case ast.AugAssign(target=target, op=operator, value=value):
                yield s.Augment(_BINARIES[type(operator)], _expr(target), _expr(value))
            case ast.Expr(value=value):
                yield s.Do(_expr(value))
            case ast.Return(value=value):
                yield s.Return(_perhaps(value))
            case ast.If(test=test, body=body, orelse=otherwise):
                yield s.If(_expr(test), tuple(_statements(body)), tuple(_statements(otherwise)))
            case ast.For(target=target, iter=iterable, body=body, orelse=[]):
                yield s.For(_expr(target), _expr(iterable), tuple(_statements(body)))
            case ast.FunctionDef():
                yield _function(node)
            case _:
                raise TypeError(f"generated code has no {type(node).__name__}")


def _function(node: ast.FunctionDef) -> s.Function:
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        raise TypeError("generated functions have plain parameters")
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + [_expr(d) for d in arguments.defaults]
    given = zip(arguments.args, defaults, strict=True)
    doc = ast.get_docstring(node)
    return s.Function(
        node.name,
        tuple(s.Parameter(a.arg, _perhaps(a.annotation), default) for a, default in given),
        tuple(_statements(node.body[1:] if doc else node.body)),
        _perhaps(node.returns),
        tuple(doc.split("\n")) if doc else (),
        tuple(map(_expr, node.decorator_list)),
    )
