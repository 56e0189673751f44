"""How each target writes a function, from its formula.

A language is a table: how it writes numbers, selections and helpers. Torch, C++ and Triton call a helper, whose
definition is part of the form. SPICE and specs (``energy``), which need no helper, write the formula out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from string import ascii_lowercase
from types import MappingProxyType

from energyc.mathematics.expressions import (
    Argument,
    Call,
    Comparison,
    Constant,
    Expression,
    Power,
    Product,
    Sum,
    Traverser,
    Where,
    rule,
    split,
)
from energyc.mathematics.functions.entry import Form, ScalarFunction
from energyc.mathematics.functions.power import power

SUM, PRODUCT, UNARY, POWER, ATOM = range(5)
LEVELS: Mapping[str, int] = MappingProxyType({"atom": ATOM, "power": POWER, "product": PRODUCT})
#: A text and how tightly it binds.
Written = tuple[str, int]
Lookup = Callable[[str], ScalarFunction]


def _short(value: float) -> str:
    """A whole number without a fraction."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


@dataclass(frozen=True)
class Language:
    """How a target writes what functions are made of.

    ``call`` is a use of a helper and ``helper`` its head. In its body a ``local`` line names a part that is repeated,
    and the ``result`` ends it. Without a helper a use is the formula written out.
    """

    number: Callable[[float], str]
    selection: str
    truth: str
    argument: str = "u"
    call: str = ""
    helper: str = ""
    local: str = "    {name} = {value}\n"
    result: str = "    return {value}\n"


LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {
        "torch": Language(
            _short,
            "torch.where({test}, {if_true}, {if_false})",
            "({test}).to(u.dtype)",
            call="{name}({{u}})",
            helper='def {name}(u: Tensor) -> Tensor:\n    """``{about}``."""\n',
        ),
        "cpp": Language(
            lambda value: f"T({_short(value)})",
            "({test} ? {if_true} : {if_false})",
            "({test} ? T(1) : T(0))",
            call="of::{name}({{u}})",
            helper="FUNCTION {name}(T u) {{ ",
            local="const T {name} = {value}; ",
            result="return {value}; }}\n",
        ),
        "triton": Language(
            lambda value: repr(float(value)),
            "tl.where({test}, {if_true}, {if_false})",
            "({test}).to(u.dtype)",
            call="block_{name}({{u}})",
            helper='@jit\ndef block_{name}(u: tl.tensor) -> tl.tensor:\n    """{about}."""\n',
        ),
        "energy": Language(
            _short,
            "where({test}, {if_true}, {if_false})",
            "where({test}, 1, 0)",
        ),
        "spice": Language(
            _short,
            "({test} ? {if_true} : {if_false})",
            "({test} ? 1 : 0)",
            argument="{atom}",
        ),
    }
)


class Writer(Traverser[Written]):
    """A definition as an expression of a language; ``names`` are parts that have a name there."""

    task = "the text of a definition"

    def __init__(self, target: str, functions: Lookup) -> None:
        super().__init__()
        self.target, self.language, self.functions = target, LANGUAGES[target], functions
        self.names: dict[Expression, str] = {}

    def __call__(self, node: Expression) -> Written:
        """A part's text and how tightly it binds. Raises NotImplementedError where a function has no form here."""
        return (self.names[node], ATOM) if node in self.names else super().__call__(node)

    def at(self, node: Expression, least: int) -> str:
        """A part's text, in parentheses where it binds less tightly than ``least``."""
        text, level = self(node)
        return text if level >= least else f"({text})"

    @rule(Argument)
    def _argument(self, node: Argument) -> Written:
        return self.language.argument, ATOM

    @rule(Constant)
    def _constant(self, node: Constant) -> Written:
        return self.language.number(node.value), ATOM

    @rule(Sum)
    def _sum(self, node: Sum) -> Written:
        pieces: list[str] = []
        for term in node.terms:
            coefficient, rest = split(term)
            negative = coefficient < 0
            text = self._scaled(-coefficient, rest) if negative else self.at(term, PRODUCT)
            sign = ("-" if negative else "") if not pieces else (" - " if negative else " + ")
            pieces.append(sign + text)
        return "".join(pieces) or self.language.number(0.0), SUM if pieces else ATOM

    def _scaled(self, coefficient: Fraction, rest: Expression) -> str:
        factors, divisors = (rest.factors, rest.divisors) if isinstance(rest, Product) else ((rest,), ())
        return self.at(Product(coefficient, factors, divisors), PRODUCT)

    @rule(Product)
    def _product(self, node: Product) -> Written:
        known = constant(node)
        if known is not None:
            return self.language.number(known), ATOM if known >= 0 else UNARY
        coefficient, factors = _gathered(node)
        sign = "-" if coefficient < 0 else ""
        first = [self.language.number(abs(coefficient))] if abs(coefficient) != 1 or not factors else []
        text = sign + " * ".join([*first, *(self.at(factor, UNARY) for factor in factors)])
        if not node.divisors:
            return text, UNARY if len(first) + len(factors) == 1 else PRODUCT
        under = " * ".join(self.at(divisor, UNARY) for divisor in node.divisors)
        return f"{text} / {under if len(node.divisors) == 1 else f'({under})'}", PRODUCT

    @rule(Power)
    def _power(self, node: Power) -> Written:
        known = constant(node)
        if known is not None:
            return self.language.number(known), ATOM
        return self._applied(power(node.exponent), node.base)

    @rule(Call)
    def _call(self, node: Call) -> Written:
        (argument,) = node.arguments
        return self._applied(self.functions(str(node.function)), argument)

    def _applied(self, function: ScalarFunction, argument: Expression) -> Written:
        form = function.form(self.target)
        return form.of(self.at(argument, SUM), self.at(argument, ATOM)), LEVELS[form.binds]

    @rule(Comparison)
    def _comparison(self, node: Comparison) -> Written:
        return self.language.truth.format(test=self._test(node)), ATOM

    @rule(Where)
    def _where(self, node: Where) -> Written:
        sides = {"if_true": self.at(node.if_true, SUM), "if_false": self.at(node.if_false, SUM)}
        return self.language.selection.format(test=self._test(node.condition), **sides), ATOM

    def _test(self, node: Comparison) -> str:
        return f"{self.at(node.left, SUM)} {node.relation} {self.at(node.right, SUM)}"


