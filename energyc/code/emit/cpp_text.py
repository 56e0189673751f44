"""Expressions, addresses and names in C++."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence

from energyc.code.loops.nest import (
    Buffer,
    Call,
    Choice,
    Clip,
    Count,
    Expr,
    Load,
    Number,
    Quotient,
    Scalar,
    Times,
    Total,
    Unless,
)
from energyc.mathematics.ir import IndexExpr, Node
from energyc.mathematics.ir.indexing import Affine

_SYMBOLS = {"and": "&&", "or": "||"}
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
#: Where a comment and an expression may be broken.
_SPACE, _BREAK = re.compile(" "), re.compile(r", | [-+*?:] ")
#: What the text around a kernel uses, and the words of the language.
_RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval
    constexpr constinit const_cast continue decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator
    or or_eq private protected public register reinterpret_cast requires return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t while xor xor_eq std of main errno NULL NAN INFINITY EOF assert
    T Int Label Places Vector ROWS SEVERAL FUNCTION VECTOR_BYTES places pack padded panel panel_rows multiply
    floor_div modulo relative_change workspace share n b memory packed samples steps states given scalars change
    threads thread room rooms first count start tile now next number place phase entry linux unix i386 signbit
    isnan isinf y0 y1 yn j0 j1 jn gamma
    """.split()
)


class Names:
    """Gives each wish an ASCII identifier that is free; the same wish never twice."""

    def __init__(self, reserved: Collection[str] = _RESERVED) -> None:
        self._taken = set(reserved)
        self._next: dict[str, int] = {}  # the first number that may be free after a name

    def new(self, wish: str) -> str:
        """The wish itself where it is a free ASCII identifier, else a near one."""
        base = wish if _IDENTIFIER.match(wish) else "v" + re.sub(r"[^A-Za-z0-9_]", "_", wish).strip("_")
        base = re.sub(r"__+", "_", base)
        name, k = base, self._next.get(base, 2)
        while name in self._taken:
            name, k = f"{base}_{k}", k + 1
        self._taken.add(name)
        self._next[base] = k
        return name


def number(value: float) -> str:
    """A constant of the type of the states."""
    if math.isinf(value):
        return "T(INFINITY)" if value > 0 else "T(-INFINITY)"
    return "T(NAN)" if math.isnan(value) else f"T({value!r})"


def comment(text: str) -> list[str]:
    """A line of comment; nothing in it ends it."""
    plain = re.sub(r"[\\\s?]+", " ", text).strip()
    return [f"// {plain}"] if plain else []


