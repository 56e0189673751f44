"""SymPy expressions as Python text that makes them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Basic, Integer, Rational

from energyc.studies.symbolic.layout import Bracket, Chain, Text, joined

#: How tightly a text binds: sums, products, powers, and what needs no brackets anywhere.
SUM, PRODUCT, POWER, ATOM = range(4)
Bound = tuple[Text, int]

#: Kinds that are written as calls of SymPy's own names.
CALLS = {
    **{kind: kind.__name__ for kind in (sympy.exp, sympy.log, sympy.sin, sympy.cos, sympy.tanh, sympy.erf)},
    **{kind: kind.__name__ for kind in (sympy.polylog, sympy.Max, sympy.Abs, sympy.sign, sympy.Heaviside)},
    **{kind: kind.__name__ for kind in (sympy.Mod, sympy.floor, sympy.KroneckerDelta)},
}
#: Every name of SymPy that a file may import.
IMPORTABLE = frozenset(
    {*CALLS.values(), "Sum", "Product", "Rational", "pi", "sqrt"}
    | {"Function", "Integer", "Expr", "IndexedBase", "Symbol"}
)


@dataclass
class Printer:
    """Writes expressions; ``identifiers`` are those of symbols, tensors' labels and functions of a file's own.

    ``imported`` collects the names of SymPy that were used, ``own`` the functions of the file.
    """

    identifiers: dict[Any, str]
    imported: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)

    def text(self, expr: Basic) -> Text:
        """An expression, without brackets around it."""
        return self._bound(expr)[0]

    def value(self, expr: Basic) -> Text:
        """An expression that stands by itself: a number is one of SymPy, not of Python."""
        return self.call("Integer", str(expr))[0] if isinstance(expr, Integer) else self.text(expr)

    def within(self, expr: Basic, least: int) -> Text:
        """An expression in brackets unless it binds at least so tightly."""
        text, binding = self._bound(expr)
        return text if binding >= least else Bracket("(", (text,), ")")

    def call(self, name: str, *parts: Text) -> Bound:
        """A call of a name of SymPy."""
        self.imported.add(name)
        return Bracket(f"{name}(", parts, ")"), ATOM

    def _bound(self, expr: Any) -> Bound:
        if expr in self.identifiers:
            return self.identifiers[expr], ATOM
        if type(expr) in CALLS:
            return self.call(CALLS[type(expr)], *map(self.text, expr.args))
        if expr.func in self.identifiers:
            self.own.add(self.identifiers[expr.func])
            return Bracket(f"{self.identifiers[expr.func]}(", tuple(map(self.text, expr.args)), ")"), ATOM
        for kind, write in self._rules.items():
            if isinstance(expr, kind):
                return write(expr)
        raise NotImplementedError(f"no Python text for {type(expr).__name__}")

    @property
    def _rules(self) -> dict[type, Callable[[Any], Bound]]:
        return {
            Rational: self._rational,
            type(sympy.pi): lambda _: self._name("pi"),
            type(sympy.E): lambda _: self.call("exp", "1"),
            sympy.Indexed: self._indexed,
            sympy.Add: self._add,
            sympy.Mul: self._mul,
            sympy.Pow: self._mul,
            sympy.Sum: lambda expr: self._over("Sum", expr),
            sympy.Product: lambda expr: self._over("Product", expr),
        }

    def _name(self, name: str) -> Bound:
        self.imported.add(name)
        return name, ATOM

    def _rational(self, number: Rational) -> Bound:
        if number.q == 1:
            return str(number.p), ATOM if number.p >= 0 else SUM
        return self.call("Rational", str(number.p), str(number.q))

    def _indexed(self, expr: Any) -> Bound:
        return Bracket(f"{self.identifiers[expr.base.label]}[", tuple(map(self.text, expr.indices)), "]"), ATOM

    def _add(self, expr: Any) -> Bound:
        parts: list[tuple[str, Text]] = []
        for term in expr.as_ordered_terms():
            negative = term.could_extract_minus_sign() and term.as_coeff_Mul()[0] < 0
            text = self.within(-term if negative else term, PRODUCT)
            before = ("-" if negative else "") if not parts else " - " if negative else " + "
            parts.append((before, text))
        return Chain(tuple(parts)), SUM

    def _mul(self, expr: Any) -> Bound:
        coefficient, rest = expr.as_coeff_Mul()
        above, below = _fraction(rest)
        sign = "-" if coefficient < 0 else ""
        number, divisor = abs(coefficient.p), coefficient.q
        over = ([str(number)] if number != 1 or not above else []) + [self._factor(b, e) for b, e in above]
        under = ([str(divisor)] if divisor != 1 else []) + [self._factor(b, e) for b, e in below]
        if len(over) == 1 and not under and not sign:
            return over[0], POWER
        product: list[tuple[str, Text]] = [(sign if k == 0 else "*", text) for k, text in enumerate(over)]
        if under:
            divided = under[0] if len(under) == 1 else Bracket("(", (_product(under),), ")")
            product.append(("/", divided))
        return joined(*(piece for before, text in product for piece in (before, text))), SUM if sign else PRODUCT

    def _factor(self, base: Any, exponent: Any) -> Text:
        """A factor with a positive exponent."""
        if exponent == 1:
            return self.within(base, POWER)
        if exponent == Rational(1, 2):
            return self.call("sqrt", self.text(base))[0]
        return joined(self.within(base, ATOM), "**", self.within(exponent, ATOM))

    def _over(self, name: str, expr: Any) -> Bound:
        limits = (Bracket("(", tuple(map(self.text, limit)), ")") for limit in expr.limits)
        return self.call(name, self.text(expr.function), *limits)


def _fraction(product: Any) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
    """The factors of a product with their exponents: those above the line, and those below it."""
    above, below = [], []
    for factor in product.as_ordered_factors() if isinstance(product, sympy.Mul) else [product]:
        if factor == 1:
            continue
        base, exponent = factor.as_base_exp() if isinstance(factor, sympy.Pow) else (factor, Integer(1))
        if exponent.is_number and exponent < 0:
            below.append((base, -exponent))
        else:
            above.append((base, exponent))
    return above, below


def _product(factors: list[Text]) -> Text:
    return joined(*(piece for k, factor in enumerate(factors) for piece in (["*"] if k else []) + [factor]))
