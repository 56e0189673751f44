"""Elements of tensors: plain indices, windows, fixed positions, gathers."""

from __future__ import annotations

from energyc.diagnostics import Label, Span
from energyc.resolve.context import Context, Scope, Tensor, unbound
from energyc.resolve.names import TENSORS, Entry
from energyc.resolve.read.places import read_places
from energyc.resolve.reporter import did_you_mean
from energyc.resolve.terms import Bad, Element, Term
from energyc.resolve.words import INDEXED, SCALAR
from energyc.syntax import ast


def read_element(context: Context, scope: Scope, expr: ast.Apply) -> Term:
    """``z[n, d]``, ``x[c, 2*i + p]``, ``tok[idx[t], d]``, or a tensor without dims by its name alone."""
    entry = _entry(context, scope, expr)
    if entry is None:
        return Bad(expr.span)
    scope.frame.reads.setdefault(entry.name, expr.name.span)
    tensor = context.definitions.tensor(entry.name)
    if tensor is None:
        return Bad(expr.span)
    if getattr(tensor.node, "over", None) is not None:
        _report_integer(context, tensor, expr.span)
        return Bad(expr.span)
    places = read_places(context, scope, expr, tensor)
    return Bad(expr.span) if places is None else Element(expr.span, tensor.node, places)


def _entry(context: Context, scope: Scope, expr: ast.Apply) -> Entry | None:
    name = expr.name.text
    entry = context.names.get(name)
    if entry is not None and entry.kind in TENSORS and not expr.prime:
        return entry
    if entry is not None:
        _report_kind(context, entry, expr)
    elif name == "batch" or name == "training":
        context.reporter.error("E0190", f"`{name}` is not yet supported", expr.name.span, "not yet")
    elif name in INDEXED or name in SCALAR:
        form = f"{name}[k](...)" if name in INDEXED else f"{name}(...)"
        context.reporter.error(
            "E0205", f"`{name}` is a function and needs an argument", expr.name.span, help=f"write `{form}`"
        )
    else:
        _report_unknown(context, scope, expr)
    return None


def _report_kind(context: Context, entry: Entry, expr: ast.Apply) -> None:
    help = {
        "dim": f"a dim is a number: write `{entry.name}` without brackets",
        "const": f"a const is a number: write `{entry.name}` without brackets",
        "fn": f"a function is applied: write `{entry.name}(...)`",
        "data": f"declare a clamp that reads it: `clamp x[...] = {entry.name}.FIELD`",
    }.get(entry.kind, "name the quantity with `let` and use that in both places")
    context.reporter.error(
        "E0205",
        f"`{entry.name}` is {entry.spoken} and has no value here",
        expr.name.span,
        labels=[Label(entry.span, "declared here")],
        help=help,
    )


def _report_unknown(context: Context, scope: Scope, expr: ast.Apply) -> None:
    name = expr.name.text
    if expr.slots is None and _looks_like_index(context, name):
        unbound(scope, expr.name)
        return
    known = [entry.name for entry in context.names.of_kind(*TENSORS, "dim", "const")]
    among = [*known, *scope.indices, *scope.arguments]
    context.reporter.error("E0201", f"there is no `{name}`", expr.name.span, "unknown", help=did_you_mean(name, among))


def _looks_like_index(context: Context, name: str) -> bool:
    return name in context.names.indices


def _report_integer(context: Context, tensor: Tensor, span: Span) -> None:
    context.reporter.error(
        "E0403",
        f"`{tensor.name}` holds integers and is no number to calculate with",
        span,
        labels=[Label(context.names.entries[tensor.name].span, "declared here")],
        help="use it as an index, `tok[idx[t], d]`, or compare with it, `where(k == label, 1, 0)`",
    )
