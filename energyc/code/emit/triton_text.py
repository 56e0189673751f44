"""Expressions, addresses and names in Triton, over blocks of [places, entries of a row]."""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from energyc.code.emit.cpp_text import Names, bare
from energyc.code.emit.library import library
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

_SYMBOLS = {"and": "&", "or": "|"}
#: What the text around an expression uses.
_OWN = "tl triton torch real place inside samples sample now then given scalars memory n start".split()


def names_of_kernel() -> Names:
    """Identifiers that are free in a kernel and in the function that launches it."""
    return Names({*_OWN, *keyword.kwlist, *keyword.softkwlist, *dir(builtins), *library().definitions})


@dataclass(frozen=True)
class Index:
    """An integer or a condition: its text, and whether it differs along the ``places`` and along the ``row``."""

    text: str
    places: bool = False
    row: bool = False

    def plus(self, others: Iterable[Index]) -> tuple[bool, bool]:
        """Along what this and others differ together."""
        every = [self, *others]
        return any(o.places for o in every), any(o.row for o in every)


@dataclass(frozen=True)
class Value:
    """A real number: its text, and whether it has the type of the states already, as a plain number has not."""

    text: str
    typed: bool = True
    atom: bool = True


def number(value: float) -> str:
    """A constant."""
    if math.isfinite(value):
        return repr(float(value))
    return f'float("{value}")'