def _gathered(product: Product) -> tuple[float, list[Expression]]:
    """The number in front of a product, and its other factors; products among them are part of it."""
    coefficient, others = float(product.coefficient), list[Expression]()
    for factor in product.factors:
        known = constant(factor)
        inner = _gathered(factor) if isinstance(factor, Product) and not factor.divisors else (1.0, [factor])
        coefficient *= inner[0] if known is None else known
        others += inner[1] if known is None else []
    return coefficient, others


def constant(node: Expression) -> float | None:
    """The float nearest to a part that does not hold the argument; None for one that does."""
    match node:
        case Constant():
            return node.value
        case Product():
            over, under = list(map(constant, node.factors)), list(map(constant, node.divisors))
            if None in over or None in under:
                return None
            return float(node.coefficient) * math.prod(filter(None, over)) / math.prod(filter(None, under))
        case Power():
            base = constant(node.base)
            if base is None:
                return None
            root = math.sqrt(base) if node.exponent.denominator == 2 else base
            raised = root ** (node.exponent.numerator if node.exponent.denominator == 2 else float(node.exponent))
            return 1 / root if node.exponent == Fraction(-1, 2) else raised
    return None


def deduced_forms(function: ScalarFunction, functions: Lookup) -> Iterator[Form]:
    """The forms that follow from a function's formula; a target that does not write a part of it has none."""
    assert function.formula is not None
    stated = {form.target for form in function.forms}
    for target in LANGUAGES:
        if target not in stated:
            try:
                yield deduced_form(target, function.name, function.formula, functions)
            except NotImplementedError:
                continue


def deduced_form(target: str, name: str, formula: Expression, functions: Lookup) -> Form:
    """The form in one target. Raises NotImplementedError where a function of the formula has none there."""
    language, writer = LANGUAGES[target], Writer(target, functions)
    if not language.call:
        return Form(target, f"({writer.at(formula, SUM)})")
    head = language.helper.format(name=name, about=Writer("energy", functions)(formula)[0])
    helper = head + "".join(_locals(writer, formula)) + language.result.format(value=writer.at(formula, SUM))
    called = {str(part.function) for part in formula.walk() if isinstance(part, Call)}
    extends = target == "torch" and all(functions(other).form(target).extends for other in called)
    return Form(target, language.call.format(name=name), extends=extends, definition=helper)


def _locals(writer: Writer, formula: Expression) -> Iterator[str]:
    """Lines that name the calls which a formula repeats, those inside others first."""
    uses = Counter(part for part in formula.walk() if isinstance(part, Call))
    repeated = [part for part in uses if uses[part] > 1]
    letters = (letter for letter in ascii_lowercase if letter != "u")
    for part, letter in zip(sorted(repeated, key=lambda part: sum(1 for _ in part.walk())), letters, strict=False):
        value = writer.at(part, SUM)
        writer.names[part] = letter
        yield writer.language.local.format(name=letter, value=value)
