"""The file's own functions: put in their place, or known by their slope."""

from __future__ import annotations

from dataclasses import replace

from energyc.diagnostics import Label
from energyc.resolve.context import MOST_CALLS, Context, Scope
from energyc.resolve.names import Entry
from energyc.resolve.read import arguments
from energyc.resolve.read.reductions import kept_indices
from energyc.resolve.reporter import listed
from energyc.resolve.terms import Apply, Bad, Index, Slope, Term
from energyc.syntax import ast


def read_user_call(context: Context, scope: Scope, expr: ast.Apply, entry: Entry) -> Term:
    """A call of a function of the file, or of its slope."""
    tree = entry.tree
    assert isinstance(tree, ast.Function)
    scope.frame.reads.setdefault(entry.name, expr.name.span)
    left = context.calls_left()
    if left == -1:
        said = f"functions are put in their place more than {MOST_CALLS} times"
        context.reporter.error("E0802", said, expr.span, help="name what is used often with `let`")
    if left < 0:
        return Bad(expr.span)
    if entry.name in scope.calls:
        path = " from ".join([*scope.calls[scope.calls.index(entry.name) :], entry.name])
        context.reporter.error(
            "E0207", f"`{entry.name}` is defined by itself: {path}", expr.name.span, labels=[Label(entry.span, "here")]
        )
        return Bad(expr.span)
    given = arguments.read_named(
        context, scope, expr, [argument.text for argument in tree.arguments], indexed=bool(tree.indices)
    )
    indices = _indices(context, scope, expr, tree)
    if given is None or indices is None or any(isinstance(value, Bad) for value in given.values()):
        return Bad(expr.span)
    if tree.prime:
        return _potential(context, expr, entry, given)
    if expr.prime:
        return _slope(context, scope, expr, tree, given)
    return _inlined(context, scope, tree, indices, given)


def _indices(context: Context, scope: Scope, expr: ast.Apply, tree: ast.Function) -> dict[str, Index] | None:
    wanted, given = tree.indices or (), expr.slots or ()
    if len(wanted) != len(given) or expr.guard is not None:
        form = f"{tree.name.text}[{', '.join(i.text for i in wanted)}](...)" if wanted else f"{tree.name.text}(...)"
        context.reporter.error(
            "E0405",
            f"`{tree.name.text}` is applied as `{form}`",
            expr.span,
            labels=[Label(tree.name.span, "declared here")],
        )
        return None
    found = kept_indices(context, scope, expr)
    return None if found is None else {name.text: index for name, index in zip(wanted, found, strict=True)}


def _inlined(
    context: Context, scope: Scope, tree: ast.Function, indices: dict[str, Index], given: dict[str, Term]
) -> Term:
    calls = (*scope.calls, tree.name.text)
    inner = replace(scope, indices=indices, arguments=given, calls=calls, along=frozenset(indices))
    return context.real(inner, tree.body)


def _potential(context: Context, expr: ast.Apply, entry: Entry, given: dict[str, Term]) -> Term:
    function = context.definitions.potential(entry.name)
    (argument,) = given.values()
    return Bad(expr.span) if function is None else Apply(expr.span, function, argument, expr.prime)


def _slope(context: Context, scope: Scope, expr: ast.Apply, tree: ast.Function, given: dict[str, Term]) -> Term:
    """``f'(u)`` of a function written out: its body is differentiated once the graph is made."""
    if tree.indices or len(given) != 1:
        context.reporter.error(
            "E0408",
            f"`{tree.name.text}'` is the slope of a function of one number",
            expr.span,
            labels=[Label(tree.name.span, f"`{tree.name.text}` takes {listed([a.text for a in tree.arguments])}")],
        )
        return Bad(expr.span)
    body = context.definitions.body(tree.name.text)
    (argument,) = given.values()
    return Bad(expr.span) if body is None else Slope(expr.span, body, argument)
