"""Formulas in MathML, which browsers show without any script."""

from __future__ import annotations

from fractions import Fraction
from html import escape

from energyc.derivation.notation.formula import UNIT, Derivative, Formula, Keyword, Reference, shown_dims
from energyc.derivation.notation.greek import GREEK
from energyc.derivation.notation.printer import ATOM, FACTOR, SUM, TERM, Printer, Written
from energyc.mathematics.expressions import Call, Comparison, IndexValue, Power, Product, Reduction, Sum, Where, rule
from energyc.mathematics.ir import ONE, Coefficient, IndexExpr, Input

#: A sum with more elements than this has a line for each term.
WIDTH = 80
_OPERATORS = {"<=": "≤", ">=": "≥", "==": "=", "!=": "≠", "and": "∧", "or": "∨", "-": "−", "*": "\u2062"}


def write(*formulas: Formula) -> str:
    """Formulas as one block of MathML, equal signs between them."""
    return _block(_row(_operator("=").join(map(_MathML().plain, formulas))))


class _MathML(Printer):
    task = "the MathML of a formula"

    def bracketed(self, text: str) -> str:
        return _bracketed(text)

    @rule(Reference)
    def _reference(self, node: Reference) -> Written:
        return _reference(node.name, node.slots), ATOM

    @rule(Sum)
    def _sum(self, node: Sum) -> Written:
        return "".join(self.signed(node)), SUM

    @rule(Keyword)
    def _keyword(self, node: Keyword) -> Written:
        return f"<mtext>{escape(node.name)}</mtext>{_operator('=')}{self.plain(node.value)}", SUM

    @rule(Power)
    def _power(self, node: Power) -> Written:
        return f"<msup>{_row(self.at(node.base, ATOM))}{_fraction(node.exponent)}</msup>", FACTOR

    @rule(Comparison)
    def _comparison(self, node: Comparison) -> Written:
        return _bracketed(self.relation(node), "[", "]"), ATOM

    @rule(Where)
    def _where(self, node: Where) -> Written:
        if not isinstance(node.condition, Comparison):
            body = "" if node.if_true == UNIT else self.at(node.if_true, FACTOR)
            return _bracketed(_index(node.condition), "[", "]") + body, TERM
        holds = _case(self.plain(node.if_true), "<mtext>if </mtext>" + self.relation(node.condition))
        other = _case(self.plain(node.if_false), "<mtext>else</mtext>")
        return f"<mrow>{_operator('{')}<mtable columnalign='left'>{holds}{other}</mtable></mrow>", ATOM

    @rule(Derivative)
    def _derivative(self, node: Derivative) -> Written:
        over, under = f"<mi>∂</mi>{_name(node.of)}", f"<mi>∂</mi>{self.at(node.by, ATOM)}"
        return f"<mfrac>{_row(over)}{_row(under)}</mfrac>", TERM

    @rule(IndexValue)
    def _index(self, node: IndexValue) -> Written:
        return _index(node.value), SUM if node.value.op in ("+", "-", "neg") else TERM

    def relation(self, condition: Comparison) -> str:
        return self.plain(condition.left) + _operator(condition.relation) + self.plain(condition.right)

    @rule(Product)
    def _product(self, product: Product) -> Written:
        sign = _operator("-") if product.coefficient.value < 0 else ""
        coefficient = -product.coefficient if sign else product.coefficient
        last = len(product.factors) - 1
        factors = [
            self.at(factor, TERM if k == last and isinstance(factor, Reduction) else FACTOR)
            for k, factor in enumerate(product.factors)
        ]
        if product.divisors:
            over = [] if coefficient == ONE and factors else [_number(coefficient)]
            least = FACTOR if len(product.divisors) > 1 else SUM
            under = "".join(self.at(divisor, least) for divisor in product.divisors)
            return f"{sign}<mfrac>{_row(''.join([*over, *factors]))}{_row(under)}</mfrac>", TERM
        if coefficient != ONE or not factors:
            factors = [_number(coefficient), *factors]
        return sign + "<mspace width='0.15em'/>".join(factors), TERM if product.factors or sign else ATOM

    def signed(self, total: Sum) -> list[str]:
        """The terms of a sum, each but the first with its sign."""
        pieces = [self.at(term, TERM) for term in total.terms]
        minus = _operator("-")
        return [pieces[0], *(piece if piece.startswith(minus) else _operator("+") + piece for piece in pieces[1:])]

    @rule(Reduction)
    def _reduction(self, reduction: Reduction) -> Written:
        over = zip(reduction.indices, shown_dims(reduction), strict=True)
        indices = [_name(i) if d is None else _name(i) + _operator("∈") + _name(d) for i, d in over]
        guard = "" if reduction.guard is None else _operator(":") + _index(reduction.guard)
        below = _operator(",").join(indices) + guard
        if reduction.operator == "sum":
            return f"<munder>{_operator('∑')}{_row(below)}</munder>{self.at(reduction.bodies[0], TERM)}", TERM
        inner = _operator(",").join(self.plain(body) for body in reduction.bodies)
        operator = f"<mi mathvariant='normal'>{escape(reduction.operator)}</mi>"
        return f"<munder>{operator}{_row(below)}</munder>{_bracketed(inner)}", ATOM

    @rule(Call)
    def _call(self, call: Call) -> Written:
        inner = _operator(",").join(self.plain(argument) for argument in call.arguments)
        if call.function == "sqrt" and not call.primes:
            return f"<msqrt>{inner}</msqrt>", ATOM
        name = escape(str(call.function)) + "′" * call.primes
        return f"<mi mathvariant='normal'>{name}</mi>{_bracketed(inner)}", ATOM


def equation(left: Formula, right: Formula) -> str:
    """``left = right`` as one block of MathML; a long sum has a line for each term."""
    printer = _MathML()
    pieces = printer.signed(right) if isinstance(right, Sum) else [printer.plain(right)]
    if sum(piece.count("</m") for piece in pieces) <= WIDTH:
        return write(left, right)
    # An operator that begins a cell is not a prefix here: it keeps its spaces.
    pieces[1:] = [piece.replace("<mo>", '<mo form="infix">', 1) for piece in pieces[1:]]
    lines = [f"<mtd>{piece}</mtd>" for piece in pieces]
    head = f"<mtd>{printer.plain(left)}</mtd><mtd>{_operator('=')}</mtd>"
    heads = [head, *["<mtd></mtd><mtd></mtd>"] * (len(lines) - 1)]
    rows = "".join(f"<mtr>{head}{line}</mtr>" for head, line in zip(heads, lines, strict=True))
    return _block(f'<mtable displaystyle="true" class="lines">{rows}</mtable>')


def _block(inner: str) -> str:
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{inner}</math>'


#: What is taller than a line, so that brackets around it grow.
_TALL = ("<mfrac", "<munder", "<msqrt", "<mtable")


def _bracketed(text: str, left: str = "(", right: str = ")") -> str:
    grows = any(tall in text for tall in _TALL)
    around = _operator if grows else _small
    return f"<mrow>{around(left)}{text}{around(right)}</mrow>"


def _small(sign: str) -> str:
    return f'<mo stretchy="false">{escape(sign)}</mo>'


def _case(value: str, when: str) -> str:
    return f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>"


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
