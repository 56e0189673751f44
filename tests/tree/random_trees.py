"""Random expressions of the tree, and the same ones in Python's own."""

from __future__ import annotations

import ast
import random

from energyc.code.tree import expressions as e
from energyc.code.tree.expressions import Expr

OPERATORS = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "@": ast.MatMult,
    "**": ast.Pow, "|": ast.BitOr, "&": ast.BitAnd, "^": ast.BitXor,
}  # fmt: skip
SIGNS = {"-": ast.USub, "+": ast.UAdd, "~": ast.Invert, "not": ast.Not}
COMPARISONS = {"<": ast.Lt, "<=": ast.LtE, "==": ast.Eq, "!=": ast.NotEq, "in": ast.In}

Pair = tuple[Expr, ast.expr]


def pair(draw: random.Random, depth: int) -> Pair:
    """An expression, and what Python should read it as."""
    if depth == 0:
        return _leaf(draw)
    kind = draw.choice(
        [_binary, _binary, _unary, _comparison, _logic, _conditional, _call, _subscript, _attribute, _many]
    )
    return kind(draw, depth - 1)


def _leaf(draw: random.Random) -> Pair:
    match draw.randrange(4):
        case 0:
            value = draw.choice([0, 2, 7, 0.5, 1e-05, 1e16])
            return e.Number(value), ast.Constant(value)
        case 1:
            text = draw.choice(["a", 'quo"te', "back\\slash", "line\nend", "é\u200b"])
            return e.String(text), ast.Constant(text)
        case 2:
            constant = draw.choice([None, True, False, ...])
            return e.Constant(constant), ast.Constant(constant)
    name = draw.choice("abcxyz")
    return e.Name(name), ast.Name(name)


def _binary(draw: random.Random, depth: int) -> Pair:
    operator = draw.choice(list(OPERATORS))
    (a, pa), (b, pb) = pair(draw, depth), pair(draw, depth)
    return e.Binary(operator, a, b), ast.BinOp(pa, OPERATORS[operator](), pb)


def _unary(draw: random.Random, depth: int) -> Pair:
    sign = draw.choice(list(SIGNS))
    a, pa = pair(draw, depth)
    return e.Unary(sign, a), ast.UnaryOp(SIGNS[sign](), pa)


def _comparison(draw: random.Random, depth: int) -> Pair:
    operator = draw.choice(list(COMPARISONS))
    (a, pa), (b, pb) = pair(draw, depth), pair(draw, depth)
    return e.Comparison(operator, a, b), ast.Compare(pa, [COMPARISONS[operator]()], [pb])


def _logic(draw: random.Random, depth: int) -> Pair:
    """Python reads ``a and b and c`` as one operator of three operands, as here: see :func:`plain`."""
    operator, kind = draw.choice([("and", ast.And), ("or", ast.Or)])
    (a, pa), (b, pb) = pair(draw, depth), pair(draw, depth)
    first = pa.values if isinstance(pa, ast.BoolOp) and isinstance(pa.op, kind) else [pa]
    return e.Binary(operator, a, b), ast.BoolOp(kind(), [*first, pb])


def _conditional(draw: random.Random, depth: int) -> Pair:
    (a, pa), (b, pb), (c, pc) = (pair(draw, depth) for _ in range(3))
    return e.Conditional(a, b, c), ast.IfExp(pa, pb, pc)


def _call(draw: random.Random, depth: int) -> Pair:
    (f, pf), (a, pa), (b, pb) = (pair(draw, depth) for _ in range(3))
    return e.Call(f, (a,), (("key", b),)), ast.Call(pf, [pa], [ast.keyword("key", pb)])


def _subscript(draw: random.Random, depth: int) -> Pair:
    """An index that is itself a tuple reads as several indices, so none is drawn."""
    (x, px), (a, pa), (b, pb) = (pair(draw, depth) for _ in range(3))
    if isinstance(a, e.Tuple):
        a, pa = e.Name("k"), ast.Name("k")
    match draw.randrange(3):
        case 0:
            return x[a], ast.Subscript(px, pa)
        case 1:
            return x[a, e.Slice(b)], ast.Subscript(px, ast.Tuple([pa, ast.Slice(pb)]))
    return x[e.Slice(None, a, b)], ast.Subscript(px, ast.Slice(None, pa, pb))


def _attribute(draw: random.Random, depth: int) -> Pair:
    x, px = pair(draw, depth)
    return x.attribute("T"), ast.Attribute(px, "T")


def _many(draw: random.Random, depth: int) -> Pair:
    items = [pair(draw, depth) for _ in range(draw.randrange(4))]
    ours, theirs = tuple(a for a, _ in items), [b for _, b in items]
    match draw.randrange(3):
        case 0:
            return e.Tuple(ours), ast.Tuple(theirs)
        case 1:
            return e.List(ours), ast.List(theirs)
    keys = [(e.String(str(k)), ast.Constant(str(k))) for k in range(len(items))]
    named = tuple((key, value) for (key, _), value in zip(keys, ours, strict=True))
    return e.Dict(named), ast.Dict([key for _, key in keys], theirs)