class Text:
    """Writes expressions of one kernel.

    ``names`` are the buffers' identifiers, ``integers`` the buffers of integer inputs. Within a group, rows and values
    are addressed without the ``depth`` outer labels.
    """

    def __init__(self, names: Mapping[Buffer, str], integers: Mapping[Node, Buffer], sizes: Mapping[str, int]) -> None:
        self.names, self.integers, self.sizes = names, integers, sizes

    def expr(self, expr: Expr, labels: Sequence[str], depth: int) -> str:
        """An expression, in parentheses where it is more than one term."""
        match expr:
            case Number(value):
                return number(value)
            case Scalar(name):
                return name
            case Load(buffer, place):
                return self.entry(buffer, place, labels, depth)
            case Total(terms):
                return self._total(terms, labels, depth)
            case Times(factors):
                return " * ".join(self.expr(part, labels, depth) for part in factors)
            case Call(function, argument):
                text = function.form("cpp").text
                return text.replace("{u}", bare(self.expr(argument, labels, depth)))
            case Choice(condition, yes, no):
                test = self.index(condition, labels)
                return f"({test} ? {self.expr(yes, labels, depth)} : {self.expr(no, labels, depth)})"
            case Count(value):
                return f"T({self.index(value, labels)})"
            case Clip(argument, low, high):
                ends = number(-math.inf if low is None else low), number(math.inf if high is None else high)
                return f"of::clip({bare(self.expr(argument, labels, depth))}, {', '.join(ends)})"
            case Quotient(part, whole):
                return f"({self.expr(part, labels, depth)} / ({self.expr(whole, labels, depth)}))"
            case Unless(test, value, usual, instead):
                at = self.expr(test, labels, depth)
                texts = [self.expr(part, labels, depth) for part in (instead, usual)]
                return f"({at} == {number(value)} ? {texts[0]} : {texts[1]})"

    def _total(self, terms: Sequence[tuple[float, Expr]], labels: Sequence[str], depth: int) -> str:
        text = ""
        for factor, term in terms:
            part = self.expr(term, labels, depth)
            size = part if abs(factor) == 1 else f"{number(abs(factor))} * {part}"
            if not text:
                text = size if factor >= 0 else f"-{size}"
            else:
                text += f" {'-' if factor < 0 else '+'} {size}"
        return f"({text or number(0.0)})"

    # ------------------------------------------------------------ places

    def entry(self, buffer: Buffer, place: Sequence[IndexExpr], labels: Sequence[str], depth: int) -> str:
        """An entry of a buffer."""
        name = self.names[buffer]
        if buffer.kind in ("value", "number"):
            return name
        local = buffer.kind == "row"
        first = depth if local else 0
        parts = [] if local or not buffer.batched else ["b" if buffer.size == 1 else f"{buffer.size} * b"]
        parts += self.address(place[first:], buffer.strides[first:], labels)
        return f"{name}[{' + '.join(parts) or '0'}]"

    def address(self, place: Sequence[IndexExpr], strides: Sequence[int], labels: Sequence[str]) -> list[str]:
        """The terms of how far an entry is from the first one."""
        total, rest = Affine(0, ()), []
        for index, stride in zip(place, strides, strict=True):
            form = Affine.of(index, self.sizes)
            if form is None:
                text = self.index(index, labels)
                rest.append(f"{stride} * ({text})" if stride != 1 else text)
            else:
                total = total.plus(form.times(stride))
        moving = [labels[k] if step == 1 else f"{step} * {labels[k]}" for k, step in total.strides if labels[k] != "0"]
        return [*rest, *moving, *([str(total.offset)] if total.offset else [])]

    def index(self, expr: IndexExpr, labels: Sequence[str]) -> str:
        """An integer or a condition."""
        parts = [self.index(part, labels) for part in expr.parts]
        match expr.op:
            case "axis":
                return labels[expr.args[0]]  # type: ignore[index]
            case "int":
                return str(expr.args[0])
            case "size":
                return str(self.sizes[expr.args[0]])  # type: ignore[index]
            case "read":
                buffer = self.integers[expr.args[0]]  # type: ignore[index]
                return self.entry(buffer, expr.parts, labels, 0)
            case "true":
                return "true"
            case "not":
                return f"!({parts[0]})"
            case "neg":
                return f"(-{parts[0]})"
            case "abs":
                return f"std::abs({parts[0]})"
            case "floor_div":
                return f"floor_div({parts[0]}, {parts[1]})"
            case "mod":
                return f"modulo({parts[0]}, {parts[1]})"
        return f"({parts[0]} {_SYMBOLS.get(expr.op, expr.op)} {parts[1]})"


def bare(text: str) -> str:
    """Without the parentheses around the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]


def folded(line: str, width: int = 120) -> list[str]:
    """A line in pieces that fit the width; a comment goes on as a comment, an expression at an operator or comma."""
    pieces: list[str] = []
    while len(line) > width and not line.lstrip().startswith("#"):
        indent = line[: len(line) - len(line.lstrip())]
        remark = line.lstrip().startswith("//")
        ends = [match.end() for match in (_SPACE if remark else _BREAK).finditer(line, 0, width)]
        if not ends or ends[-1] <= len(indent) + 3:
            break
        pieces.append(line[: ends[-1]].rstrip())
        line = f"{indent}{'// ' if remark else '    '}{line[ends[-1] :]}"
    return [*pieces, line]
