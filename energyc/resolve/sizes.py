"""Dims and consts: formulas to numbers, in the order spec < preset < what was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from energyc.diagnostics import Label, Span
from energyc.resolve.names import Entry, Names
from energyc.resolve.network import Const, Size
from energyc.resolve.reporter import Reporter, did_you_mean, listed
from energyc.syntax import ast

Real = Fraction | float
LARGEST_DIM = 2**62
FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "abs": abs,
    "tanh": math.tanh,
    "sin": math.sin,
    "cos": math.cos,
}


class Unknown(Exception):
    """A formula that has no value; what is wrong was reported."""


@dataclass
class Sizes:
    """The values of dims and consts, computed when first asked for."""

    names: Names
    reporter: Reporter
    overrides: Mapping[str, tuple[Real, Span | None]]
    data_size: Callable[[ast.Field], int | None]
    dims: dict[str, Size] = field(default_factory=dict)
    consts: dict[str, Const] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    _open: list[str] = field(default_factory=list)
    _bad: set[str] = field(default_factory=set)

    def compute(self) -> None:
        """Evaluate every dim and const; what is wrong is reported."""
        for entry in self.names.of_kind("dim", "const"):
            self.size(entry.name) if entry.kind == "dim" else self.const(entry.name)

    def size(self, name: str) -> int | None:
        """The value of a dim, None where it is wrong."""
        self._evaluate(name)
        return self.dims[name].value if name in self.dims else None

    def const(self, name: str) -> Const | None:
        """A const, None where it is wrong."""
        self._evaluate(name)
        return self.consts.get(name)

    def is_set(self, name: str) -> bool:
        """Whether a dim was set by a preset or from outside, or is derived from what was."""
        pending, seen = [name], set()
        while pending:
            name = pending.pop()
            if name in self.overrides:
                return True
            if name not in seen:
                seen.add(name)
                defined = self.dims.get(name) or self.consts.get(name)
                pending.extend(defined.derived_from if defined else ())
        return False

    def _evaluate(self, name: str) -> None:
        if name in self.dims or name in self.consts or name in self._bad:
            return
        entry = self.names.entries[name]
        if name in self._open:
            self._report_cycle(entry)
            raise Unknown
        self._open.append(name)
        try:
            self._define(entry)
        except Unknown:
            self._bad.add(name)
            if len(self._open) > 1:
                raise
        finally:
            self._open.pop()

    def _report_cycle(self, entry: Entry) -> None:
        path = [*self._open[self._open.index(entry.name) :], entry.name]
        self._bad.update(path)
        self.reporter.error("E0207", f"`{entry.name}` is defined by itself: {' from '.join(path)}", entry.span)

    def _define(self, entry: Entry) -> None:
        tree = entry.tree
        assert isinstance(tree, ast.Definition)
        derived = tuple(dict.fromkeys(names_in(tree.value)))
        span = tree.value.span
        if entry.name in self.overrides:
            value, place = self.overrides[entry.name]
            self._refuse_derived(entry, derived, place)
            span = place or entry.span
        else:
            value = self.value(tree.value, whole=entry.kind == "dim")
        if entry.kind == "dim":
            self.dims[entry.name] = Size(entry.name, self._positive(entry, value, span), derived, tree)
        else:
            exact = value if isinstance(value, Fraction) else None
            self.consts[entry.name] = Const(entry.name, self._finite(value, span), exact, derived, tree)

    def _refuse_derived(self, entry: Entry, derived: tuple[str, ...], place: Span | None) -> None:
        if entry.kind != "dim" or not derived:
            return
        labels = [Label(entry.span, "derived here")] if place else []
        self.reporter.error(
            "E0214",
            f"`{entry.name}` is derived from {listed(derived)} and cannot be set",
            place or entry.span,
            labels=labels,
            help=self._instead(entry, derived),
        )
        raise Unknown

    def _instead(self, entry: Entry, derived: tuple[str, ...]) -> str:
        """What a derived dim follows and can be set; or, where it is a size of data, how that changes."""
        free = [name for name in self._sources(derived, {entry.name}) if name in settable(self.names)]
        if free:
            return f"set {listed(free, 'or')} instead"
        bindings = [name.partition(".")[0] for name in self._sources(derived, {entry.name}) if "." in name]
        if not bindings:
            return f"replace the formula of {entry.name} in the spec"
        return f"it is a size of the data: change the options of {listed(bindings)}, or the formula in the spec"

    def _sources(self, derived: tuple[str, ...], seen: set[str]) -> list[str]:
        """What names lead to in the end: dims and consts that name no other, and sizes of data."""
        found: list[str] = []
        for name in derived:
            entry = self.names.get(name)
            behind = _names_behind(entry) if entry is not None else []
            if name not in seen:
                seen.add(name)
                found += self._sources(tuple(behind), seen) if behind else [name]
        return found

    def _positive(self, entry: Entry, value: Real, span: Span) -> int:
        if isinstance(value, float) or value.denominator != 1 or not 0 < value <= LARGEST_DIM:
            shown = _show(value)
            self.reporter.error("E0211", f"dim `{entry.name}` is {shown}, and a dim is a positive whole number", span)
            raise Unknown
        return int(value)

    def _finite(self, value: Real, span: Span) -> float:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        self.reporter.error("E0213", "this const has no finite value", span)
        raise Unknown

    # ------------------------------------------------------------ formulas

    def value(self, expr: ast.Expr, *, whole: bool = False) -> Real:
        """A formula of numbers, dims and consts; ``whole`` where each division must be exact.

        Raises Unknown where it has no value, which was then reported.
        """
        match expr:
            case ast.Number(value=value):
                return value
            case ast.Unary(op="-", operand=operand):
                return -self.value(operand, whole=whole)
            case ast.Binary(op=op) if op in "+-*/^":
                return self._chain(expr, whole)
            case ast.Apply(slots=None, arguments=None, prime=False, name=name):
                return self._named(name)
            case ast.Apply(slots=None, arguments=(ast.Argument(keyword=None, value=inner),), prime=False, name=name):
                return self._call(name, self.value(inner, whole=whole), expr.span)
            case ast.Field():
                size = self.data_size(expr)
                if size is None:
                    raise Unknown
                return Fraction(size)
        self.reporter.error(
            "E0213", "a formula of dims or consts holds numbers, dims, consts and + - * / ^ alone", expr.span
        )
        raise Unknown

    def _chain(self, expr: ast.Expr, whole: bool) -> Real:
        """A left-leaning chain of operations, however long, without recursion along it."""
        pending: list[ast.Binary] = []
        while isinstance(expr, ast.Binary) and expr.op in "+-*/^":
            pending.append(expr)
            expr = expr.left
        total = self.value(expr, whole=whole)
        for binary in reversed(pending):
            total = self._operate(binary, total, self.value(binary.right, whole=whole), whole)
        return total

    def _operate(self, binary: ast.Binary, a: Real, b: Real, whole: bool) -> Real:
        try:
            result = _arithmetic(binary.op, a, b)
        except (ZeroDivisionError, OverflowError, ValueError):
            self.reporter.error("E0213", f"{_show(a)} {binary.op} {_show(b)} has no value", binary.span)
            raise Unknown from None
        if whole and binary.op == "/" and isinstance(result, Fraction) and result.denominator != 1:
            self.reporter.error(
                "E0212",
                f"{_show(a)} is not divisible by {_show(b)}",
                binary.span,
                f"this is {_show(a)} / {_show(b)}",
                help="a division in a dim must be exact",
            )
            raise Unknown
        return result

    def _named(self, name: ast.Name) -> Real:
        entry = self.names.get(name.text)
        if entry is None or entry.kind not in ("dim", "const"):
            known = [e.name for e in self.names.of_kind("dim", "const")]
            said = (
                f"`{name.text}` is {entry.spoken}, not a dim or const"
                if entry
                else f"there is no dim or const `{name.text}`"
            )
            self.reporter.error("E0201", said, name.span, help=did_you_mean(name.text, known))
            raise Unknown
        self.used.add(name.text)
        self._evaluate(name.text)
        if name.text in self.dims:
            return Fraction(self.dims[name.text].value)
        if name.text in self.consts:
            const = self.consts[name.text]
            return const.value if const.exact is None else const.exact
        raise Unknown

    def _call(self, name: ast.Name, argument: Real, span: Span) -> Real:
        function: Any = FUNCTIONS.get(name.text)
        if function is None:
            self.reporter.error(
                "E0206",
                f"there is no function `{name.text}` of consts",
                name.span,
                help=did_you_mean(name.text, FUNCTIONS, listed(FUNCTIONS)),
            )
            raise Unknown
        if name.text == "abs":
            return argument if argument >= 0 else -argument
        try:
            return _exact_root(name.text, argument) or float(function(float(argument)))
        except (ValueError, OverflowError):
            self.reporter.error("E0213", f"{name.text}({_show(argument)}) has no value", span)
            raise Unknown from None


def _exact_root(name: str, argument: Real) -> Fraction | None:
    if name != "sqrt" or not isinstance(argument, Fraction) or argument < 0:
        return None
    top, bottom = math.isqrt(argument.numerator), math.isqrt(argument.denominator)
    exact = top * top == argument.numerator and bottom * bottom == argument.denominator
    return Fraction(top, bottom) if exact and top else None


def _arithmetic(op: str, a: Real, b: Real) -> Real:
    exact = isinstance(a, Fraction) and isinstance(b, Fraction)
    if not exact:
        a, b = float(a), float(b)
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / b
    return _power(a, b)


def _power(a: Real, b: Real) -> Real:
    if isinstance(a, Fraction) and isinstance(b, Fraction) and b.denominator == 1 and abs(b) <= 1024:
        bits = max(a.numerator.bit_length(), a.denominator.bit_length())
        if bits * abs(b) <= 4096:
            return a ** int(b)
    result = float(a) ** float(b)
    if isinstance(result, complex):
        raise ValueError
    return float(result)


def _show(value: Real) -> str:
    if isinstance(value, Fraction) and value.denominator == 1 and abs(value) < 10**18:
        return str(value)
    try:
        return f"{float(value):g}"
    except OverflowError:
        return "beyond floating point"


def settable(names: Names) -> list[str]:
    """The dims and consts that can be set: all but the derived dims."""
    return [e.name for e in names.of_kind("dim", "const") if e.kind == "const" or not _names_behind(e)]


def _names_behind(entry: Entry) -> list[str]:
    return names_in(entry.tree.value) if isinstance(entry.tree, ast.Definition) else []


def names_in(expr: ast.Expr) -> list[str]:
    """The dims, consts and data sizes that a formula names, in order."""
    found: list[str] = []
    stack: list[ast.Expr] = [expr]
    while stack:
        match stack.pop():
            case ast.Unary(operand=operand):
                stack.append(operand)
            case ast.Binary(left=left, right=right):
                stack += [right, left]
            case ast.Apply(name=name, arguments=None):
                found.append(name.text)
            case ast.Apply(arguments=arguments):
                stack.extend(argument.value for argument in reversed(arguments or ()))
            case ast.Field(owner=owner, field=field):
                found.append(f"{owner.text}.{field.text}")
    return found
