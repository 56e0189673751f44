"""The tree as C++."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s
from energyc.code.tree.expressions import Expr
from energyc.code.tree.node import Node

#: The most characters of a line.
WIDTH = 120

#: The text of an expression. A line can be broken behind a piece that ends with a space: an operator, a comma.
Pieces = list[str]

# How tightly each kind of expression binds.
_CONDITIONAL, _OR, _AND, _EQUAL, _ORDER = 1, 2, 3, 7, 8
_SUM, _PRODUCT, _UNARY, ATOM = 10, 11, 12, 13

#: For each operator of the tree its spelling, its level, and the level that its operands need; one of its own level on
#: the left needs no brackets. What compilers warn of (``a || b && c``) has brackets.
_BINARY: Mapping[str, tuple[str, int, int]] = MappingProxyType(
    {
        "or": ("||", _OR, _EQUAL),
        "and": ("&&", _AND, _EQUAL),
        "|": ("|", 4, _SUM),
        "^": ("^", 5, _SUM),
        "&": ("&", 6, _SUM),
        "+": ("+", _SUM, _PRODUCT),
        "-": ("-", _SUM, _PRODUCT),
        "*": ("*", _PRODUCT, _UNARY),
        "/": ("/", _PRODUCT, _UNARY),
        "%": ("%", _PRODUCT, _UNARY),
    }
)
_UNARIES = MappingProxyType({"not": "!", "~": "~", "-": "-", "+": "+", "*": "*", "&": "&", "++": "++", "--": "--"})
_EQUALITIES = frozenset({"==", "!="})


def expression(expr: Expr) -> str:
    """An expression on one line."""
    return "".join(_pieces(expr))


def program(module: s.Module) -> str:
    """A file."""
    return "\n".join(lines((*(s.Comment(line) for line in module.doc), *module.body))) + "\n"


def lines(body: Iterable[s.Statement], *, width: int = WIDTH) -> list[str]:
    """Statements as lines."""
    return [line for statement in body for line in _STATEMENTS[type(statement)](statement, width)]


# ------------------------------------------------------------------ expressions


def level(expr: Expr) -> int:
    """How tightly the outermost operator of an expression binds."""
    of = _LEVELS.get(type(expr))
    return ATOM if of is None else of(expr)


_LEVELS: Mapping[type[Node], Callable[[Any], int]] = MappingProxyType(
    {
        e.Binary: lambda x: _BINARY[x.operator][1],
        e.Comparison: lambda x: _EQUAL if x.operator in _EQUALITIES else _ORDER,
        e.Conditional: lambda x: _CONDITIONAL,
        e.Unary: lambda x: _UNARY,
        e.Cast: lambda x: _UNARY,
        e.Number: lambda x: _UNARY if str(x.value)[0] == "-" else ATOM,
        e.Template: lambda x: {"atom": ATOM, "power": _UNARY, "product": _PRODUCT}[x.level],
    }
)


def _pieces(expr: Expr) -> Pieces:
    printed = _EXPRESSIONS.get(type(expr))
    if printed is None:
        raise TypeError(f"C++ has no {type(expr).__name__}")
    return printed(expr)


def _at(expr: Expr, needed: int) -> Pieces:
    """An expression, in brackets where it binds less tightly than its place asks."""
    return _pieces(expr) if level(expr) >= needed else _bracketed(_pieces(expr))


def _bracketed(pieces: Pieces) -> Pieces:
    return ["(", *pieces, ")"]


def _items(opening: str, items: Iterable[Expr], closing: str) -> Pieces:
    inner = [piece for item in items for piece in (", ", *_pieces(item))]
    return [opening, *inner[1:], closing]


def _call(expr: e.Call) -> Pieces:
    if expr.keywords:
        raise TypeError("C++ has no keywords in calls")
    return [*_at(expr.function, ATOM), *_items("(", expr.arguments, ")")]


def _subscript(expr: e.Subscript) -> Pieces:
    """``a[i][j]``: an index in brackets of its own."""
    indices = (piece for index in expr.indices for piece in ("[", *_pieces(index), "]"))
    return [*_at(expr.value, ATOM), *indices]


def _unary(expr: e.Unary) -> Pieces:
    """A sign before a sign is set apart: ``--x`` is something else."""
    signs = expr.operator in "+-&" and level(expr.operand) == _UNARY
    return [_UNARIES[expr.operator], *_at(expr.operand, ATOM if signs else _UNARY)]


def _binary(expr: e.Binary) -> Pieces:
    first, operators = expr.chain
    pieces = _pieces(first)
    for binary in operators:
        if binary.operator not in _BINARY:
            raise TypeError(f"C++ has no operator {binary.operator}")
        spelt, own, needs = _BINARY[binary.operator]
        if own != level(binary.left) < needs:
            pieces = _bracketed(pieces)
        pieces += [f" {spelt} ", *_at(binary.right, needs)]
    return pieces


def _comparison(expr: e.Comparison) -> Pieces:
    return [*_at(expr.left, _SUM), f" {expr.operator} ", *_at(expr.right, _SUM)]


def _conditional(expr: e.Conditional) -> Pieces:
    return [*_at(expr.test, _OR), " ? ", *_at(expr.yes, _OR), " : ", *_at(expr.no, _CONDITIONAL)]


def _constant(expr: e.Constant) -> Pieces:
    return [{None: "nullptr", True: "true", False: "false"}[expr.value]]  # type: ignore[index]


def _template(expr: e.Template) -> Pieces:
    """The text with its holes filled: in brackets, but for one that a pair of brackets holds alone."""
    holes, pieces = dict(expr.holes), list[str]()
    written = list(string.Formatter().parse(expr.text))
    for k, (text, name, _, _) in enumerate(written):
        pieces.append(text)
        if name is not None:
            after = written[k + 1][0] if k + 1 < len(written) else ""
            alone = text.endswith("(") and after.startswith(")")
            pieces += _pieces(holes[name]) if alone else _at(holes[name], ATOM)
    return pieces


_EXPRESSIONS: Mapping[type[Node], Callable[[Any], Pieces]] = MappingProxyType(
    {
        e.Name: lambda x: [x.id],
        e.Number: lambda x: [repr(x.value)],
        e.Constant: _constant,
        e.Attribute: lambda x: [*_at(x.value, ATOM), f".{x.name}"],
        e.Call: _call,
        e.Subscript: _subscript,
        e.Unary: _unary,
        e.Binary: _binary,
        e.Comparison: _comparison,
        e.Conditional: _conditional,
        e.SetOf: lambda x: _items("{", x.items, "}"),
        e.Cast: lambda x: [f"({x.type})", *_at(x.value, _UNARY)],
        e.Template: _template,
    }
)

# ------------------------------------------------------------------ statements


def _below(body: s.Body, width: int) -> list[str]:
    return [f"    {line}".rstrip() for line in lines(body, width=width - 4)]


def _ended(pieces: Pieces, width: int, end: str = ";") -> Iterator[str]:
    """A statement with as many words on each line as fit; those after the first line stand to the right."""
    whole = f"{''.join(pieces)}{end}"
    if len(whole) <= width:
        yield whole
        return
    text = ""
    for word in _words([*pieces, end]):
        if text.strip() and len(text) + len(word.rstrip()) > width:
            yield text.rstrip()
            text = "    "
        text += word
    yield text


def _words(pieces: Pieces) -> Iterator[str]:
    """The parts of a line that are never broken: each goes up to an operator or a comma, which ends its line."""
    word = ""
    for piece in pieces:
        word += piece
        if piece.endswith(" "):
            yield word
            word = ""
    yield word


def _declare(statement: s.Declare, width: int) -> Iterator[str]:
    size = "" if statement.size is None else f"[{expression(statement.size)}]"
    value = [] if statement.value is None else [" = ", *_pieces(statement.value)]
    return _ended([f"{statement.type} {statement.name}", size, *value], width)


def _do(statement: s.Do, width: int) -> Iterator[str]:
    """An effect; a call that ends in a function of its own has its body below."""
    value = statement.value
    last = value.arguments[-1] if isinstance(value, e.Call) and value.arguments else None
    if isinstance(value, e.Call) and isinstance(last, s.Lambda):
        given = (piece for argument in value.arguments[:-1] for piece in (*_pieces(argument), ", "))
        head = f"[{last.captures}]({', '.join(map(_parameter, last.parameters))})"
        yield from _ended([*_pieces(value.function), "(", *given, head], width, " {")
        yield from _below(last.body, width)
        yield "});"
    else:
        yield from _ended(_pieces(value), width)


def _comment(statement: s.Comment, width: int) -> Iterator[str]:
    """Nothing in it ends it or goes on on the next line: no backslash, no trigraph."""
    words = re.sub(r"[\\\s?]+", " ", statement.text).split()
    line = "//"
    for word in words:
        if len(line) + 1 + len(word) > width and line != "//":
            yield line
            line = "//"
        line += f" {word}"
    yield from [line] if words else []


def _braced(head: str, body: s.Body, width: int, end: str = "}") -> Iterator[str]:
    yield f"{head} {{" if head else "{"
    yield from _below(body, width)
    yield end


def _under(head: str, body: s.Body, width: int) -> Iterator[str]:
    """A head with its body; a body of one short line goes without braces."""
    below = lines(body, width=width - 4)
    if len(body) == 1 and isinstance(body[0], s.Do | s.Assign | s.Augment) and len(below) == 1:
        whole = f"{head} {below[0]}"
        yield from [whole] if len(whole) <= width else [head, f"    {below[0]}"]
    else:
        yield from _braced(head, body, width)


def _loop(statement: s.Loop, width: int) -> Iterator[str]:
    name = statement.name
    step = f"++{name}" if statement.step is None else f"{name} += {expression(statement.step)}"
    end = "".join(_at(statement.end, _SUM))
    head = f"for ({statement.type} {name} = {expression(statement.start)}; {name} < {end}; {step})"
    return _under(head, statement.body, width)


def _parameter(parameter: s.Parameter) -> str:
    default = "" if parameter.default is None else f" = {expression(parameter.default)}"
    kind = "auto" if parameter.type is None else expression(parameter.type)
    return f"{kind} {parameter.name}{default}"


def _function(statement: s.Function, width: int) -> Iterator[str]:
    """A function; its documentation is a comment above it."""
    for text in statement.doc:
        yield from _comment(s.Comment(text), width)
    *heads, last = [*map(expression, statement.before), ""]
    returns = "void" if statement.returns is None else expression(statement.returns)
    static = " ".join(head for head in heads if not head.startswith("template"))
    yield from (head for head in heads if head.startswith("template"))
    before = f"{static} {returns} {statement.name}{last}".lstrip()
    after = f" {statement.after} {{" if statement.after else " {"
    given = ", ".join(map(_parameter, statement.parameters))
    yield from _head(f"{before}(", given, f"){after}{'' if statement.body else '}'}", width)
    yield from _below(statement.body, width)
    yield from ["}"] if statement.body else []


def _head(before: str, given: str, after: str, width: int) -> Iterator[str]:
    """The head of a function; parameters that do not fit go on below the first one."""
    line, indent = before, " " * len(before)
    words = [f"{part}," for part in given.split(", ")[:-1]] + given.split(", ")[-1:]
    for k, word in enumerate(words):
        piece = word if k == 0 else f" {word}"
        if len(line) + len(piece) + (len(after) if k == len(words) - 1 else 0) > width:
            yield line
            line = f"{indent}{word}"
        else:
            line += piece
    yield f"{line}{after}"


def _struct(statement: s.Class, width: int) -> Iterator[str]:
    for text in statement.doc:
        yield from _comment(s.Comment(text), width)
    yield from map(expression, statement.before)
    bases = f" : {', '.join(map(expression, statement.bases))}" if statement.bases else ""
    yield from _braced(f"struct {statement.name}{bases}", statement.body, width, "};")


def _block(statement: s.Block, width: int) -> Iterator[str]:
    """Braces; what is in a namespace is not indented."""
    if statement.head.startswith("namespace"):
        yield from (f"{statement.head} {{", "", *lines(statement.body, width=width), "", f"}}  // {statement.head}")
    else:
        end = "};" if statement.head.endswith("=") else "}"  # the items of an array
        yield from _braced(statement.head, statement.body, width, end)


_STATEMENTS: Mapping[type[Node], Callable[[Any, int], Iterable[str]]] = MappingProxyType(
    {
        s.Assign: lambda x, width: _ended([*_pieces(x.target), " = ", *_pieces(x.value)], width),
        s.Augment: lambda x, width: _ended([*_pieces(x.target), f" {x.operator}= ", *_pieces(x.value)], width),
        s.Do: _do,
        s.Comment: _comment,
        s.Blank: lambda x, width: [""],
        s.Verbatim: lambda x, width: x.text.split("\n"),
        s.Function: _function,
        s.Class: _struct,
        s.Declare: _declare,
        s.Loop: _loop,
        s.Block: _block,
        s.Directive: lambda x, width: [x.text],
    }
)
