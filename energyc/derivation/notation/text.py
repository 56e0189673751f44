"""Formulas in the spec's own notation; what is written parses back wherever the language has the words for it."""

from __future__ import annotations

from fractions import Fraction

from energyc.derivation.notation.formula import Derivative, Formula, Keyword, Reference, multiplied, shown_dims
from energyc.derivation.notation.printer import ATOM, FACTOR, SUM, TERM, Printer, Written
from energyc.mathematics.expressions import Call, Comparison, IndexValue, Power, Product, Reduction, Sum, Where, rule
from energyc.mathematics.ir import ONE, Coefficient, IndexExpr, Input

#: A sum that is longer has a line for each term.
WIDTH = 100
_INDEX_LEVEL = {"or": -3, "and": -2, "not": -1, "+": SUM, "-": SUM, "*": TERM, "neg": TERM}


def write(formula: Formula) -> str:
    """A formula as text."""
    return _Text().plain(formula)


class _Text(Printer):
    task = "the text of a formula"

    @rule(Reference)
    def _reference(self, node: Reference) -> Written:
        return reference(node.name, node.slots), ATOM

    @rule(Sum)
    def _sum(self, node: Sum) -> Written:
        return " ".join(self.signed(node)), SUM

    @rule(Call)
    def _call(self, node: Call) -> Written:
        return f"{node.function}{chr(39) * node.primes}({', '.join(map(self.plain, node.arguments))})", ATOM

    @rule(Keyword)
    def _keyword(self, node: Keyword) -> Written:
        return f"{node.name} = {self.plain(node.value)}", SUM

    @rule(Power)
    def _power(self, node: Power) -> Written:
        return f"{self.at(node.base, ATOM)}^{_exponent(node.exponent)}", FACTOR

    @rule(Comparison)
    def _comparison(self, node: Comparison) -> Written:
        return f"where({self.relation(node)}, 1, 0)", ATOM

    @rule(Where)
    def _where(self, node: Where) -> Written:
        test = self.relation(node.condition) if isinstance(node.condition, Comparison) else index(node.condition)
        return f"where({test}, {self.plain(node.if_true)}, {self.plain(node.if_false)})", ATOM

    @rule(Derivative)
    def _derivative(self, node: Derivative) -> Written:
        return f"d{node.of}/d{self.plain(node.by)}", TERM

    @rule(IndexValue)
    def _index(self, node: IndexValue) -> Written:
        return index(node.value), _INDEX_LEVEL.get(node.value.op, ATOM)

    def relation(self, condition: Comparison) -> str:
        return f"{self.plain(condition.left)} {condition.relation} {self.plain(condition.right)}"

    @rule(Product)
    def _product(self, product: Product) -> Written:
        sign = "-" if product.coefficient.value < 0 else ""
        if conditions := [self.relation(factor) for factor in product.factors if isinstance(factor, Comparison)]:
            others = tuple(factor for factor in product.factors if not isinstance(factor, Comparison))
            coefficient = -product.coefficient if sign else product.coefficient
            rest = multiplied(coefficient, (Product(ONE, others, product.divisors),))
            return f"{sign}where({' and '.join(conditions)}, {self.plain(rest)}, 0)", TERM if sign else ATOM
        coefficient, below = _split(product, -product.coefficient if sign else product.coefficient)
        divisors = [*below, *(self.at(divisor, FACTOR) for divisor in product.divisors)]
        bare = coefficient == ONE and bool(product.factors)
        factors = [self.at(f, TERM if k == 0 and bare and not sign else FACTOR) for k, f in enumerate(product.factors)]
        text = sign + " * ".join(factors if bare else [number(coefficient), *factors])
        if divisors:
            text += f" / {divisors[0]}" if len(divisors) == 1 else f" / ({' * '.join(divisors)})"
        return text, ATOM if not product.factors and text.replace(".", "").isalnum() else TERM

    def signed(self, total: Sum) -> list[str]:
        """The terms with their signs: ``-a``, ``+ b``, ``- c``."""
        pieces: list[str] = []
        for term in total.terms:
            negative = isinstance(term, Product) and term.coefficient.value < 0
            if negative and isinstance(term, Product):
                term = Product(-term.coefficient, term.factors, term.divisors)
            text = self.at(term, TERM)
            if pieces:
                pieces.append(f"{'-' if negative else '+'} {text}")
            else:
                pieces.append(f"-{text}" if negative else text)
        return pieces

    @rule(Reduction)
    def _reduction(self, reduction: Reduction) -> Written:
        dims = shown_dims(reduction)
        indices = ", ".join(i if d is None else f"{i} in {d}" for i, d in zip(reduction.indices, dims, strict=True))
        if all(d is None for d in dims):
            indices = ",".join(reduction.indices)
        guard = "" if reduction.guard is None else f" | {index(reduction.guard)}"
        return f"{reduction.operator}[{indices}{guard}]({', '.join(map(self.plain, reduction.bodies))})", ATOM


