"""Conditions: guards, and the tests of ``where``."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

from energyc.language.diagnostics import Span
from energyc.language.resolve.context import Scope, run_over
from energyc.language.resolve.names import TENSORS
from energyc.language.resolve.read.places import combined, read_integer
from energyc.language.resolve.terms import plain_index
from energyc.language.resolve.words import CONSTANTS
from energyc.language.syntax import ast
from energyc.mathematics.ir import TRUTHS, IndexExpr, Input

_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


#: The condition that holds while the network is trained.
TRAINING = "training"


def is_training(scope: Scope, name: ast.Name) -> bool:
    """Whether a name is the flag, which a spec may declare as something else."""
    return name.text == TRAINING and name.text not in scope.indices and scope.names.get(name.text) is None


def read_condition(scope: Scope, expr: ast.Expr) -> IndexExpr | None:
    """Comparisons of index expressions, joined by and, or, not; None where it is none of these, which is reported."""
    match expr:
        case ast.Unary(op="not", operand=operand):
            return negated(read_condition(scope, operand))
        case ast.Binary(op="and" | "or"):
            return _read_connective(scope, expr)
        case ast.Compare():
            return _read_comparison(scope, expr)
        case ast.Apply(name=name, slots=None, arguments=None, prime=False) if is_training(scope, name):
            return IndexExpr("related", (scope.context.graph.input(TRAINING, "flag", (), TRUTHS),))
        case ast.Apply(name=name) if (entry := scope.names.get(name.text)) is not None and entry.kind in TENSORS:
            if scope.context.definitions.tensor(name.text) is None:
                return None
    help = "compare it: `s <= t`, `n != m`, `k == label`, `where(z[d] > 0, ...)`"
    scope.reporter.error("E0402", "expected a condition, found a number", expr.span, help=help)
    return None


def _read_connective(scope: Scope, expr: ast.Binary) -> IndexExpr | None:
    """A chain of ``and`` or of ``or``, however long."""
    conditions = [read_condition(scope, part) for part in ast.operands(expr, (expr.op,))]
    return reduce(lambda a, b: combined(expr.op, a, b), conditions)


def _read_comparison(scope: Scope, expr: ast.Compare) -> IndexExpr | None:
    if _report_real(scope, expr):
        return None
    sides = [side for operand in expr.operands if (side := read_integer(scope, operand)) is not None]
    if len(sides) < len(expr.operands):
        return None
    pairs = list(pairwise(sides))
    for (a, b), operand in zip(pairs, expr.operands[1:], strict=True):
        _run_over_values(scope, a, b, operand.span)
        _run_over_values(scope, b, a, operand.span)
    comparisons = [IndexExpr(op, pair) for op, pair in zip(expr.ops, pairs, strict=True)]
    return reduce(lambda a, b: IndexExpr("and", (a, b)), comparisons)


def real_quantity(scope: Scope, expr: ast.Expr) -> ast.Expr | None:
    """The first part of an expression that makes it real: a tensor, a const, an argument, a function, or None."""
    return next((tree for tree in ast.walk(expr) if isinstance(tree, ast.Expr) and _is_real(scope, tree)), None)


def _is_real(scope: Scope, tree: ast.Expr) -> bool:
    if isinstance(tree, ast.Field):
        return True
    if not isinstance(tree, ast.Apply) or tree.name.text in scope.indices:
        return False
    name, entry = tree.name.text, scope.names.get(tree.name.text)
    if tree.arguments is not None:
        return name != "abs"
    if name in scope.arguments:
        return True
    if entry is None:
        return name in CONSTANTS and name not in scope.names.indices
    if entry.kind in TENSORS:
        tensor = scope.context.definitions.tensor(name)
        return tensor is not None and tensor.over is None
    return entry.kind == "const"


def _report_real(scope: Scope, expr: ast.Compare) -> bool:
    """Whether a guard reads a real quantity, which is reported."""
    tree = real_quantity(scope, expr)
    if tree is None:
        return False
    name = tree.name.text if isinstance(tree, ast.Apply) else scope.reporter.source.slice(tree.span)
    entry = scope.names.get(name) if name not in scope.arguments else None
    scope.reporter.error(
        "E0404",
        f"`{name}` is real, and guards read only indices and integer inputs",
        tree.span,
        labels=[entry.label()] if entry is not None else [],
        help=f"select by it: `sum[k](where({scope.reporter.source.slice(expr.span)}, ..., 0))`",
    )
    return True


def _run_over_values(scope: Scope, side: IndexExpr, other: IndexExpr, span: Span) -> None:
    """An index compared with an integer input runs over the dim that the input takes its values in."""
    index = plain_index(side)
    source = other.args[0] if other.op == "read" else None
    if index is not None and isinstance(source, Input) and source.over is not None:
        run_over(scope.context, index, source.over, span, scope.names.entries[source.name].span)


def negated(condition: IndexExpr | None) -> IndexExpr | None:
    """The opposite of a condition; None stays None."""
    if condition is None:
        return None
    if condition.op in _OPPOSITES:
        return IndexExpr(_OPPOSITES[condition.op], condition.args)
    if condition.op == "not":
        return condition.parts[0]
    return IndexExpr("not", (condition,))
