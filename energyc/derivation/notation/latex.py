"""Formulas in LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from energyc.derivation.notation.formula import UNIT, Derivative, Formula, Keyword, Reference, shown_dims
from energyc.derivation.notation.greek import GREEK
from energyc.derivation.notation.printer import ATOM, FACTOR, SUM, TERM, Printer, Written
from energyc.mathematics.expressions import Call, Comparison, IndexValue, Power, Product, Reduction, Sum, Where, rule
from energyc.mathematics.functions import FUNCTIONS
from energyc.mathematics.ir import ONE, Coefficient, IndexExpr, Input

#: A sum whose source is longer has a line for each term.
WIDTH = 160
_RELATIONS: Mapping[str, str] = MappingProxyType(
    {"<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne", "and": r"\land", "or": r"\lor", "<": "<", ">": ">"}
)
_SPECIAL = str.maketrans(
    {c: "\\" + c for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def escape(text: str) -> str:
    """Plain text for use inside a LaTeX document."""
    return text.translate(_SPECIAL)


def write(formula: Formula) -> str:
    """A formula as LaTeX, for math mode."""
    return _LaTeX().plain(formula)


class _LaTeX(Printer):
    task = "the LaTeX of a formula"

    def bracketed(self, text: str) -> str:
        return rf"\left({text}\right)"

    @rule(Reference)
    def _reference(self, node: Reference) -> Written:
        return reference(node.name, node.slots), ATOM

    @rule(Sum)
    def _sum(self, node: Sum) -> Written:
        return " ".join(self.signed(node)), SUM

    @rule(Keyword)
    def _keyword(self, node: Keyword) -> Written:
        return rf"\mathrm{{{escape(node.name)}}} = {self.plain(node.value)}", SUM

    @rule(Power)
    def _power(self, node: Power) -> Written:
        return rf"{{{self.base(node.base)}}}^{{{node.exponent}}}", FACTOR

    @rule(Comparison)
    def _comparison(self, node: Comparison) -> Written:
        return rf"\left[{self.relation(node)}\right]", ATOM

    @rule(Where)
    def _where(self, node: Where) -> Written:
        if not isinstance(node.condition, Comparison):
            body = "" if node.if_true == UNIT else r"\, " + self.at(node.if_true, FACTOR)
            return rf"\left[{index(node.condition)}\right]{body}", TERM
        holds = rf"{self.plain(node.if_true)} & \text{{if }} {self.relation(node.condition)}"
        return rf"\begin{{cases}} {holds} \\ {self.plain(node.if_false)} & \text{{else}} \end{{cases}}", ATOM

    @rule(Derivative)
    def _derivative(self, node: Derivative) -> Written:
        return rf"\frac{{\partial {identifier(node.of)}}}{{\partial {self.plain(node.by)}}}", TERM

    @rule(IndexValue)
    def _index(self, node: IndexValue) -> Written:
        return index(node.value), SUM if node.value.op in ("+", "-", "neg") else TERM

    def relation(self, condition: Comparison) -> str:
        return f"{self.plain(condition.left)} {_RELATIONS[condition.relation]} {self.plain(condition.right)}"

    def base(self, formula: Formula) -> str:
        """A base of a power: an element with indices above and below needs brackets."""
        text, level = self(formula)
        plain = isinstance(formula, Reference) and "^" not in text
        return text if plain and level == ATOM else rf"\left({text}\right)"

    @rule(Product)
    def _product(self, product: Product) -> Written:
        sign = "-" if product.coefficient.value < 0 else ""
        coefficient = -product.coefficient if sign else product.coefficient
        factors = self.factors(product.factors)
        if product.divisors:
            over = [*_numerator(coefficient, bool(factors)), *factors]
            under = [
                *_denominator(coefficient),
                *(self.at(d, FACTOR) if len(product.divisors) > 1 else self.plain(d) for d in product.divisors),
            ]
            return rf"{sign}\frac{{{' '.join(over)}}}{{{' '.join(under)}}}", TERM
        if coefficient != ONE or not factors:
            factors = [number(coefficient), *factors]
        return sign + r"\, ".join(factors), ATOM if len(factors) == 1 and not sign and not product.factors else TERM

    def factors(self, factors: tuple[Formula, ...]) -> list[str]:
        """Only the last factor may be a sum without brackets, so that what it sums is plain."""
        last = len(factors) - 1
        return [self.at(f, TERM if k == last and isinstance(f, Reduction) else FACTOR) for k, f in enumerate(factors)]

    def signed(self, total: Sum) -> list[str]:
        pieces = [self.at(term, TERM) for term in total.terms]
        return [pieces[0], *(f"- {p[1:]}" if p.startswith("-") else f"+ {p}" for p in pieces[1:])]

    @rule(Reduction)
    def _reduction(self, reduction: Reduction) -> Written:
        over = zip(reduction.indices, shown_dims(reduction), strict=True)
        indices = ", ".join(identifier(i) if d is None else rf"{identifier(i)} \in {identifier(d)}" for i, d in over)
        below = indices if reduction.guard is None else rf"{indices} \,:\, {index(reduction.guard)}"
        if reduction.operator == "sum":
            return rf"\sum_{{{below}}} {self.at(reduction.bodies[0], TERM)}", TERM
        inner = ", ".join(map(self.plain, reduction.bodies))
        return rf"\operatorname*{{{escape(reduction.operator)}}}_{{{below}}}\left({inner}\right)", ATOM

    @rule(Call)
    def _call(self, call: Call) -> Written:
        arguments = ", ".join(map(self.plain, call.arguments))
        name = str(call.function)
        if name in FUNCTIONS and not call.primes and not call.declared:
            return FUNCTIONS[name].latex.format(arguments), ATOM
        return rf"\operatorname{{{escape(name)}}}{chr(39) * call.primes}\left({arguments}\right)", ATOM


def number(coefficient: Coefficient) -> str:
    """An exact positive factor."""
    under = _denominator(coefficient)
    over = " ".join(_numerator(coefficient, False))
    return rf"\tfrac{{{over}}}{{{' '.join(under)}}}" if under else over


def _numerator(coefficient: Coefficient, others: bool) -> list[str]:
    symbols = [_symbol(s, p) for s, p in coefficient.powers if p > 0]
    value = coefficient.value.numerator
    return [*([str(value)] if value != 1 or not (symbols or others) else []), *symbols]


def _denominator(coefficient: Coefficient) -> list[str]:
    symbols = [_symbol(s, -p) for s, p in coefficient.powers if p < 0]
    value = coefficient.value.denominator
    return [*([str(value)] if value != 1 else []), *symbols]


def _symbol(symbol: str, power: Fraction) -> str:
    if power == Fraction(1, 2):
        return rf"\sqrt{{{identifier(symbol)}}}"
    return identifier(symbol) if power == 1 else rf"{{{identifier(symbol)}}}^{{{power}}}"


def equation(left: Formula, right: Formula) -> str:
    """``left = right`` for display; a long sum has a line for each term."""
    line = f"{write(left)} = {write(right)}"
    if len(line) <= WIDTH or not isinstance(right, Sum):
        return line
    lines = r" \\" + "\n&\\quad "
    return rf"\begin{{aligned}} {write(left)} &= " + lines.join(_LaTeX().signed(right)) + r" \end{aligned}"


def reference(name: str, slots: tuple[IndexExpr, ...]) -> str:
    """An element: ``W_q[h,a,d]`` is W with q above and the indices below."""
    base, _, rest = name.partition("_")
    head = identifier(base, alone=not slots) if base else rf"\mathrm{{{escape(name)}}}"
    above = rf"^{{\mathrm{{{escape(rest)}}}}}" if base and rest else ""
    below = rf"_{{{', '.join(map(index, slots))}}}" if slots else ""
    return f"{head}{below}{above}"


def identifier(text: str, *, alone: bool = True) -> str:
    """A name: one letter as it is, Greek ones by their macro, words upright.

    A number at its end is an index below, unless there are others below, since LaTeX takes one group of them.
    """
    if text in GREEK:
        return "\\" + text
    letters = text.rstrip("0123456789")
    if alone and len(letters) == 1 and letters != text:
        return rf"{{{letters}}}_{{{text[1:]}}}"
    return text if len(text) == 1 and text.isalpha() else rf"\mathrm{{{escape(text)}}}"


def index(expr: IndexExpr) -> str:
    """An index expression or condition."""
    match expr.op:
        case "name" | "size":
            return identifier(str(expr.args[0]))
        case "int":
            return str(expr.args[0])
        case "read" | "related":
            source = expr.args[0]
            return reference(source.name if isinstance(source, Input) else str(source), expr.parts)
        case "neg":
            return f"-{_inner(expr.parts[0])}"
        case "not":
            return rf"\lnot {_inner(expr.parts[0])}"
        case "abs":
            return rf"\left|{index(expr.parts[0])}\right|"
        case "true":
            return r"\top"
        case "*":
            return r"\, ".join(map(_inner, expr.parts))
        case "+":
            return " + ".join(map(index, expr.parts))
        case "-":
            return f"{index(expr.parts[0])} - {_inner(expr.parts[1])}"
    if expr.op in _RELATIONS:
        left, right = (f"({index(p)})" if expr.op == "and" and p.op == "or" else index(p) for p in expr.parts)
        return f"{left} {_RELATIONS[expr.op]} {right}"
    return rf"\operatorname{{{escape(expr.op)}}}({', '.join(map(index, expr.parts))})"


def _inner(expr: IndexExpr) -> str:
    return index(expr) if expr.op in ("name", "size", "int", "read", "abs") else f"({index(expr)})"