def _split(product: Product, coefficient: Coefficient) -> tuple[Coefficient, list[str]]:
    """The factor in front, and the symbols to divide by at the end: roots, and every divisor of a single element."""
    simple = len(product.factors) == 1 and isinstance(product.factors[0], Reference | Sum) and coefficient.value == 1
    last = [(s, p) for s, p in coefficient.powers if p == Fraction(-1, 2) or (simple and p < 0)]
    front = Coefficient(coefficient.value, tuple(item for item in coefficient.powers if item not in last))
    return front, [_symbol(symbol, -power) for symbol, power in last]


def number(coefficient: Coefficient) -> str:
    """An exact positive factor: ``1/2``, ``1/gamma``, ``2*T``, ``3/(2*T)``."""
    over = [_symbol(s, p) for s, p in coefficient.powers if p > 0]
    under = [_symbol(s, -p) for s, p in coefficient.powers if p < 0]
    value, divisor = coefficient.value, 1
    if (divisor_text := _decimal(value)) is None:
        value, divisor = Fraction(value.numerator), value.denominator
    top = [divisor_text or str(value.numerator)] if value != 1 or not over else []
    below = ([str(divisor)] if divisor != 1 else []) + under
    text = "*".join(top + over)
    if not below:
        return text
    return f"{text}/{below[0]}" if len(below) == 1 else f"{text}/({'*'.join(below)})"


def _decimal(value: Fraction) -> str | None:
    """A finite decimal where that is shorter to read than the fraction."""
    if value.denominator <= 16:
        return None
    small = value < Fraction(1, 10000)
    text = (
        f"{float(value):e}".replace(".000000", "").replace("e-0", "e-") if small else f"{float(value):.8f}".rstrip("0")
    )
    return text if Fraction(text) == value else None


def _symbol(symbol: str, power: Fraction) -> str:
    if power == Fraction(1, 2):
        return f"sqrt({symbol})"
    return symbol if power == 1 else f"{symbol}^{_exponent(power)}"


def _exponent(exponent: Fraction) -> str:
    return str(exponent) if exponent.denominator == 1 else f"({exponent})"


def equation(left: Formula, right: Formula) -> str:
    """``left = right``; a sum that is too long for a line has a line for each term."""
    line = f"{write(left)} = {write(right)}"
    if len(line) <= WIDTH or not isinstance(right, Sum):
        return line
    first, *rest = _Text().signed(right)
    return "\n".join([f"{write(left)} =", f"    {first}", *(f"    {term}" for term in rest)])


def reference(name: str, slots: tuple[IndexExpr, ...]) -> str:
    """An element: ``W[d,m]``, ``x[c, stride*i + p]``."""
    if not slots:
        return name
    written = [index(slot) for slot in slots]
    return f"{name}[{(', ' if any(' ' in w for w in written) else ',').join(written)}]"


# ------------------------------------------------------------------ index expressions


def index(expr: IndexExpr) -> str:
    """An index expression or condition."""
    match expr.op:
        case "name" | "size" | "int":
            return str(expr.args[0])
        case "read" | "related":
            source = expr.args[0]
            return reference(source.name if isinstance(source, Input) else str(source), expr.parts)
        case "neg":
            return f"-{_index_at(expr.parts[0], TERM)}"
        case "not":
            return f"not {_index_at(expr.parts[0], SUM)}"
        case "abs":
            return f"abs({index(expr.parts[0])})"
        case "true":
            return "0 == 0"
        case "axis":
            return f"#{expr.args[0]}"
        case "*":
            return "*".join(_index_at(part, FACTOR) for part in expr.parts)
        case "+" | "-":
            left, right = expr.parts
            return f"{_index_at(left, SUM)} {expr.op} {_index_at(right, TERM)}"
        case "floor_div" | "mod":
            return f"{expr.op}({', '.join(map(index, expr.parts))})"
    left, right = expr.parts
    least = _INDEX_LEVEL.get(expr.op, SUM)
    return f"{_index_at(left, least)} {expr.op} {_index_at(right, least + 1 if expr.op in ('and', 'or') else least)}"


def _index_at(expr: IndexExpr, least: int) -> str:
    text = index(expr)
    level = -1 if expr.op in ("==", "!=", "<", "<=", ">", ">=") else _INDEX_LEVEL.get(expr.op, ATOM)
    return text if level >= least else f"({text})"
