"""Conditions on real values: ``where(z > 0, a, b)``, and what is made of them, ``max(a, b)`` and ``clip(u, lo, hi)``.

A condition becomes two numbers, of which one is 1 and the other 0 everywhere: a selection is exact, and its derivative
that of the side it selects.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise

from energyc.language.diagnostics import Span
from energyc.language.resolve.algebra import add, is_zero, multiply, negate, number
from energyc.language.resolve.context import Scope
from energyc.language.resolve.read.arguments import match_arguments, read_arguments
from energyc.language.resolve.read.conditions import negated, read_condition, real_quantity
from energyc.language.resolve.read.exact import exact_value, known_value
from energyc.language.resolve.read.places import combined
from energyc.language.resolve.terms import Bad, Call, Chosen, Indicator, Scalar, Selection, Sum, Term, Whole
from energyc.language.syntax import ast
from energyc.mathematics.ir import Function, IndexExpr

DEFAULT_SLOPE = Fraction(1, 100)


@dataclass(frozen=True)
class Case:
    """An outcome of a condition: 1 where it is met, else 0, and what is known of the indices where it is."""

    number: Term
    known: IndexExpr | None


@dataclass(frozen=True)
class Test:
    """Where a condition holds and where it fails; at the zeros of ``edges`` it changes."""

    holds: Case
    fails: Case
    edges: tuple[Term, ...] = ()

    @property
    def opposite(self) -> Test:
        """The negation."""
        return Test(self.fails, self.holds, self.edges)


# ------------------------------------------------------------------ conditions


def is_real_condition(scope: Scope, expr: ast.Expr) -> bool:
    """Whether a comparison in a condition reads a real quantity."""
    return any(isinstance(tree, ast.Compare) and real_quantity(scope, tree) is not None for tree in ast.walk(expr))


def read_test(scope: Scope, expr: ast.Expr) -> Test | None:
    """A condition of which some comparisons are of real values; None where it has a mistake, which is reported."""
    if not is_real_condition(scope, expr):
        condition = read_condition(scope, expr)
        return None if condition is None else _of_indices(condition, expr.span)
    match expr:
        case ast.Unary(op="not", operand=operand):
            test = read_test(scope, operand)
            return None if test is None else test.opposite
        case ast.Binary(op="and" | "or"):
            tests = [read_test(scope, part) for part in ast.operands(expr, (expr.op,))]
        case ast.Compare():
            sides = pairwise(expr.operands)
            tests = [_read_comparison(scope, expr, op, a, b) for op, (a, b) in zip(expr.ops, sides, strict=True)]
        case _:
            read_condition(scope, expr)  # which reports what it is instead
            return None
    valid = [test for test in tests if test is not None]
    if len(valid) < len(tests):
        return None
    join = _either if isinstance(expr, ast.Binary) and expr.op == "or" else _both
    return reduce(lambda a, b: join(a, b, expr.span), valid)


def _of_indices(condition: IndexExpr, span: Span) -> Test:
    opposite = negated(condition)
    assert opposite is not None
    return Test(Case(Indicator(span, condition), condition), Case(Indicator(span, opposite), opposite))


def _both(a: Test, b: Test, span: Span) -> Test:
    """``a and b``; it fails where a does, or where a holds and b fails, never both."""
    fails = add([(1, a.fails.number), (1, multiply([a.holds.number, b.fails.number], span))], span)
    known = a.holds.known if b.holds.known is None else b.holds.known
    if a.holds.known is not None and b.holds.known is not None:
        known = combined("and", a.holds.known, b.holds.known)
    holds = Case(multiply([a.holds.number, b.holds.number], span), known)
    return Test(holds, Case(fails, combined("or", a.fails.known, b.fails.known)), (*a.edges, *b.edges))


def _either(a: Test, b: Test, span: Span) -> Test:
    return _both(a.opposite, b.opposite, span).opposite


def _read_comparison(scope: Scope, expr: ast.Compare, op: str, left: ast.Expr, right: ast.Expr) -> Test | None:
    """One comparison of a chain; it is of indices where both of its sides are."""
    pair = ast.Compare(Span(left.span.start, right.span.end), (op,), (left, right))
    if real_quantity(scope, pair) is None:
        condition = read_condition(scope, pair)
        return None if condition is None else _of_indices(condition, pair.span)
    if op in ("==", "!="):
        _report_equality(scope, pair, op)
        return None
    a, b = scope.real(left), scope.real(right)
    if isinstance(a, Bad) or isinstance(b, Bad):
        return None
    return _greater(scope, *((a, b) if op in (">", ">=") else (b, a)), pair.span, or_equal=op in (">=", "<="))


def _report_equality(scope: Scope, pair: ast.Compare, op: str) -> None:
    source = scope.reporter.source
    left, right = (source.slice(side.span) for side in pair.operands)
    right = f"({right})" if isinstance(pair.operands[1], ast.Binary | ast.Unary) else right
    difference = left if right == "0" else f"{left} - {right}"
    scope.reporter.error(
        "E0312",
        f"real values are compared with `<` and `>`, not with `{op}`: they are equal only by chance",
        pair.span,
        help=f"write `abs({difference}) {'<' if op == '==' else '>='} 1e-3` for values that nearly are",
    )


def _greater(scope: Scope, a: Term, b: Term, span: Span, *, or_equal: bool = False) -> Test:
    """``a > b`` or ``a >= b``."""
    difference = add([(1, a), (-1, b)], span)
    exact = exact_value(scope.context, difference)
    if exact is not None and isinstance(difference, Scalar) and not difference.coefficient.powers:
        met = exact > 0 or (or_equal and exact == 0)
        return Test(Case(number(int(met), span), None), Case(number(int(not met), span), None))
    positive, other = ("reached", "above") if or_equal else ("above", "reached")
    holds = Call(span, Function(positive), difference)
    fails = Call(span, Function(other), negate(difference))
    return Test(Case(holds, None), Case(fails, None), (difference,))


# ------------------------------------------------------------------ selections


def read_selection(scope: Scope, expr: ast.Apply, test: ast.Expr, if_true: ast.Expr, if_false: ast.Expr) -> Term:
    """``where(condition, a, b)`` of a condition on real values. The side that is not selected need have no value."""
    read = read_test(scope, test)
    if read is None:
        return Bad(expr.span)
    a = scope.where(read.holds.number, read.fails.number).under(read.holds.known).real(if_true)
    b = scope.where(read.fails.number, read.holds.number).under(read.fails.known).real(if_false)
    return _selected(scope, read, a, b, expr.span, test.span)


def _selected(scope: Scope, test: Test, a: Term, b: Term, span: Span, place: Span | None = None) -> Term:
    """a where a condition holds, else b; without a ``place`` the two are equal wherever it changes."""
    if test.edges and not isinstance(a, Bad) and not isinstance(b, Bad):
        masks = (test.holds.number, test.fails.number)
        scope.context.selections.append(Selection(test.edges, masks, a, b, place))
    terms = [(test.holds.number, a), (test.fails.number, b)]
    value = add([(1, multiply([met, side], span)) for met, side in terms if not is_zero(side)], span)
    return Whole(span, value) if isinstance(value, Sum) else value


def read_extreme(scope: Scope, expr: ast.Apply) -> Term:
    """``max(a, b)``, ``min(a, b, c)``: the largest or smallest of several values."""
    if _report_prime(scope, expr):
        return Bad(expr.span)
    values = [argument.value for argument in expr.arguments or ()]
    matched = match_arguments(scope, expr, [str(k) for k in range(len(values))])
    if matched is None:
        return Bad(expr.span)
    read = [scope.real(value) for value in matched.values()]
    extreme = _larger if expr.name.text == "max" else _smaller
    return reduce(lambda a, b: extreme(scope, a, b, expr.span), read)


def _larger(scope: Scope, a: Term, b: Term, span: Span) -> Term:
    """By a comparison: ``b + relu(a - b)`` would lose the smaller of two numbers to rounding."""
    if isinstance(a, Bad) or isinstance(b, Bad):
        return Bad(span)
    if is_zero(a) or is_zero(b):
        return Call(span, Function("relu"), b if is_zero(a) else a)
    return _selected(scope, _greater(scope, a, b, span), a, b, span)


def _smaller(scope: Scope, a: Term, b: Term, span: Span) -> Term:
    if isinstance(a, Bad) or isinstance(b, Bad):
        return Bad(span)
    if is_zero(a) or is_zero(b):
        return negate(Call(span, Function("relu"), negate(b if is_zero(a) else a)))
    return _selected(scope, _greater(scope, b, a, span), a, b, span)


def read_clip(scope: Scope, expr: ast.Apply) -> Term:
    """``clip(u, lo, hi) = min(max(u, lo), hi)``."""
    if _report_prime(scope, expr):
        return Bad(expr.span)
    arguments = read_arguments(scope, expr, ("u", "lo", "hi"))
    if arguments is None:
        return Bad(expr.span)
    low, high = (known_value(scope.context, arguments[bound]) for bound in ("lo", "hi"))
    if low is not None and high is not None and low > high:
        message = f"`clip` to an interval that is empty: its lower bound {low:g} is above its upper bound {high:g}"
        scope.reporter.error("E0410", message, expr.span, help="write `clip(u, lo, hi)` with `lo` below `hi`")
        return Bad(expr.span)
    return _smaller(scope, _larger(scope, arguments["u"], arguments["lo"], expr.span), arguments["hi"], expr.span)


def read_leaky_relu(scope: Scope, expr: ast.Apply) -> Term:
    """``leaky_relu(u, slope) = slope u + (1 - slope) relu(u)``, whose slope at 0 is that of the left side."""
    given = len(expr.arguments or ())
    arguments = read_arguments(scope, expr, ("u", "slope") if given > 1 else ("u",))
    if arguments is None or any(isinstance(value, Bad) for value in arguments.values()):
        return Bad(expr.span)
    span, u = expr.span, arguments["u"]
    slope: Term = arguments.get("slope") or number(DEFAULT_SLOPE, span)
    rest = add([(1, number(1, span)), (-1, slope)], span)
    bent = multiply([rest, Call(span, Function("relu"), u, expr.prime)], span)
    return add([(1, slope if expr.prime else multiply([slope, u], span)), (1, bent)], span)


def _report_prime(scope: Scope, expr: ast.Apply) -> bool:
    if expr.prime:
        message = f"`{expr.name.text}` is of several numbers and has no slope"
        scope.reporter.error("E0408", message, expr.name.span, help="name it as a function of one: `fn f(u) = ...`")
    return expr.prime


# ------------------------------------------------------------------ what only one side may read


def chosen(scope: Scope, argument: Term, instead: int) -> Term:
    """The argument of a function that is not defined, or overflows, for some numbers.

    Inside of a side of a selection it is ``instead`` wherever the other side is selected.
    """
    if not scope.selected or isinstance(argument, Bad | Scalar):
        return argument
    span, missed = argument.span, list[Term]()
    met: Term = number(1, span)
    for here, elsewhere in scope.selected:
        missed.append(multiply([met, elsewhere], span))
        met = multiply([met, here], span)
    parts = [multiply([met, argument], span), *(multiply([part, number(instead, span)], span) for part in missed)]
    return Chosen(span, argument, add([(1, part) for part in parts], span))
