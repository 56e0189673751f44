"""Expressions, addresses and conditions of a group in Triton, over blocks of [places, entries of a row]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

from energyc.code.loops.nest import Buffer, Expr, Kernel, Load, Scalar
from energyc.code.targets.names import Names
from energyc.code.targets.sums import ZERO, address, product, signed_sum, size, terms_of, times
from energyc.code.targets.triton.values import KNOWN, PLACES, PLAIN, Along, Index, Value, both, negated
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s
from energyc.code.tree.quotation import quote
from energyc.mathematics.expressions import Call, Clip, Comparison, IndexValue, NoRule, Product, Sum, Where
from energyc.mathematics.functions import ScalarFunction
from energyc.mathematics.ir import IndexExpr
from energyc.mathematics.ir.indexing import BOOLEAN, Affine

#: The type in which a group computes, by the name that it has there.
REAL = e.Name("real")


class Expressions:
    """Writes the expressions of one group; what is loaded on the way becomes a line of ``lines``.

    ``pointers`` are identifiers, ``held`` is what is in registers, ``scalars`` the numbers that the caller gives.
    ``labels`` are the indices at hand, ``masks`` what tells places from padding, by where a value differs; ``sample``
    is that of the places.
    """

    def __init__(self, kernel: Kernel, pointers: Mapping[Buffer, str], names: Names) -> None:
        self.pointers, self.names, self.sizes = pointers, names, kernel.sizes
        self.integers = {node: buffer for node, buffer in kernel.given if buffer.integers is not None}
        self.scalars: dict[str, Value] = {}
        self.held: dict[Buffer, Value] = {}
        self.lines: list[s.Statement] = []
        self.sample = Index(e.Name("sample"), PLACES)
        self.labels: Sequence[Index] = ()
        self.masks: Mapping[Along, Index | None] = {}
        self.loaded: dict[e.Expr, Value] = {}

    # ------------------------------------------------------------ real numbers

    def of(self, expr: Expr, guard: Index | None = None) -> Value:
        """An expression; what it reads is read where the guard holds."""
        match expr:
            case Product(value, (), ()):
                return Value(number(value), typed=False)
            case Scalar(name):
                return self.scalars[name]
            case Load(buffer, place):
                return self.held[buffer] if buffer in self.held else self.load(buffer, place, guard)
            case Product(1, factors, divisors):
                return self._product(factors, divisors, guard)
            case Sum() | Product():
                return self._sum(expr, guard)
            case Call(ScalarFunction() as function, (argument,)):
                inside, form = self.typed(self.of(argument, guard)), function.form("triton").text
                return Value(quote(form, u=inside.code, atom=inside.code), inside.along)
            case Where(IndexExpr() as condition, yes, no):
                test = self.index(condition, guard)
                sides = self.of(yes, both(guard, test)), self.of(no, both(guard, negated(test)))
                return self._chosen(test, *sides)
            case IndexValue(value):
                return _counted(self.index(value, guard))
            case Clip(argument, low, high):
                return self._clipped(self.typed(self.of(argument, guard)), low, high)
            case Where(Comparison("!=", test, Product(value, (), ())), usual, instead):
                at, kept, other = (self.of(part, guard) for part in (test, usual, instead))
                return self._chosen(Index(e.Comparison("==", at.code, number(value)), at.along), other, kept)
        raise NoRule("an expression in Triton", expr)

    def _product(self, factors: Sequence[Expr], divisors: Sequence[Expr], guard: Index | None) -> Value:
        above, below = ([self.of(part, guard) for part in side] for side in (factors or (Product(1.0),), divisors))
        code = product(part.code for part in above)
        if below:
            code = e.Binary("/", code, product(part.code for part in below))
        return _made(code, *above, *below)

    def _sum(self, expr: Expr, guard: Index | None) -> Value:
        terms, values = list[tuple[float, e.Expr]](), list[Value]()
        for factor, term in terms_of(expr):
            value = self.of(term, guard)
            values.append(value)
            terms.append((factor, value.code if abs(factor) == 1 else product([number(abs(factor)), value.code])))
        return _made(signed_sum(terms), *values) if terms else Value(number(0.0), typed=False)

    def _chosen(self, test: Index, yes: Value, no: Value) -> Value:
        if not yes.typed and not no.typed:
            yes = self.typed(yes)
        return Value(e.call("tl.where", test.code, yes.code, no.code), test.along | yes.along | no.along)

    def typed(self, value: Value) -> Value:
        """The value in the type of the states."""
        return value if value.typed else Value(full(e.integers(1, 1), value.code))

    def _clipped(self, value: Value, low: float | None, high: float | None) -> Value:
        """Written so that NaN stays NaN."""
        if not isinstance(value.code, e.Name):
            value = self.line("free", value)
        code = value.code
        for end, operator in ((high, ">"), (low, "<")):
            if end is not None:
                code = e.call("tl.where", e.Comparison(operator, value.code, number(end)), number(end), code)
        return Value(code, value.along)

    def line(self, wish: str, value: Value) -> Value:
        """The value under a name of its own, which a line gives it."""
        name = e.Name(self.names.new(wish))
        self.lines.append(s.Assign(name, value.code))
        return Value(name, value.along, value.typed)

    # ------------------------------------------------------------ memory

    def load(self, buffer: Buffer, place: Sequence[IndexExpr], guard: Index | None) -> Value:
        """An entry of a buffer, by the name of what is loaded."""
        if buffer.size == 1 and not buffer.batched:
            guard = None
        at, mask = self._pointed(buffer, place, guard)
        keywords = {} if mask is None else {"mask": mask.code, "other": e.Number(0 if buffer.integers else 0.0)}
        entry: e.Expr = e.call("tl.load", at.code, **keywords)
        if buffer.kind == "scratch":
            entry = entry.method("to", REAL)
        if entry not in self.loaded:
            self.loaded[entry] = self.line(buffer.name, Value(entry, at.along | KNOWN))
        return self.loaded[entry]

    def store(self, buffer: Buffer, place: Sequence[IndexExpr], value: e.Expr) -> s.Statement:
        """The line that writes an entry; what is computed once for all places is a block of one, as its place is."""
        at, mask = self._pointed(buffer, place, None)
        if not at.along.block:
            one = e.call("tl.arange", e.Number(0), e.Number(1))[e.Slice(), e.Constant(None)]
            at = Index(e.Binary("+", at.code, one), at.along)
        return s.Do(e.call("tl.store", at.code, value, **({} if mask is None else {"mask": mask.code})))

    def _pointed(self, buffer: Buffer, place: Sequence[IndexExpr], guard: Index | None) -> tuple[Index, Index | None]:
        """Where an entry is, and the mask, both along the same axes."""
        moves = list(self._moves(buffer, place, guard))
        own, terms = _along([index for _, index in moves]), address((step, index.code) for step, index in moves)
        along = own | (guard.along if guard is not None else PLAIN)
        if along.places and not own.places:
            terms.append((1, e.Binary("*", ZERO, e.Name("place"))))
        if along.row and not own.row:
            terms.append((1, e.Binary("*", ZERO, next(x.code for x in self.labels if x.along.row))))
        return Index(moved(self.pointers[buffer], terms), along), both(self.masks.get(along.shape), guard)

    def _moves(self, buffer: Buffer, place: Sequence[IndexExpr], guard: Index | None) -> Iterator[tuple[int, Index]]:
        """How far an entry is from the first one: steps, and what they are taken of."""
        whole = Affine(0, ())
        if buffer.batched:
            yield buffer.size, self.sample
        for index, stride in zip(place, buffer.strides, strict=True):
            form = Affine.of(index, self.sizes)
            if form is None:
                yield stride, self.index(index, guard)
            else:
                whole = whole.plus(form.times(stride))
        yield from ((step, self.labels[k]) for k, step in whole.strides if self.labels[k].code != ZERO)
        if whole.offset:
            yield (1 if whole.offset > 0 else -1), Index(e.Number(abs(whole.offset)))

    # ------------------------------------------------------------ integers

    def index(self, expr: IndexExpr, guard: Index | None) -> Index:
        """An integer or a condition."""
        match expr.op:
            case "axis":
                return self.labels[expr.args[0]]  # type: ignore[index]
            case "int":
                return Index(size(expr.args[0]))  # type: ignore[arg-type]
            case "size":
                return Index(size(self.sizes[expr.args[0]]))  # type: ignore[index]
            case "true":
                return Index(e.Constant(True))
            case "read":
                found = self.load(self.integers[expr.args[0]], expr.parts, guard)  # type: ignore[index]
                return Index(found.code, found.along)
        parts = [self.index(expr.parts[0], guard)]
        for part in expr.parts[1:]:
            parts.append(self.index(part, both(guard, parts[0]) if expr.op == "and" else guard))
        along = _along(parts)
        return Index(_operated(expr.op, [part.code for part in parts], along.tensor), along)


def moved(pointer: str, terms: Iterable[tuple[int, e.Expr]]) -> e.Expr:
    """A pointer that is moved by steps, and what they are taken of."""
    start: tuple[float, e.Expr] = (1.0, e.Name(pointer))
    return signed_sum([start, *((step, times(step if step > 0 else -step, label)) for step, label in terms)])


def _operated(op: str, parts: Sequence[e.Expr], tensor: bool) -> e.Expr:
    """An operation on integers or truth values, of Triton's or of Python's."""
    match op:
        case "not":
            return e.Unary("~" if tensor else "not", *parts)
        case "neg":
            return e.Unary("-", *parts)
        case "abs":
            return e.call("tl.abs" if tensor else "abs", *parts)
        case "floor_div":
            return e.call("block_floor_div", *parts) if tensor else e.Binary("//", *parts)
        case "mod":
            return e.call("block_modulo", *parts) if tensor else e.Binary("%", *parts)
        case "and" | "or":
            return e.Binary({"and": "&", "or": "|"}[op], *parts)
    return (e.Comparison if op in BOOLEAN else e.Binary)(op, *parts)


def number(value: float) -> e.Expr:
    """A constant; one that is not finite is ``float("inf")``."""
    return e.number(value) if isinstance(value, e.Exact) else e.literal(float(value))


def full(shape: e.Expr, value: e.Expr) -> e.Expr:
    """A block with the same in all places."""
    return e.call("tl.full", shape, value, REAL)


def _along(parts: Sequence[Index]) -> Along:
    """Where a value of parts differs."""
    return reduce(or_, (part.along for part in parts), PLAIN)


def _made(code: e.Expr, *parts: Value) -> Value:
    """A value of parts, typed where one of them is."""
    return Value(code, reduce(or_, (part.along for part in parts), PLAIN), any(part.typed for part in parts))


def _counted(index: Index) -> Value:
    """An integer as a real number."""
    if index.along.tensor:
        return Value(index.code.method("to", REAL), index.along)
    return Value(e.call("float", index.code), typed=False)
