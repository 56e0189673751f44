"""Real expressions: arithmetic, and which reader each name in it goes to."""

from __future__ import annotations

from energyc.language.diagnostics import Remedy, Span, remedied, writing
from energyc.language.resolve.algebra import add, divide, is_zero, multiply, negate, number, power
from energyc.language.resolve.context import Scope
from energyc.language.resolve.names import Entry
from energyc.language.resolve.read.access import read_element, report_unknown
from energyc.language.resolve.read.calls import read_call
from energyc.language.resolve.read.conditions import real_quantity
from energyc.language.resolve.read.exact import exact_value, is_positive, is_representable, known_value
from energyc.language.resolve.read.places import read_integer, read_places
from energyc.language.resolve.read.selections import chosen
from energyc.language.resolve.terms import Bad, Call, Element, IndexValue, Scalar, Term, position_of
from energyc.language.syntax import ast
from energyc.language.syntax.foreign import counterpart, function_counterpart, is_module
from energyc.mathematics.ir import Coefficient, Function
from energyc.mathematics.ir.indexing import IndexExpr

LARGEST_EXPONENT = 1024


def read_real(scope: Scope, expr: ast.Expr) -> Term:
    """An expression as a real number for each position of its indices."""
    term = _read(scope, expr)
    if is_representable(scope.context, term):
        return term
    kind = "integer is too large" if isinstance(term, IndexValue) else "number is outside the range of floating point"
    return _bad(scope, "E0704", f"this {kind}", expr.span)


def _bad(scope: Scope, code: str, message: str, span: Span, *, help: str | None = None) -> Bad:
    scope.reporter.error(code, message, span, help=help)
    return Bad(span)


def _read(scope: Scope, expr: ast.Expr) -> Term:
    match expr:
        case ast.Number(value=value):
            return number(value, expr.span)
        case ast.Unary(op="-", operand=operand):
            return negate(read_real(scope, operand))
        case ast.Binary(op="+" | "-"):
            return _read_sum(scope, expr)
        case ast.Binary(op="*" | "/"):
            return _read_product(scope, expr)
        case ast.Binary(op="^"):
            return _read_power(scope, expr)
        case ast.Apply(arguments=None):
            return _read_named(scope, expr)
        case ast.Apply():
            return read_call(scope, expr)
        case ast.Field():
            return _read_field(scope, expr)
    condition = scope.reporter.source.slice(expr.span).removeprefix("(").removesuffix(")")
    guard = "" if real_quantity(scope, expr) else f", or a guard, `[... | {condition}]`, to leave terms out"
    help = Remedy(
        f"write `where({condition}, 1, 0)` for a number{guard}", writing(f"where({condition}, 1, 0)", expr.span)
    )
    return _bad(scope, "E0401", "expected a number, found a condition", expr.span, help=help)


def _read_sum(scope: Scope, expr: ast.Binary) -> Term:
    first, operations = ast.chain(expr, "+-")
    terms = [(1, read_real(scope, first))]
    terms += ((1 if operation.op == "+" else -1, read_real(scope, operation.right)) for operation in operations)
    return add(terms, expr.span)


def _read_product(scope: Scope, expr: ast.Binary) -> Term:
    first, operations = ast.chain(expr, "*/")
    read = {"*": read_real, "/": _read_reciprocal}
    factors = [read_real(scope, first), *(read[each.op](scope, each.right) for each in operations)]
    return multiply(factors, expr.span)


def _read_reciprocal(scope: Scope, expr: ast.Expr) -> Term:
    divisor = read_real(scope, expr)
    if is_zero(divisor):
        return _bad(scope, "E0701", "division by 0", expr.span)
    return divide(number(1, expr.span), chosen(scope, divisor, 1), expr.span)


