"""Expressions, addresses and conditions of a kernel as C++."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from energyc.code.loops.nest import Buffer, Expr, Kernel, Load, Scalar
from energyc.code.targets.sums import ZERO, address, product, signed_sum, size, terms_of, times, total
from energyc.code.tree import expressions as e
from energyc.mathematics.expressions import Call, Clip, Comparison, IndexValue, NoRule, Product, Sum, Where
from energyc.mathematics.functions import ScalarFunction
from energyc.mathematics.ir import IndexExpr
from energyc.mathematics.ir.indexing import BOOLEAN, Affine


@dataclass(frozen=True)
class Here:
    """Where an expression stands: what its labels are; ``depth`` of them are those of the loops around a row."""

    labels: tuple[e.Expr, ...]
    depth: int = 0


class Expressions:
    """Writes the expressions of one kernel.

    ``names`` are the identifiers of buffers, ``scalars`` those of numbers that the caller gives. A row is addressed
    without the labels around it.
    """

    def __init__(self, kernel: Kernel, names: Mapping[Buffer, str], scalars: Mapping[str, str]) -> None:
        self.names, self.scalars, self.sizes = names, scalars, kernel.sizes
        self.integers = {node: buffer for node, buffer in kernel.given if buffer.integers is not None}
        #: What is computed already, by the name of its value.
        self.held: dict[Expr, e.Expr] = {}
        #: The place in its row at which a buffer begins that holds a part of one.
        self.begins: dict[Buffer, e.Expr] = {}

    def of(self, expr: Expr, here: Here) -> e.Expr:
        """A real number."""
        match expr:
            case Product(value, (), ()):
                return real(value)
            case Scalar(name):
                return e.Name(self.scalars[name])
            case Load(buffer, place):
                return self.entry(buffer, place, here)
            case Product(1, _, ()):
                return product(self._factors(expr, here))
            case Product(1, factors, divisors):
                parts = factors or (Product(1.0),), divisors
                above, below = (product(self.of(part, here) for part in side) for side in parts)
                return e.Binary("/", above, below)
            case Sum() | Product():
                return self._sum(expr, here)
            case Call() if expr in self.held:
                return self.held[expr]
            case Call(ScalarFunction() as function, (argument,)):
                form, inside = function.form("cpp"), self.of(argument, here)
                return e.Template(form.text, (("u", inside), ("atom", inside)), form.binds)
            case Where(IndexExpr() as condition, yes, no):
                return e.Conditional(self.index(condition, here), self.of(yes, here), self.of(no, here))
            case IndexValue(value):
                return e.call("T", self.index(value, here))
            case Clip(argument, low, high):
                ends = real(-math.inf if low is None else low), real(math.inf if high is None else high)
                return e.call("of::clip", self.of(argument, here), *ends)
            case Where(Comparison("!=", test, Product(value, (), ())), usual, instead):
                met = e.Comparison("==", self.of(test, here), real(value))
                return e.Conditional(met, self.of(instead, here), self.of(usual, here))
        raise NoRule("an expression in C++", expr)

    def _factors(self, expr: Expr, here: Here) -> Iterator[e.Expr]:
        """The factors of a product and of the products in it, which is one chain."""
        match expr:
            case Product(1, factors, ()) if factors:
                for part in factors:
                    yield from self._factors(part, here)
            case _:
                yield self.of(expr, here)

    def _sum(self, expr: Expr, here: Here) -> e.Expr:
        terms = list[tuple[float, e.Expr]]()
        for factor, term in terms_of(expr):
            scale = [] if abs(factor) == 1 else [real(abs(factor))]
            terms.append((factor, product([*scale, *self._factors(term, here)])))
        return signed_sum(terms) if terms else real(0.0)

    # ------------------------------------------------------------ places

    def entry(self, buffer: Buffer, place: Sequence[IndexExpr], here: Here) -> e.Expr:
        """An entry of a buffer."""
        name = e.Name(self.names[buffer])
        if buffer.kind in ("value", "number"):
            return name
        local = buffer.kind == "row"
        first = here.depth if local else 0
        sample = [] if local or not buffer.batched else [(buffer.size, e.Name("b"))]
        moves = address([*sample, *self._moves(place[first:], buffer.strides[first:], here)])
        at = total([times(step, label) for step, label in moves])
        return name[e.Binary("-", at, self.begins[buffer]) if buffer in self.begins else at]

    def _moves(self, place: Sequence[IndexExpr], strides: Sequence[int], here: Here) -> Iterator[tuple[int, e.Expr]]:
        """How far an entry is from the first one: strides, and what they are taken of."""
        whole = Affine(0, ())
        for index, stride in zip(place, strides, strict=True):
            form = Affine.of(index, self.sizes)
            if form is None:
                yield stride, self.index(index, here)
            else:
                whole = whole.plus(form.times(stride))
        yield from ((step, here.labels[k]) for k, step in whole.strides if here.labels[k] != ZERO)
        if whole.offset:
            yield 1, e.Number(whole.offset)

    def index(self, expr: IndexExpr, here: Here) -> e.Expr:
        """An integer or a condition."""
        parts = [self.index(part, here) for part in expr.parts]
        match expr.op:
            case "axis":
                return here.labels[expr.args[0]]  # type: ignore[index]
            case "int":
                return size(expr.args[0])  # type: ignore[arg-type]
            case "size":
                return size(self.sizes[expr.args[0]])  # type: ignore[index]
            case "read":
                return self.entry(self.integers[expr.args[0]], expr.parts, Here(here.labels))  # type: ignore[index]
            case "true":
                return e.Constant(True)
            case "not" | "neg":
                return e.Unary("not" if expr.op == "not" else "-", parts[0])
            case "abs" | "floor_div" | "mod":
                return e.call({"abs": "std::abs", "mod": "modulo"}.get(expr.op, expr.op), *parts)
            case "and" | "or":
                return e.Binary(expr.op, *parts)
        return (e.Comparison if expr.op in BOOLEAN else e.Binary)(expr.op, *parts)


def real(value: float) -> e.Expr:
    """A constant of the type of the states: ``T(0.5)``."""
    if math.isnan(value):
        return e.call("T", e.Name("NAN"))
    if math.isinf(value):
        return e.call("T", e.Name("INFINITY") if value > 0 else e.Unary("-", e.Name("INFINITY")))
    return e.call("T", _quotient(e.number(value)) if isinstance(value, e.Exact) else e.Number(float(value)))


def _quotient(expr: e.Expr) -> e.Expr:
    """A factor of whole numbers, divided as real ones."""
    match expr:
        case e.Binary("/", e.Number(value), below):
            return e.Binary("/", e.Number(float(value)), below)
        case e.Binary("/", above, below):
            return e.Binary("/", e.call("double", above), below)
    return expr
