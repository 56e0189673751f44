"""Formulas in MathML, which browsers show without any script."""

from __future__ import annotations

from fractions import Fraction
from html import escape

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
from energyc.mathematics.ir import ONE, Coefficient, IndexExpr, Input

#: A sum with more elements than this has a line for each term.
WIDTH = 80
SUM, TERM, FACTOR, ATOM = range(4)
_OPERATORS = {"<=": "≤", ">=": "≥", "==": "=", "!=": "≠", "and": "∧", "or": "∨", "-": "−", "*": "\u2062"}


def write(*formulas: Formula) -> str:
    """Formulas as one block of MathML, equal signs between them."""
    return _block(_row(_operator("=").join(_at(formula, SUM) for formula in formulas)))


def equation(left: Formula, right: Formula) -> str:
    """``left = right`` as one block of MathML; a long sum has a line for each term."""
    pieces = _signed(right) if isinstance(right, Total) else [_at(right, SUM)]
    if sum(piece.count("</m") for piece in pieces) <= WIDTH:
        return write(left, right)
    # An operator that begins a cell is no prefix here: it keeps its spaces.
    pieces[1:] = [piece.replace("<mo>", '<mo form="infix">', 1) for piece in pieces[1:]]
    lines = [f"<mtd>{piece}</mtd>" for piece in pieces]
    heads = [f"<mtd>{_at(left, SUM)}</mtd><mtd>{_operator('=')}</mtd>", *["<mtd></mtd><mtd></mtd>"] * (len(lines) - 1)]
    rows = "".join(f"<mtr>{head}{line}</mtr>" for head, line in zip(heads, lines, strict=True))
    return _block(f'<mtable displaystyle="true" class="lines">{rows}</mtable>')


def _block(inner: str) -> str:
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{inner}</math>'


def _at(formula: Formula, least: int) -> str:
    text, level = _piece(formula)
    return text if level >= least else _bracketed(text)


#: What is taller than a line, so that brackets around it grow.
_TALL = ("<mfrac", "<munder", "<msqrt", "<mtable")


def _bracketed(text: str, left: str = "(", right: str = ")") -> str:
    grows = any(tall in text for tall in _TALL)
    around = _operator if grows else _small
    return f"<mrow>{around(left)}{text}{around(right)}</mrow>"


def _small(sign: str) -> str:
    return f'<mo stretchy="false">{escape(sign)}</mo>'


def _piece(formula: Formula) -> tuple[str, int]:
    match formula:
        case Reference():
            return _reference(formula.name, formula.slots), ATOM
        case Product():
            return _product(formula)
        case Total():
            return _total(formula), SUM
        case Bound():
            return _bound(formula)
        case Call():
            return _call(formula), ATOM
        case Keyword():
            return f"<mtext>{escape(formula.name)}</mtext>{_operator('=')}{_at(formula.value, SUM)}", SUM
        case Power():
            return f"<msup>{_row(_at(formula.base, ATOM))}{_fraction(formula.exponent)}</msup>", FACTOR
        case Choice():
            body = "" if formula.body == Product() else _at(formula.body, FACTOR)
            return _bracketed(_index(formula.condition), "[", "]") + body, TERM
        case Condition():
            return _bracketed(_relation(formula), "[", "]"), ATOM
        case Cases():
            holds = _case(_at(formula.if_true, SUM), "<mtext>if </mtext>" + _relation(formula.condition))
            other = _case(_at(formula.if_false, SUM), "<mtext>else</mtext>")
            return f"<mrow>{_operator('{')}<mtable columnalign='left'>{holds}{other}</mtable></mrow>", ATOM
        case Derivative():
            over, under = f"<mi>∂</mi>{_name(formula.of)}", f"<mi>∂</mi>{_at(formula.by, ATOM)}"
            return f"<mfrac>{_row(over)}{_row(under)}</mfrac>", TERM
        case IndexValue():
            return _index(formula.value), SUM if formula.value.op in ("+", "-", "neg") else TERM
    raise TypeError(f"no MathML for {formula!r}")


def _relation(condition: Condition) -> str:
    return _at(condition.left, SUM) + _operator(condition.relation) + _at(condition.right, SUM)


def _case(value: str, when: str) -> str:
    return f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>"


def _product(product: Product) -> tuple[str, int]:
    sign = _operator("-") if product.coefficient.value < 0 else ""
    coefficient = -product.coefficient if sign else product.coefficient
    last = len(product.factors) - 1
    factors = [
        _at(factor, TERM if k == last and isinstance(factor, Bound) else FACTOR)
        for k, factor in enumerate(product.factors)
    ]
    if product.divisors:
        over = [] if coefficient == ONE and factors else [_number(coefficient)]
        under = "".join(_at(divisor, FACTOR if len(product.divisors) > 1 else SUM) for divisor in product.divisors)
        return f"{sign}<mfrac>{_row(''.join([*over, *factors]))}{_row(under)}</mfrac>", TERM
    if coefficient != ONE or not factors:
        factors = [_number(coefficient), *factors]
    return sign + "<mspace width='0.15em'/>".join(factors), TERM if product.factors or sign else ATOM