def _read_power(scope: Scope, expr: ast.Binary) -> Term:
    base, exponent = read_real(scope, expr.left), read_real(scope, expr.right)
    if isinstance(exponent, Bad) or isinstance(base, Bad):
        return Bad(expr.span)
    positive = is_positive(scope.context, base)
    exact = exact_value(scope.context, exponent)
    if exact is not None and abs(exact) <= LARGEST_EXPONENT:
        if is_zero(base) and exact < 0:
            return _bad(scope, "E0701", "division by 0", expr.span)
        if exact.denominator != 1 and (known_value(scope.context, base) or 0) < 0:
            return _bad(scope, "E0702", "this root of a negative number is undefined", expr.span)
        total = exact.denominator == 1 and exact >= 0
        return power(base if total else chosen(scope, base, 1), exact, expr.span, positive=positive)
    if positive:
        log = Call(expr.span, Function("log"), base)
        return Call(expr.span, Function("exp"), chosen(scope, multiply([exponent, log], expr.span), 0))
    message = "a variable exponent needs a base that is a positive number"
    help = "write `exp(b * log(a))` where `a` is known to be positive"
    return _bad(scope, "E0702", message, expr.right.span, help=help)


def _read_named(scope: Scope, expr: ast.Apply) -> Term:
    """A name without a call: an argument, an index, a dim or const, or an element of a tensor."""
    name = expr.name.text
    if expr.slots is None and not expr.prime:
        if name in scope.arguments:
            return scope.arguments[name]
        if (index := scope.indices.get(name)) is not None:
            return IndexValue(expr.span, position_of(index))
        entry = scope.names.get(name)
        if entry is None and name not in scope.names.indices and scope.context.sizes.constant(name) is not None:
            return Scalar(expr.span, Coefficient.symbol(name))
        if entry is not None and entry.kind in ("dim", "const"):
            return _read_symbol(scope, name, entry.kind, expr.span)
        if entry is not None and entry.kind == "step":
            value = read_integer(scope, expr)
            return Bad(expr.span) if value is None else IndexValue(expr.span, value)
    return read_element(scope, expr)


def _read_symbol(scope: Scope, name: str, kind: str, span: Span) -> Term:
    sizes = scope.context.sizes
    sizes.used.add(name)
    if kind == "dim":
        symbol = Scalar(span, Coefficient.symbol(name), IndexExpr("size", (name,)))
        return Bad(span) if sizes.size(name) is None else symbol
    const = sizes.const(name)
    if const is None:
        return Bad(span)
    return number(0, span) if const.exact == 0 else Scalar(span, Coefficient.symbol(name))


def _read_field(scope: Scope, expr: ast.Field) -> Term:
    owner, field = expr.owner.text, expr.field.text
    entry = scope.names.get(owner)
    if entry is not None and entry.kind == "data":
        help = f"declare `clamp NAME[DIMS] = {owner}.{field}` and read that"
        return _bad(scope, "E0205", "an equation cannot read data directly", expr.span, help=help)
    if entry is None and is_module(owner):
        name_help = counterpart("names", field) or function_counterpart(field) or f"write `{field}`"
        return _bad(scope, "E0127", f"names have no module before them, as in `{owner}.`", expr.span, help=name_help)
    if entry is not None and entry.kind == "layer":
        return _read_output(scope, expr, entry)
    if entry is not None:
        message = f"{entry.with_article} has no attributes such as `.{field}`"
        return _bad(scope, "E0127", message, expr.span, help=_attribute_help(scope, expr))
    report_unknown(scope, expr.owner)
    return Bad(expr.span)


def _read_output(scope: Scope, expr: ast.Field, layer: Entry) -> Term:
    """``attention.x[i,d]``: an element of a state or let of a layer at its rest."""
    scope.frame.reads.setdefault(layer.name, expr.span)
    tensor = scope.context.definitions.output(layer.name, expr.field)
    if tensor is None:
        return Bad(expr.span)
    scope.frame.reads.setdefault(tensor.name, expr.span)
    scope.names.entries.setdefault(tensor.name, Entry(tensor.name, "output", layer.span, layer.tree))
    name = ast.Name(expr.span, tensor.name)
    places = read_places(scope, ast.Apply(expr.span, name, False, expr.slots, None, None), tensor)
    return Bad(expr.span) if places is None else Element(expr.span, tensor.node, places)


def _attribute_help(scope: Scope, expr: ast.Field) -> str | None:
    if expr.field.text in ("T", "mT", "H") and expr.slots:
        slots = ",".join(scope.reporter.source.slice(slot.span) for slot in reversed(expr.slots))
        return remedied(f"a transpose is another order of the indices: `{expr.owner.text}[{slots}]`", expr.span)
    return counterpart("attributes", expr.field.text)