class Text:
    """Writes the expressions of one group; what is loaded on the way becomes a line of ``lines``.

    ``pointers`` and ``scalars`` are identifiers, ``held`` those of what is in registers, ``integers`` the buffers of
    integer inputs. ``labels`` are the indices at hand, ``masks`` what tells places from padding, by whether it is
    along the places and along the row, and ``along`` says that of names.
    """

    def __init__(
        self,
        pointers: Mapping[Buffer, str],
        scalars: Mapping[str, str],
        names: Names,
        integers: Mapping[Node, Buffer],
        sizes: Mapping[str, int],
    ) -> None:
        self.pointers, self.scalars, self.names = pointers, scalars, names
        self.integers, self.sizes = integers, sizes
        self.held: dict[Buffer, str] = {}
        self.lines: list[str] = []
        self.labels: Sequence[Index] = ()
        self.masks: Mapping[tuple[bool, bool], str] = {}
        self.loaded: dict[str, str] = {}
        self.along: dict[str, tuple[bool, bool]] = {}

    def shape(self, text: str) -> tuple[bool, bool]:
        """Whether a text differs along the places and along the row, as what it is made of does."""
        parts = [self.along.get(word, (False, False)) for word in re.findall(r"\w+", text)]
        parts += [(label.places, label.row) for label in self.labels if re.search(rf"\b{label.text}\b", text)]
        return any(part[0] for part in parts), any(part[1] for part in parts)

    # ------------------------------------------------------------ real numbers

    def expr(self, expr: Expr, guard: Index | None = None) -> Value:
        """An expression; what it reads is read where the guard holds."""
        match expr:
            case Number(value):
                return Value(number(value), False, value >= 0)
            case Scalar(name):
                return Value(self.scalars[name])
            case Load(buffer, place):
                return Value(self.held[buffer] if buffer in self.held else self.load(buffer, place, guard))
            case Total(terms):
                return self._total(terms, guard)
            case Times(factors):
                parts = [self.expr(part, guard) for part in factors]
                return Value(" * ".join(map(_atom, parts)), any(p.typed for p in parts), len(parts) == 1)
            case Call(function, argument):
                inside = self._typed(self.expr(argument, guard))
                form = function.form("triton")
                text = form.text.replace("{u}", bare(inside.text)).replace("{atom}", _atom(inside))
                return Value(text, True, form.binds == "atom")
            case Choice(condition, yes, no):
                test = self.index(condition, guard)
                sides = self.expr(yes, _both(guard, test)), self.expr(no, _both(guard, _negated(test)))
                return self._chosen(test.text, *sides)
            case Count(value):
                index = self.index(value, guard)
                if index.places or index.row:
                    return Value(f"{_closed(index.text)}.to(real)")
                return Value(f"float({bare(index.text)})", False)
            case Clip(argument, low, high):
                return self._clipped(self._typed(self.expr(argument, guard)), low, high)
            case Quotient(part, whole):
                top, below = self.expr(part, guard), self.expr(whole, guard)
                return Value(f"{_atom(top)} / {_atom(below)}", top.typed or below.typed, False)
            case Unless(test, value, usual, instead):
                at, kept, other = (self.expr(part, guard) for part in (test, usual, instead))
                return self._chosen(f"{_atom(at)} == {number(value)}", other, kept)

    def _chosen(self, test: str, yes: Value, no: Value) -> Value:
        if not yes.typed and not no.typed:
            yes = self._typed(yes)
        return Value(f"tl.where({bare(test)}, {bare(yes.text)}, {bare(no.text)})")

    def _typed(self, value: Value) -> Value:
        return value if value.typed else Value(f"tl.full((1, 1), {bare(value.text)}, real)")

    def _clipped(self, value: Value, low: float | None, high: float | None) -> Value:
        """Written so that NaN stays NaN."""
        if not value.text.isidentifier():
            value = Value(self.line("free", bare(value.text)))
        text = value.text
        if high is not None:
            text = f"tl.where({value.text} > {number(high)}, {number(high)}, {text})"
        if low is not None:
            text = f"tl.where({value.text} < {number(low)}, {number(low)}, {text})"
        return Value(text)

    def _total(self, terms: Sequence[tuple[float, Expr]], guard: Index | None) -> Value:
        if len(terms) == 1 and terms[0][0] == 1:
            return self.expr(terms[0][1], guard)
        text, typed = "", False
        for factor, term in terms:
            value = self.expr(term, guard)
            typed |= value.typed
            size = _factor(value) if abs(factor) == 1 else f"{number(abs(factor))} * {_atom(value)}"
            if not text:
                text = size if factor >= 0 else f"-{size}"
            else:
                text += f" {'-' if factor < 0 else '+'} {size}"
        return Value(f"({text})" if text else "0.0", typed)

    def line(self, wish: str, text: str) -> str:
        """A line that gives a value a name."""
        name = self.names.new(wish)
        self.lines.append(f"{name} = {text}")
        self.along[name] = self.shape(text)
        return name

    # ------------------------------------------------------------ memory

    def load(self, buffer: Buffer, place: Sequence[IndexExpr], guard: Index | None) -> str:
        """The name of an entry of a buffer."""
        pointer = self.pointers[buffer]
        address = self.address(buffer, place, guard)
        if buffer.size == 1 and not buffer.batched:
            guard = None
        at, mask = self._masked(address, guard)
        other = ", other=0" if mask and buffer.integers is not None else ", other=0.0" if mask else ""
        text = f"tl.load({pointer}{at}{mask}{other}){'.to(real)' if buffer.kind == 'scratch' else ''}"
        if text not in self.loaded:
            name = self.loaded[text] = self.line(f"{pointer}_here", text)
            self.along[name] = address.plus([guard] if guard is not None else [])
        return self.loaded[text]

    def store(self, buffer: Buffer, place: Sequence[IndexExpr], value: str) -> str:
        """The line that writes an entry."""
        at, mask = self._masked(self.address(buffer, place, None), None)
        return f"tl.store({self.pointers[buffer]}{at}, {value}{mask})"

    def _masked(self, at: Index, guard: Index | None) -> tuple[str, str]:
        """What is added to a pointer, and the mask, both along the same axes."""
        along = at.plus([guard] if guard is not None else [])
        text = at.text
        if along[0] and not at.places:
            text += " + 0 * place"
        if along[1] and not at.row:
            text += f" + 0 * {self._some_label()}"
        conditions = [c for c in (self.masks.get(along, ""), guard.text if guard is not None else "") if c]
        mask = " & ".join(conditions) if len(conditions) > 1 else bare(conditions[0]) if conditions else ""
        return f" + {text}" if text != "0" else "", f", mask={mask}" if mask else ""

    def _some_label(self) -> str:
        return next(label.text for label in self.labels if label.row)

    def address(self, buffer: Buffer, place: Sequence[IndexExpr], guard: Index | None) -> Index:
        """How far an entry is from the first one."""
        total, rest = Affine(0, ()), list[Index]()
        if buffer.batched:
            rest.append(Index("sample" if buffer.size == 1 else f"{buffer.size} * sample", True))
        for index, stride in zip(place, buffer.strides, strict=True):
            form = Affine.of(index, self.sizes)
            if form is None:
                found = self.index(index, guard)
                text = found.text if stride == 1 else f"{stride} * {_closed(found.text)}"
                rest.append(Index(text, found.places, found.row))
            else:
                total = total.plus(form.times(stride))
        for k, step in total.strides:
            label = self.labels[k]
            if label.text != "0":
                rest.append(Index(label.text if step == 1 else f"{step} * {label.text}", label.places, label.row))
        rest += [Index(str(total.offset))] if total.offset or not rest else []
        text = rest[0].text + "".join(f" - {r.text[1:]}" if r.text[0] == "-" else f" + {r.text}" for r in rest[1:])
        return Index(text, *rest[0].plus(rest[1:]))

    # ------------------------------------------------------------ integers

    def index(self, expr: IndexExpr, guard: Index | None) -> Index:
        """An integer or a condition."""
        if expr.op == "axis":
            return self.labels[expr.args[0]]  # type: ignore[index]
        if expr.op == "int":
            return Index(str(expr.args[0]))
        if expr.op == "size":
            return Index(str(self.sizes[expr.args[0]]))  # type: ignore[index]
        if expr.op == "true":
            return Index("True")
        if expr.op == "read":
            buffer = self.integers[expr.args[0]]  # type: ignore[index]
            at = self.address(buffer, expr.parts, guard)
            return Index(self.load(buffer, expr.parts, guard), *at.plus([guard] if guard is not None else []))
        parts = [self.index(expr.parts[0], guard)]
        for part in expr.parts[1:]:
            parts.append(self.index(part, _both(guard, parts[0]) if expr.op == "and" else guard))
        along = parts[0].plus(parts[1:])
        first, second = parts[0].text, parts[-1].text
        match expr.op:
            case "not":
                text = f"~{_closed(first)}" if any(along) else f"(not {first})"
            case "neg":
                text = f"(-{_closed(first)})"
            case "abs":
                text = f"tl.abs({bare(first)})" if any(along) else f"abs({bare(first)})"
            case "floor_div":
                text = f"block_floor_div({bare(first)}, {bare(second)})" if any(along) else f"({first} // {second})"
            case "mod":
                text = f"block_modulo({bare(first)}, {bare(second)})" if any(along) else f"({first} % {second})"
            case _:
                text = f"({first} {_SYMBOLS.get(expr.op, expr.op)} {second})"
        return Index(text, *along)


def _both(guard: Index | None, other: Index) -> Index:
    """Both conditions."""
    if guard is None:
        return other
    return Index(f"{guard.text} & {other.text}", *guard.plus([other]))


def _negated(test: Index) -> Index:
    return Index(f"~{_closed(test.text)}", test.places, test.row)


def _atom(value: Value) -> str:
    """The text as a factor."""
    return value.text if value.atom else f"({value.text})"


def _factor(value: Value) -> str:
    """The text as a term: products and quotients bind more tightly than sums."""
    return value.text if value.atom or not value.text.startswith("-") else f"({value.text})"


def _closed(text: str) -> str:
    """In parentheses, unless it is a name, a number, a call or in parentheses already."""
    return text if text.isidentifier() or text.isdecimal() or bare(text) != text else f"({text})"