def _number(coefficient: Coefficient) -> str:
    over = "".join(_symbol(symbol, power) for symbol, power in coefficient.powers if power > 0)
    under = "".join(_symbol(symbol, -power) for symbol, power in coefficient.powers if power < 0)
    value = coefficient.value
    top = f"<mn>{value.numerator}</mn>" if value.numerator != 1 or not over else ""
    below = f"<mn>{value.denominator}</mn>" if value.denominator != 1 else ""
    return f"<mfrac>{_row(top + over)}{_row(below + under)}</mfrac>" if below or under else top + over


def _symbol(symbol: str, power: Fraction) -> str:
    if power == Fraction(1, 2):
        return f"<msqrt>{_name(symbol)}</msqrt>"
    return _name(symbol) if power == 1 else f"<msup>{_name(symbol)}{_fraction(power)}</msup>"


def _fraction(value: Fraction) -> str:
    if value.denominator == 1:
        return f"<mn>{value}</mn>"
    return f"<mrow><mn>{value.numerator}</mn><mo>/</mo><mn>{value.denominator}</mn></mrow>"


def _total(total: Total) -> str:
    return "".join(_signed(total))


def _signed(total: Total) -> list[str]:
    """The terms of a sum, each but the first with its sign."""
    pieces = [_at(term, TERM) for term in total.terms]
    minus = _operator("-")
    return [pieces[0], *(piece if piece.startswith(minus) else _operator("+") + piece for piece in pieces[1:])]


def _bound(bound: Bound) -> tuple[str, int]:
    over = zip(bound.indices, bound.shown_dims, strict=True)
    indices = [_name(i) if d is None else _name(i) + _operator("∈") + _name(d) for i, d in over]
    below = _operator(",").join(indices) + ("" if bound.guard is None else _operator(":") + _index(bound.guard))
    if bound.operator == "sum":
        return f"<munder>{_operator('∑')}{_row(below)}</munder>{_at(bound.bodies[0], TERM)}", TERM
    inner = _operator(",").join(_at(body, SUM) for body in bound.bodies)
    return (
        f"<munder><mi mathvariant='normal'>{escape(bound.operator)}</mi>{_row(below)}</munder>{_bracketed(inner)}",
        ATOM,
    )


def _call(call: Call) -> str:
    inner = _operator(",").join(_at(argument, SUM) for argument in call.arguments)
    if call.function == "sqrt" and not call.primes:
        return f"<msqrt>{inner}</msqrt>"
    primes = "′" * call.primes
    return f"<mi mathvariant='normal'>{escape(call.function)}{primes}</mi>{_bracketed(inner)}"


def _reference(name: str, slots: tuple[IndexExpr, ...]) -> str:
    base, _, rest = name.partition("_")
    head = _name(base if base and rest else name, alone=not slots)
    above = f"<mtext>{escape(rest)}</mtext>" if base and rest else ""
    below = _row(_operator(",").join(map(_index, slots))) if slots else ""
    if above and below:
        return f"<msubsup>{head}{below}{above}</msubsup>"
    if above or below:
        return f"<m{'sup' if above else 'sub'}>{head}{above or below}</m{'sup' if above else 'sub'}>"
    return head


def _name(text: str, *, alone: bool = True) -> str:
    """A name; a number at its end is an index below, unless there are others below: ``x_1``, but ``x1_{i,j}``."""
    if text in GREEK:
        return f"<mi>{GREEK[text]}</mi>"
    letter = text.rstrip("0123456789")
    if alone and len(letter) == 1 and letter != text:
        return f"<msub><mi>{escape(letter)}</mi><mn>{text[1:]}</mn></msub>"
    return f"<mi>{escape(text)}</mi>"


def _index(expr: IndexExpr) -> str:
    match expr.op:
        case "name" | "size":
            return _name(str(expr.args[0]))
        case "int":
            return f"<mn>{expr.args[0]}</mn>"
        case "read" | "related":
            source = expr.args[0]
            return _reference(source.name if isinstance(source, Input) else str(source), expr.parts)
        case "neg":
            return _operator("-") + _inner(expr.parts[0])
        case "not":
            return _operator("¬") + _inner(expr.parts[0])
        case "abs":
            return _bracketed(_index(expr.parts[0]), "|", "|")
        case "+":
            return _operator("+").join(map(_index, expr.parts))
        case "-" | "*":
            return _operator(expr.op).join(map(_inner, expr.parts))
    if expr.op in _OPERATORS or expr.op in ("<", ">"):
        return _operator(expr.op).join(_index(p) if p.op != "or" else _inner(p) for p in expr.parts)
    return f"<mtext>{escape(expr.op)}</mtext>{_bracketed(_operator(',').join(map(_index, expr.parts)))}"


def _inner(expr: IndexExpr) -> str:
    return _index(expr) if expr.op in ("name", "size", "int", "read", "abs") else _bracketed(_index(expr))


def _operator(sign: str) -> str:
    return f"<mo>{escape(_OPERATORS.get(sign, sign))}</mo>"


def _row(inner: str) -> str:
    return f"<mrow>{inner}</mrow>"
