"""The tree as Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s
from energyc.code.tree.expressions import Expr
from energyc.code.tree.layout import Group, Line, broken, joined
from energyc.code.tree.node import Node
from energyc.code.tree.prose import wrapped

#: The most characters of a line of code; the indentation of a class does not count.
WIDTH = 116

# How tightly each kind of expression binds: the brackets of a whole program follow from these numbers.
_TUPLE, _CONDITIONAL, _OR, _AND, _NOT, _COMPARISON = 0, 1, 2, 3, 4, 5
_SUM, _PRODUCT, _UNARY, _POWER, ATOM = 9, 10, 11, 12, 13

#: For each operator its level, and the levels that its operands need.
_BINARY: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "or": (_OR, _OR, _AND),
        "and": (_AND, _AND, _NOT),
        "|": (6, 6, 7),
        "^": (7, 7, 8),
        "&": (8, 8, _SUM),
        "+": (_SUM, _SUM, _PRODUCT),
        "-": (_SUM, _SUM, _PRODUCT),
        "*": (_PRODUCT, _PRODUCT, _UNARY),
        "/": (_PRODUCT, _PRODUCT, _UNARY),
        "//": (_PRODUCT, _PRODUCT, _UNARY),
        "%": (_PRODUCT, _PRODUCT, _UNARY),
        "@": (_PRODUCT, _PRODUCT, ATOM),
        "**": (_POWER, ATOM, _UNARY),
    }
)
_UNARIES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"-": (_UNARY, _UNARY), "+": (_UNARY, _UNARY), "~": (_UNARY, _UNARY), "not": (_NOT, _NOT)}
)


def expression(expr: Expr) -> str:
    """An expression on one line."""
    return _line(expr).text


def lines(body: Iterable[s.Statement], *, width: int = WIDTH, between: int = 2) -> list[str]:
    """Statements as lines, with ``between`` empty lines around each function and class."""
    statements, printed = list(body), list[str]()
    for k, statement in enumerate(statements):
        if k and (_large(statement) or _large(statements[k - 1])) and not isinstance(statements[k - 1], s.Comment):
            printed += [""] * between
        printed += _STATEMENTS[type(statement)](statement, width)
    return printed


def literal_text(value: str) -> str:
    """A string literal, in double quotes; what cannot be seen is spelt out."""
    return '"' + "".join(_spelt(char) for char in value) + '"'


def _spelt(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    return char if char.isprintable() else char.encode("unicode_escape").decode()


# ------------------------------------------------------------------ expressions


def level(expr: Expr) -> int:
    """How tightly the outermost operator of an expression binds."""
    match expr:
        case e.Binary(operator):
            return _BINARY[operator][0]
        case e.Unary(operator):
            return _UNARIES[operator][0]
        case e.Comparison():
            return _COMPARISON
        case e.Conditional():
            return _CONDITIONAL
        case e.Number(value):
            return _UNARY if str(value)[0] == "-" else ATOM
        case e.Tuple(_, bare):
            return _TUPLE if bare else ATOM
    return ATOM


def _line(expr: Expr) -> Line:
    """An expression as a line."""
    return _EXPRESSIONS[type(expr)](expr)


def _at(expr: Expr, needed: int) -> Line:
    """An expression, in brackets where it binds less tightly than its place asks."""
    line = _line(expr)
    return line.whole if level(expr) >= needed else _bracketed(line)


def _bracketed(line: Line) -> Line:
    return Line((Group("(", (line.whole,), ")"),))


def _optional(before: str, expr: Expr | None) -> Line:
    """``before`` and an expression; nothing where there is none."""
    return Line(()) if expr is None else joined(before, _at(expr, _CONDITIONAL))


def _group(opening: str, items: Iterable[Line], closing: str, closed: bool = False) -> Line:
    return Line((Group(opening, tuple(items), closing, closed),))


def _number(expr: e.Number) -> Line:
    return Line((repr(expr.value),))


def _attribute(expr: e.Attribute) -> Line:
    whole_number = isinstance(expr.value, e.Number) and isinstance(expr.value.value, int)
    return joined(_at(expr.value, ATOM + whole_number), f".{expr.name}")


def _call(expr: e.Call) -> Line:
    given = [_at(argument, _CONDITIONAL) for argument in expr.arguments]
    given += [joined(f"{name}=", _at(value, _CONDITIONAL)) for name, value in expr.keywords]
    return joined(_at(expr.function, ATOM), Group("(", tuple(given), ")"))


def _subscript(expr: e.Subscript) -> Line:
    (*others, last) = expr.indices
    closed = not others and isinstance(last, e.Starred)
    return joined(_at(expr.value, ATOM), _group("[", map(_index, expr.indices), "]", closed))


def _index(expr: Expr) -> Line:
    return _line(expr).whole if isinstance(expr, e.Slice) else _at(expr, _CONDITIONAL)


def _slice(expr: e.Slice) -> Line:
    return joined(_optional("", expr.lower), ":", _optional("", expr.upper), _optional(":", expr.step))


def _unary(expr: e.Unary) -> Line:
    space = " " if expr.operator.isalpha() else ""
    return joined(f"{expr.operator}{space}", _at(expr.operand, _UNARIES[expr.operator][1]))


def _binary(expr: e.Binary) -> Line:
    """Operands with operators between them; a sum can be broken before each of its terms."""
    first, operators = expr.chain
    parts, cuts = list(_line(first).parts), list[int]()
    for binary in operators:
        _, left_needs, right_needs = _BINARY[binary.operator]
        if level(binary.left) < left_needs:
            parts, cuts = list(_bracketed(Line(tuple(parts))).parts), []
        if binary.operator in ("+", "-"):
            cuts.append(len(parts))
        else:
            cuts = []
        parts += [f" {binary.operator} ", *_at(binary.right, right_needs).parts]
    return Line(tuple(parts), tuple(cuts))


def _comparison(expr: e.Comparison) -> Line:
    return joined(_at(expr.left, _COMPARISON + 1), f" {expr.operator} ", _at(expr.right, _COMPARISON + 1))


def _conditional(expr: e.Conditional) -> Line:
    test, yes = (_at(part, _CONDITIONAL + 1) for part in (expr.test, expr.yes))
    return joined(yes, " if ", test, " else ", _at(expr.no, _CONDITIONAL))


def _tuple(expr: e.Tuple) -> Line:
    items = [_at(item, _CONDITIONAL) for item in expr.items]
    if not expr.bare:
        return _group("(", items, ")", len(items) == 1)
    apart = [joined(", " if k else "", item) for k, item in enumerate(items)]
    return joined(*apart, "," if len(items) == 1 else "")


def _list(expr: e.List) -> Line:
    return _group("[", (_at(item, _CONDITIONAL) for item in expr.items), "]")


def _set(expr: e.SetOf) -> Line:
    return _group("{", (_at(item, _CONDITIONAL) for item in expr.items), "}")


def _dict(expr: e.Dict) -> Line:
    return _group("{", (_entry(key, value) for key, value in expr.items), "}")


def _entry(key: Expr, value: Expr) -> Line:
    line = _line(value) if level(value) >= _CONDITIONAL else _at(value, _CONDITIONAL)
    return line.after(*joined(_at(key, _CONDITIONAL), ": ").parts)


_EXPRESSIONS: Mapping[type[Node], Callable[[Any], Line]] = MappingProxyType(
    {
        e.Name: lambda x: Line((x.id,)),
        e.Number: _number,
        e.String: lambda x: Line((literal_text(x.value),)),
        e.Constant: lambda x: Line(("..." if x.value is ... else repr(x.value),)),
        e.Attribute: _attribute,
        e.Call: _call,
        e.Subscript: _subscript,
        e.Slice: _slice,
        e.Unary: _unary,
        e.Binary: _binary,
        e.Comparison: _comparison,
        e.Conditional: _conditional,
        e.Tuple: _tuple,
        e.List: _list,
        e.SetOf: _set,
        e.Dict: _dict,
        e.Starred: lambda x: joined("*", _at(x.value, 6)),
    }
)

# ------------------------------------------------------------------ statements


def _below(body: s.Body, width: int) -> list[str]:
    """The body of a head; an empty one has a line all the same."""
    printed = lines(body, width=width - 4, between=1) or ["pass"]
    return [f"    {line}" if line else "" for line in printed]


def _value(before: Line, value: Expr, width: int) -> Iterator[str]:
    """``before value``; only what a plain name is given is broken at the terms of a sum."""
    return broken(_line(value).after(*before.parts), width)


def _assign(statement: s.Assign, width: int) -> Iterator[str]:
    before = joined(_line(statement.target), " = ")
    if isinstance(statement.target, e.Name):
        return _value(before, statement.value, width)
    return broken(joined(before, _line(statement.value)), width)


def _augment(statement: s.Augment, width: int) -> Iterator[str]:
    return _value(joined(_line(statement.target), f" {statement.operator}= "), statement.value, width)


def _annotated(statement: s.Annotated, width: int) -> Iterator[str]:
    line = joined(f"{statement.name}: ", _line(statement.type), _optional(" = ", statement.value))
    *first, last = broken(line, width)
    return iter([*first, f"{last}  # {statement.comment}" if statement.comment else last])


def _return(statement: s.Return, width: int) -> Iterator[str]:
    if statement.value is None:
        return iter(["return"])
    return _value(Line(("return ",)), statement.value, width)


def _comment(statement: s.Comment, width: int) -> Iterator[str]:
    """Wrapped; the lines after the first one stand a little to the right."""
    mark = "#: " if statement.documents else "# "
    text = " ".join(statement.text.split())
    rest = "" if statement.documents else "  "
    return (f"{mark}{line}" for line in wrapped(text, rest))


def _import(statement: s.Import, width: int) -> Iterator[str]:
    if not statement.names:
        return iter([f"import {statement.module}" + (f" as {statement.alias}" if statement.alias else "")])
    renamed = f" as {statement.alias}" if statement.alias else ""
    line = f"from {statement.module} import {', '.join(statement.names)}{renamed}"
    each = [f"    {name}," for name in statement.names]
    return iter([line] if len(line) <= width + 8 else [f"from {statement.module} import (", *each, ")"])


def _if(statement: s.If, width: int) -> Iterator[str]:
    yield from broken(joined("if ", _line(statement.test), ":"), width)
    yield from _below(statement.body, width)
    otherwise = statement.otherwise
    if len(otherwise) == 1 and isinstance(otherwise[0], s.If):
        first, *rest = _if(otherwise[0], width)
        yield from (f"el{first}", *rest)
    elif otherwise:
        yield from ("else:", *_below(otherwise, width))


def _for(statement: s.For, width: int) -> Iterator[str]:
    yield from broken(joined("for ", _line(statement.target), " in ", _line(statement.iterable), ":"), width)
    yield from _below(statement.body, width)


def _function(statement: s.Function, width: int) -> Iterator[str]:
    yield from (f"@{expression(decorator)}" for decorator in statement.before)
    yield from _head(statement, width)
    yield from docstring(statement.doc, "    ")
    if statement.body or not statement.doc:
        yield from _below(statement.body, width)


def _head(statement: s.Function, width: int) -> Iterator[str]:
    """On a line, else the parameters on one of their own, else each of them."""
    parameters = tuple(map(_parameter, statement.parameters))
    returns = _optional(" -> ", statement.returns)
    line = joined(f"def {statement.name}", Group("(", parameters, ")"), returns, ":")
    together = f"    {', '.join(p.text for p in parameters)}"
    if len(line.text) <= width or len(together) > width:
        return broken(line, width)
    return iter([f"def {statement.name}(", together, f"){returns.text}:"])


def _parameter(parameter: s.Parameter) -> Line:
    kind = _optional(": ", parameter.type)
    return joined(parameter.name, kind, _optional(" = " if parameter.type else "=", parameter.default))


def _class(statement: s.Class, width: int) -> Iterator[str]:
    """The indentation of a class does not count in the width of its lines."""
    yield from (f"@{expression(decorator)}" for decorator in statement.before)
    bases = _group("(", map(_line, statement.bases), ")") if statement.bases else ""
    yield from broken(joined(f"class {statement.name}", bases, ":"), width)
    yield from docstring(statement.doc, "    ")
    yield from [""] if statement.doc and statement.body else []
    if statement.body or not statement.doc:
        yield from _below(statement.body, width + 4)


def docstring(doc: tuple[str, ...], indent: str) -> list[str]:
    """Lines between triple quotes: nothing in them ends them, and what cannot be seen is spelt out."""
    if not doc:
        return []
    first, *rest = map(_escaped, doc)
    if not rest:
        return [f'{indent}"""{first}"""']
    return [f'{indent}"""{first}', *(f"{indent}{line}".rstrip() for line in rest), f'{indent}"""']


def _escaped(text: str) -> str:
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(shown).replace("\\", "\\\\").replace('"""', "'''")


def _large(statement: s.Statement) -> bool:
    """Whether empty lines set it apart: a definition."""
    return isinstance(statement, s.Function | s.Class) or (
        isinstance(statement, s.Verbatim) and bool(statement.defines)
    )


_STATEMENTS: Mapping[type[Node], Callable[[Any, int], Iterable[str]]] = MappingProxyType(
    {
        s.Assign: _assign,
        s.Augment: _augment,
        s.Annotated: _annotated,
        s.Do: lambda x, width: broken(_line(x.value).whole, width),
        s.Return: _return,
        s.Comment: _comment,
        s.Blank: lambda x, width: [""],
        s.Import: _import,
        s.Verbatim: lambda x, width: x.text.split("\n"),
        s.If: _if,
        s.For: _for,
        s.Function: _function,
        s.Class: _class,
    }
)
