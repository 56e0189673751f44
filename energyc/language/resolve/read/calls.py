"""Calls ``NAME[...](...)``: which reader each goes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

from energyc.language.diagnostics import did_you_mean, listed, remedied
from energyc.language.resolve.algebra import add, is_zero, multiply
from energyc.language.resolve.context import Scope
from energyc.language.resolve.read.arguments import read_arguments
from energyc.language.resolve.read.conditions import negated, read_condition
from energyc.language.resolve.read.exact import is_positive, known_value
from energyc.language.resolve.read.reductions import read_normaliser, read_reduction, read_score
from energyc.language.resolve.read.selections import (
    chosen,
    is_real_condition,
    read_clip,
    read_extreme,
    read_leaky_relu,
    read_selection,
)
from energyc.language.resolve.read.slopes import read_grad
from energyc.language.resolve.read.userfns import read_user_call
from energyc.language.resolve.rewrite import edited, free_indices, with_indices
from energyc.language.resolve.terms import Bad, Call, Indicator, Scalar, Stopped, Term
from energyc.language.resolve.words import (
    INDEXED,
    LANGUAGE_FUNCTIONS,
    NORMALISERS,
    OF_VALUES,
    REDUCTIONS,
    SCALAR,
    SCORES,
    STATISTICS,
    YIELDING,
)
from energyc.language.syntax import ast
from energyc.language.syntax.foreign import function_counterpart, has_no_counterpart
from energyc.mathematics.functions import FUNCTIONS, Domain
from energyc.mathematics.ir import Function

HALF = Fraction(1, 2)
#: The natural logarithm of the largest float64.
LARGEST_LOG = 709.78


def read_call(scope: Scope, expr: ast.Apply) -> Term:
    """A function of the language, or one of the file."""
    name = expr.name.text
    if name in _READERS and (name not in YIELDING or scope.names.get(name) is None):
        return _READERS[name](scope, expr)
    entry = scope.names.get(name)
    if entry is not None and entry.kind == "fn":
        return read_user_call(scope, expr, entry)
    if entry is not None:
        scope.reporter.error(
            "E0205",
            f"`{name}` is {entry.with_article} and cannot be called",
            expr.name.span,
            labels=[entry.label()],
            help=_call_help(scope, expr),
        )
    else:
        _report_unknown(scope, expr.name)
    return Bad(expr.span)


def _report_unknown(scope: Scope, name: ast.Name) -> None:
    help = function_counterpart(name.text)
    if help is None and has_no_counterpart(name.text):
        help = f"the functions of one number are {listed(SCALAR)}"
    elif help is None:
        help = did_you_mean(
            name.text, [*LANGUAGE_FUNCTIONS, *(fn.name for fn in scope.names.of_kind("fn"))], at=name.span
        )
    scope.reporter.error("E0206", f"there is no function `{name.text}`", name.span, help=help)


def _call_help(scope: Scope, expr: ast.Apply) -> str:
    """The remedy for a call of something that is not a function: an element or a product."""
    names = [ast.plain_name(argument.value) for argument in expr.arguments or ()]
    indices = [name.text for name in names if name is not None and name.text in scope.names.indices]
    if (counterpart := function_counterpart(expr.name.text)) is not None:
        return counterpart
    if names and len(indices) == len(names):
        return remedied(f"indices are in square brackets: `{expr.name.text}[{','.join(indices)}]`", expr.span)
    return "write a product with `*`"


def _read_indexed(scope: Scope, expr: ast.Apply) -> Term:
    name = expr.name.text
    if name in OF_VALUES and not expr.slots and len(expr.arguments or ()) > 1:
        return read_extreme(scope, expr)
    if expr.prime:
        scope.reporter.error("E0408", f"`{name}` works along an index and has no slope", expr.name.span)
        return Bad(expr.span)
    if name in STATISTICS:
        return read_reduction(scope, expr)
    if not expr.slots:
        help = _with_index(scope, expr)
        scope.reporter.error("E0405", f"`{name}` needs the index it works along", expr.name.span, help=help)
        return Bad(expr.span)
    if name in SCORES:
        return read_score(scope, expr)
    return (read_reduction if name in REDUCTIONS else read_normaliser)(scope, expr)


def _with_index(scope: Scope, expr: ast.Apply) -> str:
    """The same call with the index that it probably works along."""
    name, source = expr.name.text, scope.reporter.source
    values = [argument.value for argument in expr.arguments or () if argument.keyword is None]
    if len(values) == 2 and name not in SCORES:
        return _of_two(name)
    if not values:
        return f"write `{name}[k](...)`"
    free = [index for index in free_indices(scope, values[0]) if name in NORMALISERS or index not in scope.indices]
    along = free if name in REDUCTIONS else free[-1:]
    texts = [edited(source, value.span, with_indices(scope, value)) for value in values]
    help = f"write `{name}[{','.join(along) or 'k'}]({', '.join(texts)})`"
    return help if "..." in texts else remedied(help, expr.span)


def _of_two(name: str) -> str:
    """The sum or mean of two numbers, written out."""
    form = {"sum": "`a + b`", "mean": "`(a + b) / 2`"}.get(name, f"`{name}[k](...)`")
    return f"of two numbers a and b write {form}; `{name}[k](...)` works along an index"


def _read_scalar(scope: Scope, expr: ast.Apply) -> Term:
    arguments = read_arguments(scope, expr, ("u",))
    if arguments is None:
        return Bad(expr.span)
    argument, name = arguments["u"], expr.name.text
    if isinstance(argument, Bad):
        return argument
    domain = FUNCTIONS[name].domain
    if domain is not None and _is_outside(scope, domain, argument):
        scope.reporter.error("E0702", f"`{name}` of this number is undefined", expr.span, help=domain.rule)
        return Bad(expr.span)
    value = known_value(scope.context, argument)
    if domain is not None or name == "exp":
        argument = chosen(scope, argument, 0 if name == "exp" else 1)
    if name == "exp" and value is not None and value > LARGEST_LOG:
        scope.reporter.error("E0704", "this number is outside the range of floating point", expr.span)
        return Bad(expr.span)
    if name == "sqrt" and not expr.prime and isinstance(argument, Scalar) and is_positive(scope.context, argument):
        root = argument.coefficient.power(HALF)
        if root is not None:
            return Scalar(expr.span, root)
    return Call(expr.span, Function(name), argument, expr.prime)


def _is_outside(scope: Scope, domain: Domain, argument: Term) -> bool:
    """Whether a known number lies where a function is undefined."""
    value = known_value(scope.context, argument)
    return value is not None and (value < 0 or (value == 0 and not domain.zero))


def _read_where(scope: Scope, expr: ast.Apply) -> Term:
    if expr.arguments is None or len(expr.arguments) != 3 or expr.slots or expr.prime:
        help = "write `where(k == label, 1, 0)`"
        scope.reporter.error("E0405", "`where` takes a condition and two values", expr.span, help=help)
        return Bad(expr.span)
    test, if_true, if_false = (argument.value for argument in expr.arguments)
    if is_real_condition(scope, test):
        return read_selection(scope, expr, test, if_true, if_false)
    condition = read_condition(scope, test)
    opposite = negated(condition)
    branches = [
        (condition, scope.under(condition).real(if_true)),
        (opposite, scope.under(opposite).real(if_false)),
    ]
    terms = [
        (1, multiply([Indicator(test.span, when), value], expr.span))
        for when, value in branches
        if when is not None and not is_zero(value)
    ]
    return Bad(expr.span) if condition is None else add(terms, expr.span)


def _read_stopped(scope: Scope, expr: ast.Apply) -> Term:
    arguments = read_arguments(scope, expr, ("e",))
    if arguments is None or isinstance(arguments["e"], Bad):
        return Bad(expr.span)
    return Stopped(expr.span, expr.name.text, arguments["e"])


_READERS: Mapping[str, Callable[[Scope, ast.Apply], Term]] = MappingProxyType(
    {
        **dict.fromkeys(INDEXED, _read_indexed),
        **dict.fromkeys(SCALAR, _read_scalar),
        **dict.fromkeys(("frozen", "detach"), _read_stopped),
        "where": _read_where,
        "clip": read_clip,
        "leaky_relu": read_leaky_relu,
        "grad": read_grad,
    }
)
