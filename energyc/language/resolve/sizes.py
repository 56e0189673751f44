"""Dims and consts: their values, set by the spec, a preset or from outside, the later first.

Formulas of them are exact where they are rational, in floating point elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import NoReturn

from energyc.language.diagnostics import Span, did_you_mean, listed
from energyc.language.network import Const, Size
from energyc.language.resolve.names import Entry, Names
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.words import CONSTANTS
from energyc.language.syntax import ast

LARGEST_DIM = 2**62
Real = Fraction | float

_FUNCTIONS: Mapping[str, Callable[[float], float]] = MappingProxyType(
    {
        "exp": math.exp,
        "log": math.log,
        "sqrt": math.sqrt,
        "abs": abs,
        "tanh": math.tanh,
        "sin": math.sin,
        "cos": math.cos,
    }
)
#: A power stays exact up to this exponent and this many bits.
_LARGEST_EXPONENT, _LONGEST_POWER = 1024, 4096


class Unknown(Exception):
    """A formula without a value; the mistake was reported."""


@dataclass
class Sizes:
    """The values of dims and consts, each computed when it is first needed.

    ``overrides`` gives values that were set, with their place in the file or None; ``data_size`` the sizes of data.
    """

    names: Names
    reporter: Reporter
    overrides: Mapping[str, tuple[Real, Span | None]]
    data_size: Callable[[ast.Field], int | None]
    dims: dict[str, Size] = field(default_factory=dict)
    consts: dict[str, Const] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    _pending: list[str] = field(default_factory=list)
    _failed: set[str] = field(default_factory=set)

    def compute(self) -> None:
        """Evaluate every dim and const; mistakes are reported."""
        for entry in self.names.of_kind("dim", "const"):
            self._evaluate(entry.name)

    def size(self, name: str) -> int | None:
        """The value of a dim, None where it is wrong."""
        self._evaluate(name)
        return self.dims[name].value if name in self.dims else None

    def const(self, name: str) -> Const | None:
        """A const, None where it is wrong."""
        self._evaluate(name)
        return self.consts.get(name)

    def constant(self, name: str) -> Const | None:
        """A const of the language that the file reads; None for another name, or for one that the file declares."""
        if name not in CONSTANTS or self.names.get(name) is not None:
            return None
        return self.consts.setdefault(name, Const(name, CONSTANTS[name], None, ()))

    def is_set(self, name: str) -> bool:
        """Whether a dim was set by a preset or from outside, or is derived from one that was."""
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

    # ------------------------------------------------------------ evaluation

    def _evaluate(self, name: str) -> None:
        known = name in self.dims or name in self.consts or name in self._failed
        if known or name not in self.names.entries:  # what a block declares is reported as misplaced
            return
        entry = self.names.entries[name]
        if not isinstance(entry.tree, ast.Definition):  # a term that takes the name of a dim, which is reported
            self._failed.add(name)
            return
        if name in self._pending:
            path = [*self._pending[self._pending.index(name) :], name]
            self._failed.update(path)
            self.reporter.cycle(path, entry.span)
            raise Unknown
        self._pending.append(name)
        try:
            self._define(entry)
        except Unknown:
            self._failed.add(name)
            if len(self._pending) > 1:
                raise
        finally:
            self._pending.pop()

    def _define(self, entry: Entry) -> None:
        tree = entry.tree
        assert isinstance(tree, ast.Definition)
        derived_from = names_in(tree.value)
        span: Span | None = tree.value.span
        if entry.name in self.overrides:
            value, span = self.overrides[entry.name]
            self._refuse_derived(entry, derived_from, span)
        else:
            value = self.value(tree.value, integral=entry.kind == "dim")
        if entry.kind == "dim":
            self.dims[entry.name] = Size(entry.name, self._positive(entry, value, span), derived_from, tree)
        else:
            exact = value if isinstance(value, Fraction) else None
            self.consts[entry.name] = Const(
                entry.name, self._finite(entry.name, value, span), exact, derived_from, tree
            )

    def _symbol(self, name: ast.Name) -> Real:
        if (constant := self.constant(name.text)) is not None:
            return constant.value
        if self.names.find(name, ("dim", "const"), self.reporter, "E0201") is None:
            raise Unknown
        self.used.add(name.text)
        self._evaluate(name.text)
        if name.text in self.dims:
            return Fraction(self.dims[name.text].value)
        if name.text in self.consts:
            const = self.consts[name.text]
            return const.value if const.exact is None else const.exact
        raise Unknown

    def _data_size(self, expr: ast.Field) -> Real:
        size = self.data_size(expr)
        if size is None:
            raise Unknown
        return Fraction(size)

    def _positive(self, entry: Entry, value: Real, span: Span | None) -> int:
        """The value of a dim; ``span`` is None where it was set from outside."""
        if isinstance(value, float) or value.denominator != 1 or not 0 < value <= LARGEST_DIM:
            verb = "is" if span else "is set to"
            message = f"dim `{entry.name}` {verb} {decimal(value)}, and a dim is a positive integer"
            nearly = isinstance(value, Fraction) and 1 < value <= LARGEST_DIM
            help_text = f"write `{entry.name} = {round(value)}`" if nearly else None
            self.reporter.error("E0211", message, span, help=help_text)
            raise Unknown
        return int(value)

    def _finite(self, name: str, value: Real, span: Span | None) -> float:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        self.reporter.error("E0213", f"const `{name}` is not finite", span)
        raise Unknown

    # ------------------------------------------------------------ derived dims cannot be set

    def _refuse_derived(self, entry: Entry, derived_from: tuple[str, ...], place: Span | None) -> None:
        if entry.kind != "dim" or not derived_from:
            return
        message = f"`{entry.name}` is derived from {listed(derived_from)} and cannot be set"
        text, labels = ("", [entry.label("derived here")]) if place else ("derived here", [])
        help = self._what_to_set(entry, derived_from)
        self.reporter.error("E0214", message, place or entry.span, text, labels=labels, help=help)
        raise Unknown

    def _what_to_set(self, entry: Entry, derived_from: tuple[str, ...]) -> str:
        """The dims to set instead of a derived one; where it is a size of data, how that changes."""
        sources = self._sources(derived_from, {entry.name})
        free = [name for name in sources if name in settable(self.names)]
        if free:
            return f"set {listed(free, 'or')} instead"
        bindings = [name.partition(".")[0] for name in sources if "." in name]
        if not bindings:
            return f"replace the formula of {entry.name} in the spec"
        return f"it is a size of the data: change the options of {listed(bindings)}, or the formula in the spec"

    def _sources(self, names: tuple[str, ...], seen: set[str]) -> list[str]:
        """The roots that names are derived from: dims and consts that name no other, and sizes of data."""
        sources: list[str] = []
        for name in names:
            entry = self.names.get(name)
            derived_from = _derived_from(entry) if entry is not None else ()
            if name not in seen:
                seen.add(name)
                sources += self._sources(derived_from, seen) if derived_from else [name]
        return sources

    # ------------------------------------------------------------ formulas

    def value(self, expr: ast.Expr, *, integral: bool = False) -> Real:
        """The value of a formula of dims and consts; ``integral`` forbids divisions with a remainder.

        Raises Unknown where it has none.
        """
        match expr:
            case ast.Number(value=value):
                return value
            case ast.Unary(op="-", operand=operand):
                return -self.value(operand, integral=integral)
            case ast.Binary(op=op) if op in "+-*/^":
                return self._chain(expr, integral)
            case ast.Apply(slots=None, arguments=None, prime=False, name=name):
                return self._symbol(name)
            case ast.Apply(slots=None, arguments=(ast.Argument(keyword=None, value=inner),), prime=False, name=name):
                return self._call(name, self.value(inner, integral=integral), expr.span)
            case ast.Field():
                return self._data_size(expr)
        self._fail("E0213", "a formula of dims or consts holds only numbers, dims, consts and + - * / ^", expr.span)

    def _chain(self, expr: ast.Expr, integral: bool) -> Real:
        """A left-leaning chain of operations, however long, without recursion along it."""
        first, operations = ast.chain(expr, "+-*/^")
        total = self.value(first, integral=integral)
        for binary in operations:
            total = self._operation(binary, total, self.value(binary.right, integral=integral), integral)
        return total

    def _operation(self, binary: ast.Binary, a: Real, b: Real, integral: bool) -> Real:
        shown = f"{decimal(a)} {binary.op} {decimal(b)}"
        try:
            result = _arithmetic(binary.op, a, b)
        except (ZeroDivisionError, OverflowError, ValueError):
            self._fail("E0213", f"{shown} is undefined", binary.span)
        if integral and binary.op == "/" and isinstance(result, Fraction) and result.denominator != 1:
            message = f"{decimal(a)} is not divisible by {decimal(b)}"
            help = "a division in a dim must be exact"
            self._fail("E0212", message, binary.span, f"this is {shown}", help)
        return result

    def _call(self, name: ast.Name, argument: Real, span: Span) -> Real:
        if name.text not in _FUNCTIONS:
            help = did_you_mean(name.text, _FUNCTIONS, f"consts have {listed(_FUNCTIONS)}", name.span)
            self._fail("E0206", f"there is no function `{name.text}` of consts", name.span, help=help)
        if name.text == "abs":
            return argument if argument >= 0 else -argument
        try:
            return _exact_root(name.text, argument) or float(_FUNCTIONS[name.text](float(argument)))
        except (ValueError, OverflowError):
            self._fail("E0213", f"{name.text}({decimal(argument)}) is undefined", span)

    def _fail(self, code: str, message: str, span: Span, text: str = "", help: str | None = None) -> NoReturn:
        self.reporter.error(code, message, span, text, help=help)
        raise Unknown


def settable(names: Names) -> list[str]:
    """The dims and consts that can be set: all but the derived dims."""
    return [e.name for e in names.of_kind("dim", "const") if e.kind == "const" or not _derived_from(e)]


def _derived_from(entry: Entry) -> tuple[str, ...]:
    return names_in(entry.tree.value) if isinstance(entry.tree, ast.Definition) else ()


# ------------------------------------------------------------------ numbers, exact where they are rational


def _exact_root(function: str, argument: Real) -> Fraction | None:
    """The root of the square of a fraction; None for any other number or function."""
    if function != "sqrt" or not isinstance(argument, Fraction) or argument <= 0:
        return None
    root = Fraction(math.isqrt(argument.numerator), math.isqrt(argument.denominator))
    return root if root * root == argument else None


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
    if isinstance(a, Fraction) and isinstance(b, Fraction) and _is_short_power(a, b):
        return a ** int(b)
    result = float(a) ** float(b)
    if isinstance(result, complex):
        raise ValueError
    return float(result)


def _is_short_power(a: Fraction, b: Fraction) -> bool:
    """Whether a power of two fractions is a fraction that is not too long to write out."""
    bits = max(a.numerator.bit_length(), a.denominator.bit_length())
    return b.denominator == 1 and abs(b) <= _LARGEST_EXPONENT and bits * abs(b) <= _LONGEST_POWER


def decimal(value: Real) -> str:
    """A number as a message shows it."""
    if isinstance(value, Fraction) and value.denominator == 1 and abs(value) < 10**18:
        return str(value)
    try:
        return f"{float(value):g}"
    except OverflowError:
        return "beyond floating point"


def names_in(expr: ast.Expr) -> tuple[str, ...]:
    """The dims, consts and sizes of data (``text.vocabulary``) that a formula names, each once, in order."""
    names: dict[str, None] = {}
    for tree in ast.walk(expr):
        match tree:
            case ast.Apply(name=name, arguments=None):
                names[name.text] = None
            case ast.Field(owner=owner, field=field):
                names[f"{owner.text}.{field.text}"] = None
    return tuple(names)
