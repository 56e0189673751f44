"""Formulas in LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from energyc.derivation.notation.formula import (
    Bound,
    Call,
    Cases,
    Choice,
    Condition,
    Derivative,
    Formula,
    IndexValue,
    Keyword,
    Power,
    Product,
    Reference,
    Total,
)
from energyc.derivation.notation.greek import GREEK
from energyc.mathematics.functions import FUNCTIONS
from energyc.mathematics.ir import ONE, Coefficient, IndexExpr, Input

#: A sum whose source is longer has a line for each term.
WIDTH = 160
SUM, TERM, FACTOR, ATOM = range(4)
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
    return _piece(formula)[0]


def _at(formula: Formula, least: int) -> str:
    text, level = _piece(formula)
    return text if level >= least else rf"\left({text}\right)"


def _piece(formula: Formula) -> tuple[str, int]:
    match formula:
        case Reference():
            return reference(formula.name, formula.slots), ATOM
        case Product():
            return _product(formula)
        case Total():
            return _total(formula), SUM
        case Bound():
            return _bound(formula)
        case Call():
            return _call(formula), ATOM
        case Keyword():
            return rf"\mathrm{{{escape(formula.name)}}} = {write(formula.value)}", SUM
        case Power():
            return rf"{{{_base(formula.base)}}}^{{{formula.exponent}}}", FACTOR
        case Choice():
            return rf"\left[{index(formula.condition)}\right]{_choice_body(formula.body)}", TERM
        case Condition():
            return rf"\left[{_relation(formula)}\right]", ATOM
        case Cases():
            holds = rf"{write(formula.if_true)} & \text{{if }} {_relation(formula.condition)}"
            return rf"\begin{{cases}} {holds} \\ {write(formula.if_false)} & \text{{else}} \end{{cases}}", ATOM
        case Derivative():
            return rf"\frac{{\partial {identifier(formula.of)}}}{{\partial {write(formula.by)}}}", TERM
        case IndexValue():
            return index(formula.value), SUM if formula.value.op in ("+", "-", "neg") else TERM
    raise TypeError(f"no LaTeX for {formula!r}")


def _relation(condition: Condition) -> str:
    return f"{write(condition.left)} {_RELATIONS[condition.relation]} {write(condition.right)}"


def _base(formula: Formula) -> str:
    """A base of a power: an element with indices above and below needs brackets."""
    text, level = _piece(formula)
    plain = isinstance(formula, Reference) and "^" not in text
    return text if plain and level == ATOM else rf"\left({text}\right)"


def _choice_body(body: Formula) -> str:
    return "" if body == Product() else r"\, " + _at(body, FACTOR)


def _product(product: Product) -> tuple[str, int]:
    sign = "-" if product.coefficient.value < 0 else ""
    coefficient = -product.coefficient if sign else product.coefficient
    factors = _factors(product.factors)
    if product.divisors:
        over = [*_numerator(coefficient, bool(factors)), *factors]
        under = [
            *_denominator(coefficient),
            *(_at(d, FACTOR) if len(product.divisors) > 1 else write(d) for d in product.divisors),
        ]
        return rf"{sign}\frac{{{' '.join(over)}}}{{{' '.join(under)}}}", TERM
    if coefficient != ONE or not factors:
        factors = [number(coefficient), *factors]
    return sign + r"\, ".join(factors), ATOM if len(factors) == 1 and not sign and not product.factors else TERM


def _factors(factors: tuple[Formula, ...]) -> list[str]:
    """Only the last factor may be a sum without brackets, so that what it sums is plain."""
    last = len(factors) - 1
    return [_at(f, TERM if k == last and isinstance(f, Bound) else FACTOR) for k, f in enumerate(factors)]


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
    if len(line) <= WIDTH or not isinstance(right, Total):
        return line
    lines = r" \\" + "\n&\\quad "
    return rf"\begin{{aligned}} {write(left)} &= " + lines.join(_signed(right)) + r" \end{aligned}"


def _total(total: Total) -> str:
    return " ".join(_signed(total))


def _signed(total: Total) -> list[str]:
    pieces = [_at(term, TERM) for term in total.terms]
    return [pieces[0], *(f"- {p[1:]}" if p.startswith("-") else f"+ {p}" for p in pieces[1:])]


def _bound(bound: Bound) -> tuple[str, int]:
    over = zip(bound.indices, bound.shown_dims, strict=True)
    indices = ", ".join(identifier(i) if d is None else rf"{identifier(i)} \in {identifier(d)}" for i, d in over)
    below = indices if bound.guard is None else rf"{indices} \,:\, {index(bound.guard)}"
    if bound.operator == "sum":
        return rf"\sum_{{{below}}} {_at(bound.bodies[0], TERM)}", TERM
    inner = ", ".join(map(write, bound.bodies))
    return rf"\operatorname*{{{escape(bound.operator)}}}_{{{below}}}\left({inner}\right)", ATOM


def _call(call: Call) -> str:
    arguments = ", ".join(map(write, call.arguments))
    if call.function in FUNCTIONS and not call.primes and not call.declared:
        return FUNCTIONS[call.function].latex.format(arguments)
    return rf"\operatorname{{{escape(call.function)}}}{chr(39) * call.primes}\left({arguments}\right)"


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
