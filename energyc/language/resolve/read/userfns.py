"""The file's own functions: inlined, or known by their slope."""

from __future__ import annotations

from dataclasses import replace

from energyc.language.diagnostics import listed
from energyc.language.resolve.context import DEEPEST_CALL, MOST_INLINED_CALLS, Scope
from energyc.language.resolve.names import Entry
from energyc.language.resolve.read.arguments import read_arguments
from energyc.language.resolve.read.reductions import outer_indices
from energyc.language.resolve.terms import Bad, BodySlope, Call, Index, Term
from energyc.language.syntax import ast


def read_user_call(scope: Scope, expr: ast.Apply, entry: Entry) -> Term:
    """A call of a function of the file, or of its slope."""
    tree = entry.tree
    assert isinstance(tree, ast.Function)
    scope.frame.reads.setdefault(entry.name, expr.name.span)
    if not _may_inline(scope, expr, entry) or _reads_inside(scope, entry, tree):
        return Bad(expr.span)
    arguments = read_arguments(scope, expr, [name.text for name in tree.arguments], indexed=bool(tree.indices))
    indices = _read_indices(scope, expr, entry, tree)
    if arguments is None or indices is None or any(isinstance(value, Bad) for value in arguments.values()):
        return Bad(expr.span)
    if tree.prime:
        return _potential(scope, expr, arguments)
    if expr.prime:
        return _slope(scope, expr, entry, tree, arguments)
    calls = (*scope.calls, entry.name)
    inner = replace(scope, indices=indices, arguments=arguments, calls=calls, along=frozenset(indices))
    return inner.real(tree.body)


def _may_inline(scope: Scope, expr: ast.Apply, entry: Entry) -> bool:
    """Whether a call is neither recursive nor one too many or too deep; each is reported, one too many once."""
    left = scope.context.inlined_calls_left()
    if left == -1:
        message = f"more than {MOST_INLINED_CALLS} calls of functions are inlined"
        scope.reporter.error("E0802", message, expr.span, help="name what is used often with `let`")
    if left >= 0 and entry.name in scope.calls:
        path = [*scope.calls[scope.calls.index(entry.name) :], entry.name]
        scope.reporter.cycle(path, expr.name.span, labels=[entry.label()])
    elif left >= 0 and len(scope.calls) >= DEEPEST_CALL:
        message = f"calls of functions are nested more than {DEEPEST_CALL} deep"
        scope.reporter.error("E0802", message, expr.span, help="name what is inside with `let`")
    return left >= 0 and entry.name not in scope.calls and len(scope.calls) < DEEPEST_CALL


def _reads_inside(scope: Scope, entry: Entry, tree: ast.Function) -> bool:
    """Whether a function from around a block reads what the block declares, which is reported."""
    if entry.name in scope.names.own:
        return False
    applied = [inner for inner in ast.walk(tree.body) if isinstance(inner, ast.Apply)]
    slots = [slot for inner in applied if inner.arguments is not None for slot in inner.slots or ()]
    bound = [*tree.arguments, *(tree.indices or ()), *(ast.plain_name(slot.expr) for slot in slots)]
    own = scope.names.own - {name.text for name in bound if name is not None}
    inside = [inner.name for inner in applied if inner.name.text in own]
    for name in inside:
        message = f"`{name.text}` is declared inside of a block and cannot be read outside"
        help = "pass it as an argument, or write the function in the block"
        scope.reporter.error("E0201", message, name.span, labels=[scope.names.entries[name.text].label()], help=help)
    return bool(inside)


def _read_indices(scope: Scope, expr: ast.Apply, entry: Entry, tree: ast.Function) -> dict[str, Index] | None:
    """The indices of a call by the names that the function has for them."""
    parameters = tree.indices or ()
    if len(parameters) != len(expr.slots or ()) or expr.guard is not None:
        bracket = f"[{', '.join(name.text for name in parameters)}]" if parameters else ""
        message = f"`{entry.name}` is called as `{entry.name}{bracket}(...)`"
        scope.reporter.error("E0405", message, expr.span, labels=[entry.label()])
        return None
    indices = outer_indices(scope, expr)
    if indices is None:
        return None
    return {name.text: index for name, index in zip(parameters, indices, strict=True)}


def _potential(scope: Scope, expr: ast.Apply, arguments: dict[str, Term]) -> Term:
    function = scope.context.definitions.potential(expr.name.text)
    (argument,) = arguments.values()
    return Bad(expr.span) if function is None else Call(expr.span, function, argument, expr.prime)


def _slope(scope: Scope, expr: ast.Apply, entry: Entry, tree: ast.Function, arguments: dict[str, Term]) -> Term:
    """``f'(u)`` of a function written out: its body is differentiated once the graph is made."""
    if tree.indices or len(arguments) != 1:
        parameters = listed(name.text for name in tree.arguments)
        scope.reporter.error(
            "E0408",
            f"`{entry.name}'` needs a function of one number",
            expr.span,
            labels=[entry.label(f"`{entry.name}` takes {parameters}")],
        )
        return Bad(expr.span)
    body = scope.context.definitions.body(entry.name)
    (argument,) = arguments.values()
    return Bad(expr.span) if body is None else BodySlope(expr.span, body, argument)
